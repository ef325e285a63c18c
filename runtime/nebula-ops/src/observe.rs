//! What a running server says of itself, for who watches it: `status`, `top`, `size --from` and the
//! pages of `--metrics`.
//!
//! | file | what it holds |
//! |---|---|
//! | `snapshot` | all figures at one moment; they are the JSON of `/status.json` |
//! | `times` | histograms of times, and their quantiles |
//! | `change` | what happened between two snapshots: rates, utilization, latencies |
//! | `source` | where snapshots come from: a `shm://` server's status page, or `http://` of `--metrics` |

#![expect(missing_docs, reason = "fields are those of `nebula::Status`, which says what each counts")]

mod change;
mod http;
mod snapshot;
mod source;
mod times;

pub use change::Change;
pub use snapshot::{Core, NackedBy, Pool, Snapshot, StoreSnapshot};
pub use source::{Place, Source};
pub use times::{Times, shown};
