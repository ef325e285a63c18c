//! Station 7, once more: *what becomes of an RPC that has been given out already?*
//!
//! A central policy of [`dispatch`](crate::dispatch) decides once, in one place. The machines here decide afterwards, or in several
//! places at once that know of each other only what a message has told them. Each is one decider; the world that carries it out says
//! how long its messages take, and a machine never sees what has not been handed in.
//!
//! | policy | decider | decides |
//! |---|---|---|
//! | `work-stealing` | [`Thief`], one a core | from whose queue an idle core takes |
//! | `altocumulus:G` | [`Manager`], one a group | which waiting RPCs go to which other group |
//! | `preemptive:Q` | [`Preemption`] | whether an RPC has had its turn, and where it goes |
//! | `preemptive:Q` | [`RunQueue`], one a core | which of the RPCs at a core it goes on with |
//! | `preemptive:Q` | [`Turns`], one a core | the same where few can be suspended at once: the runtime's handlers, each on a stack of its own |
//! | `preemptive:Q`, `darc` | [`TypedQueues`] | which type of RPC comes next |
//! | `darc` | [`Darc`] | which cores are kept free for short types |
//!
//! Next: station 8, [`steering`](crate::steering).

mod altocumulus;
mod thief;
mod preemption;
mod run_queue;
mod typed_queues;
mod darc;
mod turns;

pub use altocumulus::{
    LoadEstimate, Manager, ManagerConfig, ManagerConfigError, Migration, Pattern, ThresholdRow, Thresholds,
    ThresholdsError,
};
pub use darc::{Darc, DarcConfig};
pub use preemption::{BackTo, Condition, Preemption, Turn};
pub use run_queue::RunQueue;
pub use thief::Thief;
pub use turns::{Next, SUSPENDED_MAX, Turns, Yielded};
pub use typed_queues::{RpcType, Selection, TYPES_MAX, TypeSet, TypedQueues, Waiting};
