//! The front end of the NIC, one per core: stations 8 to 10, joined in the order of the path.

use crate::completion::CompletionQueue;
use crate::id::{CoreId, SlotRange};
use crate::release::Release;
use crate::steering::{Steer, Steering};
use crate::verdict::{Arrival, Dispatch};

/// An RPC that a core begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// The RPC to serve.
    pub arrival: Arrival,
    /// The next RPC, whose payload should be fetched while this one is served; `None` if there is
    /// none or steering is off.
    pub steer_next: Option<Arrival>,
}

/// Decides what one core serves next and what is prefetched for it.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Arrival, CoreId, Dispatch, Frontend, Steer};
///
/// let mut core = Frontend::new(CoreId(0), 2);
/// let [first, second] = [1, 2].map(|bytes| Dispatch { core: CoreId(0), arrival: Arrival { bytes, ..Arrival::default() } });
/// assert_eq!(core.handle_dispatch(first), Steer::Now);
/// assert_eq!(core.handle_dispatch(second), Steer::Later);
/// let begin = core.poll_completion().unwrap();
/// assert_eq!((begin.arrival, begin.steer_next), (first.arrival, Some(second.arrival)));
/// assert_eq!(core.handle_release(begin.arrival.slots).core, CoreId(0));
/// ```
#[derive(Clone, Debug)]
pub struct Frontend {
    core: CoreId,
    bound: u32,
    steering: Steering,
    completions: CompletionQueue,
    in_service: u32,
}

impl Frontend {
    /// The front end of `core`, which gets at most `bound` RPCs: the
    /// [bound](crate::CentralDispatch::bound) of the back end's policy.
    ///
    /// # Panics
    ///
    /// If `bound` is 0 or more than [`JBSQ_BOUND_MAX`](crate::JBSQ_BOUND_MAX).
    #[must_use]
    pub fn new(core: CoreId, bound: u32) -> Self {
        Self { core, bound, steering: Steering::On, completions: CompletionQueue::new(bound), in_service: 0 }
    }

    /// Puts an RPC into the completion queue and says when its payload goes to the core.
    ///
    /// # Panics
    ///
    /// If the core has as many RPCs as its bound.
    #[inline(always)]
    pub fn handle_dispatch(&mut self, dispatch: Dispatch) -> Steer {
        let ahead = self.outstanding();
        assert!(ahead < self.bound, "a core was given more RPCs than its bound");
        self.completions.push(dispatch.arrival);
        self.steering.steer(ahead)
    }

    /// Begins the next RPC, if one has been given. The previous one need not be done.
    #[inline(always)]
    pub fn poll_completion(&mut self) -> Option<Begin> {
        let arrival = self.completions.pop()?;
        self.in_service += 1;
        Some(Begin { arrival, steer_next: self.steer_next() })
    }

    /// The RPC that would begin next, whose payload should be fetched now; `None` if there is none
    /// or steering is off. For software, which learns only by looking that an RPC was given while
    /// it serves another.
    #[must_use]
    #[inline(always)]
    pub fn steer_next(&self) -> Option<Arrival> {
        match self.steering {
            Steering::On => self.completions.front(),
            Steering::Off => None,
        }
    }

    /// The RPC that [`poll_completion`](Self::poll_completion) would begin, for software that looks
    /// ahead in its completion queue.
    #[must_use]
    #[inline]
    pub fn peek_completion(&self) -> Option<Arrival> {
        self.completions.front()
    }

    /// Ends an RPC that was begun: pass the result to
    /// [`Backend::handle_free`](crate::Backend::handle_free).
    ///
    /// # Panics
    ///
    /// If no RPC is in service.
    #[inline(always)]
    pub fn handle_release(&mut self, slots: SlotRange) -> Release {
        assert!(self.in_service > 0, "an RPC was released that was not begun");
        self.in_service -= 1;
        Release { core: self.core, slots }
    }

    /// Switches the prefetching of payloads.
    pub fn set_steering(&mut self, steering: Steering) {
        self.steering = steering;
    }

    /// The core it belongs to.
    #[must_use]
    pub const fn core(&self) -> CoreId {
        self.core
    }

    /// RPCs begun and not released.
    #[must_use]
    pub const fn in_service(&self) -> u32 {
        self.in_service
    }

    /// RPCs given and not released.
    #[must_use]
    #[inline]
    pub const fn outstanding(&self) -> u32 {
        self.completions.len() + self.in_service
    }
}
