//! Station 7, once more: *what happens to an RPC that has been dispatched already?*
//!
//! A central policy of [`dispatch`](crate::dispatch) decides once, in one place. The machines here
//! decide afterwards, or in several places that learn of each other only by messages. Each makes
//! one decision from its arguments; the runtime or simulator that drives it determines the delays
//! of its messages.
//!
//! | policy | decider | decides |
//! |---|---|---|
//! | `work-stealing` | [`Thief`], one per core | from whose queue an idle core steals |
//! | `altocumulus:G` | [`Manager`], one per group | which waiting RPCs go to which other group |
//! | `preemptive:Q` | [`Preemption`] | whether an RPC has used its quantum |
//! | `preemptive:Q` | [`Turns`], one per core | which of the RPCs at a core to run next, where few can be suspended at once: the runtime's handlers, each on its own stack |
//! | `preemptive:Q`, `darc` | [`TypedQueues`] | which type of RPC comes next |
//! | `darc` | [`Darc`] | which cores are kept free for short types |
//! | `darc` | [`ByType`] | the two in a back end: which waiting RPC goes to which idle core |
//!
//! Next: station 8, [`steering`](crate::steering).

pub(crate) mod altocumulus;
pub(crate) mod by_type;
pub(crate) mod lending;
pub(crate) mod thief;
mod preemption;
pub(crate) mod typed_queues;
pub(crate) mod darc;
pub(crate) mod turns;

pub use altocumulus::{
    LoadEstimate, Manager, ManagerConfig, ManagerConfigError, Migration, Pattern, PatternCounts, ThresholdRow,
    Thresholds, ThresholdsError,
};
pub use by_type::ByType;
pub use darc::{Darc, DarcConfig};
pub use lending::{Lending, QUANTUM};
pub use preemption::{Condition, Preemption};
pub use thief::Thief;
pub use turns::{Next, SUSPENDED_MAX, Turns, Yielded};
pub use typed_queues::{RpcType, Selection, TYPES_MAX, TypeSet, TypedQueues, Waiting};
