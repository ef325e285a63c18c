//! The load driver: clients of the key-value service that send on an open-loop schedule, and what they measure.
//!
//! `nebula load kv` and `nebula demo` are made of it.
//!
//! | file | what it holds |
//! |---|---|
//! | `plan` | what is to be asked for, and how |
//! | `run` | one load: clients on threads of their own, their measurements joined |
//! | `client` | one client's loop |
//! | `connect` | getting to a server that may just be starting |
//! | `exchange` | an operation as bytes, and the look at its answer |
//! | `preload`, `search` | all keys stored first; the highest load that meets the SLO |
//! | `live` | how a load stands |

mod client;
mod connect;
mod exchange;
mod live;
mod plan;
mod preload;
mod run;
mod search;

pub(crate) use live::Progress;
pub(crate) use plan::LoadPlan;
pub(crate) use preload::preload;
pub(crate) use run::{LoadOutcome, run};
pub(crate) use search::{FoundSlo, Probe, find_slo};
