//! Observes a running server, for `status`, `top`, `size --from` and the pages of `--metrics`.

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
