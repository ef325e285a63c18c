//! `nebula load kv`: the open-loop client of the key-value service.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | the command line |
//! | `rows` | the results as rows |

mod args;
mod rows;

pub(crate) use args::{Args, run_command};
