//! The load of a system: service times and arrivals.

pub(crate) mod over_time;
pub(crate) mod population;

pub use crate::bounds::CLIENTS_MAX;
pub(crate) use crate::bounds::OUTSTANDING_MAX;
pub use crate::bounds::POPULATION_MAX;
pub use over_time::Profile;
pub use population::{Flows, Population};

use crate::error::{LOAD_MAX, SimError};
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::{Arrivals, Rate, ServiceTime};

/// The RPCs that are offered to a system.
///
/// # Examples
///
/// ```
/// use nebula_nic::Policy;
/// use nebula_sim::{Load, System};
///
/// let load = Load::open("exp:1us".parse()?, 0.5);
/// let rate = load.rate(&System::new(Policy::SingleQueue, 64))?.expect("an open loop has a rate");
/// assert_eq!(rate.as_rps(), 32e6);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Service time: how long an RPC occupies its core.
    pub service: ServiceTime,
    /// When RPCs arrive.
    pub source: Source,
    /// Which flow each RPC belongs to.
    pub flows: Flows,
    /// How RPCs are spread over keys; if not set, each has its own key.
    pub keys: Option<Population>,
    /// How an open load changes over time around its mean; constant if not set.
    pub over_time: Option<Profile>,
}

/// When RPCs arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Open loop: RPCs arrive whether or not earlier ones are answered.
    Open {
        /// The arrival process.
        arrivals: Arrivals,
        /// Offered load as a share of the capacity of all cores.
        utilization: f64,
    },
    /// Closed loop: a client sends its next RPC after the reply to an earlier one.
    Closed {
        /// Clients: connections.
        clients: u32,
        /// RPCs that each client has outstanding or thinks about.
        outstanding: u32,
        /// Think time from a reply to the next RPC; `None` for zero.
        think: Option<ServiceTime>,
    },
}

impl Load {
    /// Poisson arrivals at a share `utilization` of the cores' capacity.
    #[must_use]
    pub const fn open(service: ServiceTime, utilization: f64) -> Self {
        Self::of(service, Source::Open { arrivals: Arrivals::Poisson, utilization })
    }

    /// `clients` that each wait for a reply, then think before they send again.
    #[must_use]
    pub const fn closed(service: ServiceTime, clients: u32, think: Option<ServiceTime>) -> Self {
        Self::of(service, Source::Closed { clients, outstanding: 1, think })
    }

    /// Sets how many RPCs each client of a closed loop has outstanding; no effect on an open loop.
    #[must_use]
    pub fn outstanding(mut self, rpcs: u32) -> Self {
        if let Source::Closed { outstanding, .. } = &mut self.source {
            *outstanding = rpcs;
        }
        self
    }

    const fn of(service: ServiceTime, source: Source) -> Self {
        Self { service, source, flows: Flows::EachRpc, keys: None, over_time: None }
    }

    /// Sets which flow each RPC belongs to.
    #[must_use]
    pub const fn flows(mut self, flows: Flows) -> Self {
        self.flows = flows;
        self
    }

    /// Spreads the RPCs over keys.
    #[must_use]
    pub const fn keys(mut self, keys: Population) -> Self {
        self.keys = Some(keys);
        self
    }

    /// Lets an open load change over time, and sets its height to the mean of the profile.
    #[must_use]
    pub fn over_time(self, profile: Profile) -> Self {
        let mean = profile.mean();
        Self { over_time: Some(profile), ..self.at(mean) }
    }

    /// Whether RPCs share neither flows nor keys, so that cores differ in load only by chance.
    #[must_use]
    pub fn is_even(&self) -> bool {
        self.flows == Flows::EachRpc && self.keys.is_none()
    }

    /// Sets the arrival process of an open loop; no effect on a closed loop.
    #[must_use]
    pub fn arrivals(mut self, kind: Arrivals) -> Self {
        if let Source::Open { arrivals, .. } = &mut self.source {
            *arrivals = kind;
        }
        self
    }

    /// Sets the offered load of an open loop.
    #[must_use]
    pub fn at(mut self, load: f64) -> Self {
        if let Source::Open { utilization, .. } = &mut self.source {
            *utilization = load;
        }
        self
    }

    /// RPCs offered per second; `None` for a closed loop.
    ///
    /// # Errors
    ///
    /// [`SimError::Load`] for an impossible load.
    pub fn rate(&self, system: &System) -> Result<Option<Rate>, SimError> {
        let Source::Open { utilization, .. } = self.source else { return Ok(None) };
        if !(utilization > 0.0 && utilization <= LOAD_MAX) {
            return Err(SimError::Load { got: utilization });
        }
        Ok(Some(Rate::try_new(utilization * system.rps_max(&self.service))?))
    }

    /// Checks that it can be simulated on this system.
    ///
    /// # Errors
    ///
    /// [`SimError`] that says what is wrong.
    pub fn validate(&self, system: &System) -> Result<(), SimError> {
        let mean_ps = self.service.mean_ps();
        if !(1e3..=1e12).contains(&mean_ps) {
            return Err(SimError::Service { mean_ns: mean_ps / 1e3 });
        }
        self.rate(system)?;
        self.validate_shares()?;
        if system.is_tiered() && !(self.is_even() && matches!(self.source, Source::Open { .. })) {
            let reason = "they have an open loop without flows or keys: leave out clients, flows and keys";
            return Err(SimError::Calls { reason });
        }
        match self.source {
            Source::Open { utilization, .. } if utilization >= 1.0 && system.queue_bound.is_none() => {
                Err(SimError::Unstable { got: utilization })
            }
            Source::Closed { clients, .. } if !(1..=CLIENTS_MAX).contains(&clients) => {
                Err(SimError::Clients { got: clients })
            }
            Source::Closed { clients, outstanding, .. } if !(1..=OUTSTANDING_MAX / clients).contains(&outstanding) => {
                Err(SimError::Outstanding { got: outstanding, clients })
            }
            _ => Ok(()),
        }
    }

    fn validate_shares(&self) -> Result<(), SimError> {
        self.keys.as_ref().map_or(Ok(()), Population::validate)?;
        match (&self.flows, &self.source) {
            (_, Source::Closed { .. }) if self.over_time.is_some() => Err(SimError::ClosedOverTime),
            (Flows::Among(flows), _) => flows.validate(),
            (Flows::Clients, Source::Open { .. }) => Err(SimError::FlowsOfNoClients),
            _ => Ok(()),
        }
    }

    /// Roughly how many RPCs an empty system needs to reach its steady state; 0 if unknown.
    ///
    /// Three times the RPCs that arrive in the relaxation time of M/M/k, which is ρ / (1 − √ρ)² for
    /// any k, times the mean of the squared coefficients of variation of gaps (taken as 1) and of
    /// service (at most 10).
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is positive")]
    pub fn settling_rpcs(&self) -> u64 {
        match self.source {
            Source::Open { utilization, .. } if utilization < 1.0 => {
                let scv = self.service.scv().unwrap_or(f64::INFINITY).min(10.0);
                let gap = 1.0 - libm::sqrt(utilization);
                (3.0 * utilization / (gap * gap) * (1.0 + scv) / 2.0) as u64
            }
            _ => 0,
        }
    }

    /// The SLO that is `times` the mean service time.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and both factors are positive"
    )]
    pub fn slo(&self, times: f64) -> Span {
        Span::from_ps(libm::round(self.service.mean_ps() * times) as u64)
    }
}
