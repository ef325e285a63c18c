//! The interface that a replay needs: a back end, or something else that claims to decide like one.

use super::line::{Decision, Input, LogLine};
use crate::backend::Backend;
use crate::dispatch::CentralDispatch;
use crate::time::Timestamp;
use crate::verdict::{Abandoned, Dispatch};
use alloc::vec::Vec;

/// Decides about the inputs of a log: the state machine, a model of hardware, or hardware.
///
/// # Contract
///
/// The calls come in the order that a [`Backend`] is driven in: an input, then as much of the
/// pending decisions as the log asked for, abandoned RPCs before dispatches. Decisions that are not
/// asked for stay pending.
///
/// # Examples
///
/// A decider that never answers differs at the first line with a decision:
///
/// ```
/// use nebula_nic::decision::{Beside, Decides, read_text, replay_through};
/// use nebula_nic::{Abandoned, Decision, Dispatch, Input, Timestamp};
///
/// struct Silent;
/// impl Decides for Silent {
///     fn apply(&mut self, _: Timestamp, _: Input) -> Option<Decision> { None }
///     fn poll_abandoned(&mut self) -> Option<Abandoned> { None }
///     fn poll_dispatch(&mut self) -> Option<Dispatch> { None }
/// }
///
/// let log = "nebula-nic 1 cores=1 policy=jbsq:2\n0 queue-bound 3 -> -\n1 free core=0 slots=0+1 -> refused";
/// let (config, lines) = read_text(log)?;
/// assert_eq!(replay_through(Silent, Beside::new(&config), lines).unwrap_err().line, 2);
/// # Ok::<(), nebula_nic::ReplayError>(())
/// ```
pub trait Decides {
    /// Applies an input; returns the decision about it, if there is one. For a
    /// [`Pull`](Input::Pull) that is the dispatch.
    fn apply(&mut self, at: Timestamp, input: Input) -> Option<Decision>;

    /// The next RPC that has been abandoned.
    fn poll_abandoned(&mut self) -> Option<Abandoned>;

    /// The next RPC for which a core has credit, and that core.
    fn poll_dispatch(&mut self) -> Option<Dispatch>;
}

impl<D: CentralDispatch> Decides for Backend<D> {
    fn apply(&mut self, at: Timestamp, input: Input) -> Option<Decision> {
        input.apply(self, at)
    }

    fn poll_abandoned(&mut self) -> Option<Abandoned> {
        Self::poll_abandoned(self)
    }

    fn poll_dispatch(&mut self) -> Option<Dispatch> {
        Self::poll_dispatch(self)
    }
}

impl<T: Decides + ?Sized> Decides for &mut T {
    fn apply(&mut self, at: Timestamp, input: Input) -> Option<Decision> {
        (**self).apply(at, input)
    }

    fn poll_abandoned(&mut self) -> Option<Abandoned> {
        (**self).poll_abandoned()
    }

    fn poll_dispatch(&mut self) -> Option<Dispatch> {
        (**self).poll_dispatch()
    }
}

impl LogLine {
    /// Applies `input` to a decider, drains it, and records both. For a [`Pull`](Input::Pull), the
    /// answer is the only decision: where cores fetch their RPCs, nothing is dispatched.
    pub fn record<D: Decides>(backend: &mut D, at: Timestamp, input: Input) -> Self {
        let mut decisions: Vec<_> = backend.apply(at, input).into_iter().collect();
        if !matches!(input, Input::Pull { .. }) {
            drain(backend, &mut decisions);
        }
        Self { at, input, decisions }
    }
}

pub(super) fn drain<D: Decides>(backend: &mut D, decisions: &mut Vec<Decision>) {
    while let Some(abandoned) = backend.poll_abandoned() {
        decisions.push(Decision::Abandoned(abandoned));
    }
    while let Some(dispatch) = backend.poll_dispatch() {
        decisions.push(Decision::Dispatch(dispatch));
    }
}
