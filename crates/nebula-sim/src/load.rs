//! What is asked of the system: service times, and when RPCs come.

use crate::error::{LOAD_MAX, SimError};
use crate::system::System;
use nebula_nic::Span;
use nebula_workload::{Arrivals, Rate, ServiceTime};

/// Clients of a closed loop at most.
pub const CLIENTS_MAX: u32 = 1 << 20;

/// The RPCs that a system is to serve.
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
    /// How long an RPC keeps its core.
    pub service: ServiceTime,
    /// When RPCs come.
    pub source: Source,
}

/// When RPCs come.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Whether or not those before are answered.
    Open {
        /// The kind of arrivals.
        arrivals: Arrivals,
        /// Offered load as a share of the capacity of all cores.
        utilization: f64,
    },
    /// Each client sends its next RPC after the answer to its last one.
    Closed {
        /// Clients, each with one RPC outstanding at most.
        clients: u32,
        /// From an answer to the next RPC; none for at once.
        think: Option<ServiceTime>,
    },
}

impl Load {
    /// Poisson arrivals at a share `utilization` of the cores' capacity.
    #[must_use]
    pub const fn open(service: ServiceTime, utilization: f64) -> Self {
        Self { service, source: Source::Open { arrivals: Arrivals::Poisson, utilization } }
    }

    /// `clients` that each wait for an answer and think before they send again.
    #[must_use]
    pub const fn closed(service: ServiceTime, clients: u32, think: Option<ServiceTime>) -> Self {
        Self { service, source: Source::Closed { clients, think } }
    }

    /// Sets the kind of arrivals of an open loop; a closed one has none.
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

    /// RPCs offered a second; `None` for a closed loop.
    ///
    /// # Errors
    ///
    /// [`SimError::Load`] for a share that cannot be offered.
    pub fn rate(&self, system: &System) -> Result<Option<Rate>, SimError> {
        let Source::Open { utilization, .. } = self.source else { return Ok(None) };
        if !(utilization > 0.0 && utilization <= LOAD_MAX) {
            return Err(SimError::Load { got: utilization });
        }
        let capacity_rps = f64::from(system.cores_total()) * PS_PER_SEC / self.service.mean_ps();
        Ok(Some(Rate::try_new(utilization * capacity_rps)?))
    }

    /// Whether it can be simulated on this system.
    ///
    /// # Errors
    ///
    /// [`SimError`] with what is wrong with it.
    pub fn validate(&self, system: &System) -> Result<(), SimError> {
        let mean_ps = self.service.mean_ps();
        if !(1e3..=1e12).contains(&mean_ps) {
            return Err(SimError::Service { mean_ns: mean_ps / 1e3 });
        }
        self.rate(system)?;
        match self.source {
            Source::Open { utilization, .. } if utilization >= 1.0 && system.queue_bound.is_none() => {
                Err(SimError::Unstable { got: utilization })
            }
            Source::Closed { clients, .. } if !(1..=CLIENTS_MAX).contains(&clients) => {
                Err(SimError::Clients { got: clients })
            }
            _ => Ok(()),
        }
    }

    /// How many RPCs it takes until a system that was empty is as if it had always run, roughly; 0 where it cannot be said.
    ///
    /// Three times the RPCs that come in the relaxation time of M/M/k, which are ρ / (1 − √ρ)² for any k, times the mean of the squared
    /// coefficients of variation of gaps (taken as 1) and of service (at most 10).
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

const PS_PER_SEC: f64 = 1e12;
