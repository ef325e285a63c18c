//! A server's status page: counters that its clients can read and only the server can write.
//!
//! The engine writes its counters every some turns, and when it becomes idle; each worker counts
//! [samples](meter) of its RPCs in separate memory. Readers map the page, so reading costs the
//! server nothing. The page also lists *gaps*: pauses in which the engine's thread did not run, in
//! ticks of the machine's clock. They separate the machine's pauses from the server's.
//!
//! | file | what it holds |
//! |---|---|
//! | `layout` | where everything stands |
//! | `page`, `meter`, `store` | what the engine, each worker, and service and pool write |
//! | `reader`, `counters` | what readers get |
//! | `histogram`, `sample` | times in buckets; single RPCs with their times |

mod layout;
mod histogram;
mod sample;
mod pool;
mod store;
mod page;
mod meter;
mod counters;
mod reader;

pub use counters::Status;
pub use histogram::Histogram;
pub(crate) use layout::Layout;
pub(crate) use meter::{Meter, Served};
pub(crate) use page::{Asleep, StatusPage};
pub use pool::PoolStatus;
pub use reader::{CoreStatus, Gap, StatusReader};
pub use sample::RpcSample;
pub(crate) use store::PoolPage;
