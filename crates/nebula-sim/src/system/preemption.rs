//! How `preemptive:Q` takes RPCs from cores, and what that costs.

use crate::error::SimError;
use crate::model::span;
use nebula_nic::{JBSQ_BOUND_MAX, Span};
use serde::Deserialize;

/// Who interrupts an RPC, where it goes, and what that takes.
///
/// By default a dispatcher takes it back into the one queue while others wait, at no cost: the theory's round robin, which is
/// processor sharing where the quantum is short.
///
/// # Examples
///
/// ```
/// use nebula_nic::Span;
/// use nebula_sim::{Preemption, System};
///
/// let shinjuku = Preemption { receive: Span::from_ns(606), switch: Span::from_ns(50), ..Preemption::IDEAL };
/// let system = System::new("preemptive:5us".parse()?, 16).preemption(shinjuku);
/// assert!(system.validate().is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Preemption {
    /// RPCs given to a core at most, the one in service included: 1, or 2 so that the next one is there when one ends.
    pub depth: u32,
    /// Whether what has had its turn falls behind the other RPCs of its own core, and not into the queue of all.
    pub stays_at_core: bool,
    /// Whether an RPC is interrupted even where no other one waits.
    pub interrupts_always: bool,
    /// Whether the dispatcher serves RPCs itself, fresh ones only, while no core has credit.
    pub dispatcher_serves: bool,
    /// With a queue a type: the SLO of each in its mean service times; whose head has waited longest by that measure comes first.
    /// Without: one queue.
    pub slo_services: Option<u32>,
    /// How long the dispatcher is busy with an interrupt that it sends.
    #[serde(deserialize_with = "span")]
    pub send: Span,
    /// What an interrupt takes its core.
    #[serde(deserialize_with = "span")]
    pub receive: Span,
    /// What it takes to suspend an RPC and to begin another one in its place.
    #[serde(deserialize_with = "span")]
    pub switch: Span,
    /// Service time between two points at which an RPC can be taken; none where it can be taken anywhere.
    #[serde(deserialize_with = "span")]
    pub safe_point_every: Span,
    /// What each of these points takes.
    #[serde(deserialize_with = "span")]
    pub safe_point_check: Span,
}

impl Preemption {
    /// A dispatcher that costs nothing.
    pub const IDEAL: Self = Self {
        depth: 1,
        stays_at_core: false,
        interrupts_always: false,
        dispatcher_serves: false,
        slo_services: None,
        send: Span::ZERO,
        receive: Span::ZERO,
        switch: Span::ZERO,
        safe_point_every: Span::ZERO,
        safe_point_check: Span::ZERO,
    };

    /// Whether its numbers go together.
    pub(super) fn validate(&self) -> Result<(), SimError> {
        let wrong = |reason| Err(SimError::Preemption { reason });
        match *self {
            Self { depth: 0, .. } => wrong("a core that is given no RPC serves none: give a depth of 1 or more"),
            Self { depth, .. } if depth > JBSQ_BOUND_MAX => wrong("a depth of more than 64 is not possible"),
            Self { safe_point_every: Span::ZERO, safe_point_check, .. } if safe_point_check != Span::ZERO => {
                wrong("checks cost nothing without safe points: give safe_point_every")
            }
            Self { slo_services: Some(0), .. } => {
                wrong("an SLO of no time orders nothing: give slo_services of 1 or more")
            }
            Self { stays_at_core: true, depth: 1, .. } => {
                wrong("an RPC that stays at a core of depth 1 is alone there: give a depth of 2 or more")
            }
            Self { stays_at_core: true, dispatcher_serves: true, .. } => {
                wrong("where RPCs stay at their cores no dispatcher serves: leave out one of the two")
            }
            _ => Ok(()),
        }
    }
}

impl Default for Preemption {
    fn default() -> Self {
        Self::IDEAL
    }
}
