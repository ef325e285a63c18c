//! `nebula load kv` and `nebula load echo`: the open-loop clients of the services.
//!
//! | file | what it holds |
//! |---|---|
//! | `args` | the command line of `load kv` |
//! | `echo` | that of `load echo` |
//! | `preset` | the loads of papers, by name |
//! | `rows` | the results as rows |
//! | `verdict` | whether the load was what was asked for |

mod args;
mod echo;
mod preset;
mod rows;
mod verdict;

pub(crate) use args::{Args, run_command};
pub(crate) use echo::{LoadArgs as EchoArgs, run_load as run_echo};
