//! `nebula load kv`: the open-loop client of the key-value service.
//!
//! | file | what it holds |
//! |---|---|
//! | `plan` | what is to be asked for, and how |
//! | `run` | one load: clients on threads of their own, their measurements joined |
//! | `driver` | one client's loop |
//! | `exchange` | an operation as bytes, and the look at its answer |
//! | `preload`, `search` | all keys stored first; the highest load that meets the SLO |
//! | `args`, `rows`, `live` | words of the command line, results, progress |

mod args;
mod connect;
mod driver;
mod exchange;
mod live;
mod plan;
mod preload;
pub(crate) mod rows;
mod run;
mod search;

pub(crate) use args::{Args, run_command};
pub(crate) use live::Progress;
pub(crate) use plan::LoadPlan;
pub(crate) use preload::preload;
pub(crate) use run::{LoadOutcome, run};
pub(crate) use search::{FoundSlo, Probe, find_slo};
