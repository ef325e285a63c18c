//! What a running server says of itself, for who watches it: `status`, `top`, `size --from` and the
//! pages of `--metrics`.
//!
//! | file | what it holds |
//! |---|---|
//! | `snapshot` | all figures at one moment; they are the JSON of `/status.json` |
//! | `times` | histograms of times, and their quantiles |
//! | `change` | what happened between two snapshots: rates, utilization, latencies |
//! | `source` | where snapshots come from: a `shm://` server's status page, or `http://` of `--metrics` |

mod change;
mod http;
mod snapshot;
mod source;
mod times;

pub(crate) use change::Change;
pub(crate) use snapshot::Snapshot;
#[cfg(test)]
pub(crate) use snapshot::{Core, NackedBy, Pool, StoreSnapshot};
pub(crate) use source::{Place, Source};
pub(crate) use times::{Times, shown};
