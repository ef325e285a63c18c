//! The load driver of `nebula load kv` and `nebula demo`: clients of the key-value service that
//! send on an open-loop schedule and measure.

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
