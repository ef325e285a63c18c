//! `nebula load kv` and `nebula load echo`: the open-loop clients of the services.

mod args;
mod echo;
mod preset;
mod rows;
mod verdict;

pub(crate) use args::{Args, run_command};
pub(crate) use echo::{LoadArgs as EchoArgs, run_load as run_echo};
