//! `nebula load kv`: the open-loop client of the key-value service.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | the command line |
//! | `preset` | the loads of papers, by name |
//! | `rows` | the results as rows |
//! | `verdict` | whether the load was what was asked for |

mod args;
mod preset;
mod rows;
mod verdict;

pub(crate) use args::{Args, Output, carry_out, run_command};
