//! Costs that grow with the cores: the way across the mesh, and the cache lines of a scheduler.

use super::altocumulus::Altocumulus;
use super::{Costs, System};
use crate::error::SimError;
use nebula_nic::{Policy, Span};

/// Mean hops between two tiles of a square mesh of `cores` tiles, each drawn at random: 2/3 (√n −
/// 1/√n).
///
/// # Examples
///
/// ```
/// assert_eq!(nebula_sim::mesh_hops(64), 5.25);
/// assert_eq!(nebula_sim::mesh_hops(1), 0.0);
/// ```
#[must_use]
pub fn mesh_hops(cores: u16) -> f64 {
    let side = libm::sqrt(f64::from(cores.max(1)));
    2.0 / 3.0 * (side - 1.0 / side)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; `as` saturates")]
fn way(cores: u16, hop: Span) -> Span {
    Span::from_ps(libm::round(mesh_hops(cores) * hop.as_ps() as f64) as u64)
}

impl Costs {
    /// Whether some of them grow with the number of cores.
    pub(crate) fn grow(&self) -> bool {
        self.hop + self.per_core != Span::ZERO
    }
}

impl System {
    /// The same system with each cost at this number of cores, so that none grows any more.
    ///
    /// With `hop`, a message from the NIC to a core or back takes the mean way across the mesh of
    /// one server or group. A hand-off of a lock and a steal take that way twice, as a cache line
    /// is requested and returned. A message between managers crosses the mesh of the whole server.
    /// With `per_core`, a dispatcher in software and a thief look at one cache line for each core.
    #[must_use]
    pub fn at_size(&self) -> Self {
        let Costs { hop, per_core, .. } = self.costs;
        let group = self.cores / self.groups();
        let (across, lines) = (way(group, hop), per_core * u64::from(self.workers().div_ceil(self.groups())));
        let mut system = self.clone();
        let costs = &mut system.costs;
        (costs.hop, costs.per_core) = (Span::ZERO, Span::ZERO);
        let has_lock = costs.lock_handoff != Span::ZERO;
        costs.lock_handoff += if has_lock { across * 2 } else { Span::ZERO };
        if self.policy == Policy::WorkStealing {
            costs.steal += across * 2 + lines;
            return system;
        }
        costs.dispatch += across;
        costs.notify += across;
        costs.decision += if costs.decision == Span::ZERO { Span::ZERO } else { lines };
        if let Policy::Altocumulus(_) = self.policy {
            let managers = self.managers();
            let message = managers.message + way(self.cores, hop);
            system.altocumulus = Some(Altocumulus { message, ..managers });
        }
        system
    }

    /// A growing cost of an absent mechanism would be ignored silently.
    pub(super) fn validate_growth(&self) -> Result<(), SimError> {
        let (Costs { hop, per_core, decision, .. }, policy) = (self.costs, self.policy);
        let is_stealing = policy == Policy::WorkStealing;
        if hop != Span::ZERO && self.batch.is_some() {
            return Err(SimError::CostWithout { cost: "messages across the mesh", policy });
        }
        if per_core != Span::ZERO && decision == Span::ZERO && !is_stealing {
            return Err(SimError::PerCoreWithout { policy });
        }
        Ok(())
    }
}
