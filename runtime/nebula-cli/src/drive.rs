//! The load driver: clients of the key-value service that send on an open-loop schedule, and their
//! measurements.
//!
//! `nebula load kv` and `nebula demo` use it.
//!
//! | file | what it holds |
//! |---|---|
//! | `plan` | the parameters of a load |
//! | `run` | one load: a thread for each client, measurements merged |
//! | `client` | one client's loop |
//! | `one_sided` | GETs by one-sided reads of the server's store |
//! | `connect` | connecting to a server that may still be starting |
//! | `exchange` | encoding operations and checking replies |
//! | `preload`, `search` | storing all keys first; searching for the highest load that meets the SLO |
//! | `live` | the progress of a running load |

mod client;
mod connect;
mod exchange;
mod live;
mod memcached;
mod one_sided;
mod plan;
mod preload;
mod run;
mod search;

pub(crate) use exchange::Exchange;
pub(crate) use live::Progress;
pub(crate) use plan::{LoadPlan, Memcached};
pub(crate) use preload::preload;
pub(crate) use run::{LoadOutcome, run};
pub(crate) use search::{FoundSlo, Probe, find_slo};
