//! The ways of RPCs to a worker and back, and a worker's work in between.
//!
//! | way | engine | RPCs come | slots return |
//! |---|---|---|---|
//! | [`ring`] | a thread | by a ring | by a ring |
//! | [`inline`] | the worker | by a call | by a call |
//! | [`lock`], for `mcs-lock` | the workers in turns | at its turn at the lock | likewise |
//! | [`stealing`], for `work-stealing` | a thread | by queues that all workers reach | by a ring |
//!
//! Each is a [`Source`](source::Source); [`Core`](core::Core) is the same for all.

pub(crate) mod completions;
pub(crate) mod source;
pub(crate) mod ring;
pub(crate) mod inline;
pub(crate) mod lock;
pub(crate) mod stealing;
pub(crate) mod core;
pub(crate) mod logged_turns;
pub(crate) mod preemption;
