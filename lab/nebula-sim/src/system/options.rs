//! Which host interface, and which router, a system may have.

use crate::error::SimError;
use crate::system::host::Host;
use crate::system::router::{Balance, Router};
use crate::system::{Costs, System};
use nebula_nic::{Policy, STEALABLE_BOUND};
use nebula_requester::RetryPolicy;

impl System {
    /// Sets the interface between cores and NIC, and the bound on the queues: its FIFOs.
    #[must_use]
    pub const fn host(mut self, host: Host) -> Self {
        self.queue_bound = Some(host.fifo as u32 * self.workers() as u32);
        self.host = Some(host);
        self
    }

    /// Whether a host interface is possible here and no setting would be ignored.
    pub(crate) fn validate_host(&self) -> Result<(), SimError> {
        let Some(host) = &self.host else { return Ok(()) };
        let wrong = |reason| Err(SimError::Host { reason });
        let fifos = u32::from(host.fifo) * u32::from(self.workers());
        host.validate()?;
        match self {
            Self { custom: Some(_), .. } => wrong("a custom policy has no flows: give a built-in policy"),
            Self { policy, .. } if !HOSTED.contains(policy) => {
                Err(SimError::CostWithout { cost: "flow for each core behind a host interface", policy: *policy })
            }
            Self { costs, .. } if *costs != Costs::ZERO => {
                wrong("what an RPC costs a core is per_rpc and store there: leave out the costs")
            }
            Self { batch: Some(_), .. } => wrong("its batches are those of [host]: leave out [batch]"),
            Self { router: Some(_), .. } => wrong("a router has no cores with flows: leave out one of the two"),
            Self { servers, dedicated, .. } if *servers > 1 || *dedicated > 0 => {
                wrong("it belongs to one server all of whose cores serve: leave out server_cores and dedicated")
            }
            Self { queue_bound, .. } if *queue_bound != Some(fifos) => {
                wrong("the bound on the queues is the FIFO of a flow: leave out the other one")
            }
            Self { reaction, .. } if *reaction != RetryPolicy::GiveUp => {
                wrong("no client is told of a drop: leave out the reaction to a NACK")
            }
            _ => Ok(()),
        }
    }
}

impl System {
    pub(crate) fn validate_router(&self) -> Result<(), SimError> {
        let (Some(Router { bound, balance, .. }), policy) = (self.router, self.policy) else { return Ok(()) };
        if !(1..=nebula_nic::JBSQ_BOUND_MAX).contains(&bound.into()) || self.servers > nebula_nic::CORES_MAX {
            return Err(SimError::Router { bound, servers: self.servers });
        }
        if balance != Balance::Jbsq
            && !self.is_tiered()
            && (u32::from(bound) != STEALABLE_BOUND || u32::from(self.workers()) > STEALABLE_BOUND / 2)
        {
            return Err(SimError::RouterOfLarge { workers: self.workers() });
        }
        if self.has_queues() || matches!(policy, Policy::Preemptive(_) | Policy::Darc | Policy::Altocumulus(_)) {
            return Err(SimError::CostWithout { cost: "router before its servers", policy });
        }
        if matches!(self.reaction, RetryPolicy::AnotherServer { .. }) && !self.is_tiered() {
            return Err(SimError::AnotherBehindRouter);
        }
        Ok(())
    }
}

/// The policies that choose a flow when an RPC arrives, by what the NIC knows then.
const HOSTED: [Policy; 5] = [Policy::Static, Policy::RoundRobin, Policy::Random, Policy::Rss, Policy::KeyHash];
