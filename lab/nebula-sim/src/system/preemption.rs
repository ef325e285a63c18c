//! How `preemptive:Q` preempts RPCs, and what that costs.

use crate::error::SimError;
use nebula_nic::{JBSQ_BOUND_MAX, Span};
use nebula_workload::from_toml::span;
use serde::Deserialize;

/// When an RPC is preempted, where it goes, and what that costs.
///
/// By default a dispatcher returns it to the central queue while others wait, at no cost: ideal
/// round robin, which approaches processor sharing as the quantum gets shorter.
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
    /// Most RPCs dispatched to a core, including the one in service: 1, or 2 so that the next one
    /// is present when one ends.
    pub depth: u32,
    /// Whether a preempted RPC goes behind the other RPCs of the same core instead of into the
    /// central queue.
    pub stays_at_core: bool,
    /// Whether an RPC is interrupted even if no other RPC waits.
    pub interrupts_always: bool,
    /// Whether the dispatcher itself serves new RPCs while no core has credit.
    pub dispatcher_serves: bool,
    /// With one queue per type: the SLO of each type in its mean service times; the head that has
    /// waited longest by that measure is first. Without: one queue.
    pub slo_services: Option<u32>,
    /// How long the dispatcher is busy with sending an interrupt.
    #[serde(deserialize_with = "span")]
    pub send: Span,
    /// Core time of an interrupt.
    #[serde(deserialize_with = "span")]
    pub receive: Span,
    /// Core time to suspend an RPC and begin another one.
    #[serde(deserialize_with = "span")]
    pub switch: Span,
    /// Service time between two safe points, where an RPC can be preempted; `None` if it can be
    /// preempted anywhere.
    #[serde(deserialize_with = "span")]
    pub safe_point_every: Span,
    /// Core time of the check at a safe point.
    #[serde(deserialize_with = "span")]
    pub safe_point_check: Span,
}

impl Preemption {
    /// A dispatcher without costs.
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

    pub(super) fn validate(&self) -> Result<(), SimError> {
        let wrong = |reason| Err(SimError::Preemption { reason });
        match *self {
            Self { depth: 0, .. } => wrong("a core of depth 0 serves no RPC: give a depth of 1 or more"),
            Self { depth, .. } if depth > JBSQ_BOUND_MAX => wrong("a depth of more than 64 is not possible"),
            Self { safe_point_every: Span::ZERO, safe_point_check, .. } if safe_point_check != Span::ZERO => {
                wrong("checks cost nothing without safe points: give safe_point_every")
            }
            Self { slo_services: Some(0), .. } => {
                wrong("an SLO of zero gives no order: give slo_services of 1 or more")
            }
            Self { stays_at_core: true, depth: 1, .. } => {
                wrong("an RPC that stays at a core of depth 1 is alone there: give a depth of 2 or more")
            }
            Self { stays_at_core: true, dispatcher_serves: true, .. } => {
                wrong("a dispatcher cannot serve RPCs that stay at their cores: leave out one of the two")
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
