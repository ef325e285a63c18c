//! `nebula load kv`: the open-loop client of the key-value service.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | words of the command line, and what they set going |
//! | `rows` | the results |

mod args;
mod rows;

pub(crate) use args::{Args, run_command};
