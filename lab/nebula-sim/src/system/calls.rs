//! How callers call servers: several at once, with second copies, until a deadline; and tiers.

use super::System;
use super::router::{Balance, Router};
use crate::error::SimError;
use crate::system::Costs;
use nebula_nic::{Policy, Span};
use nebula_requester::{HedgeConfig, SERVERS_MAX};
use nebula_workload::ServiceTime;
use std::fmt;
use std::str::FromStr;

/// How the servers of a tier are called.
///
/// # Examples
///
/// ```
/// use nebula_nic::{Policy, Span};
/// use nebula_sim::{Balance, Calls, Router, System};
///
/// let hedged = Calls { hedge: Some("p95".parse().unwrap()), ..Calls::ONE };
/// let router = Router::at_arrival(Balance::TwoChoices, Span::from_us(2));
/// let system = System::new(Policy::SingleQueue, 4).servers(8).router(router).calls(hedged);
/// assert!(system.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calls {
    /// Servers that a caller asks at once, each for a part of the answer; it waits for all of them.
    pub fan_out: u16,
    /// When a part is sent to a second server.
    pub hedge: Option<Hedge>,
    /// The time after which a caller gives up and cancels its RPCs.
    pub deadline: Option<Span>,
}

impl Calls {
    /// One server, one copy, no deadline.
    pub const ONE: Self = Self { fan_out: 1, hedge: None, deadline: None };
}

/// Second copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hedge {
    /// When the second copy is sent.
    pub after: HedgeAfter,
    /// Whether a server that begins one copy cancels the other.
    pub is_tied: bool,
    /// Whether both copies take the same service time: it is the request's and not the server's.
    pub has_same_service: bool,
}

/// When a second copy is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HedgeAfter {
    /// After a quantile of the latency so far, for a share of the calls at most.
    Quantile(HedgeConfig),
    /// After a fixed time.
    Time(Span),
}

/// `p95` or `p95/3%` (copies of at most 3 % of the calls; otherwise twice as many as are slower),
/// `20us`, or `tied:` before any of them.
impl FromStr for Hedge {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Self, SimError> {
        let (is_tied, after) = text.strip_prefix("tied:").map_or((false, text), |after| (true, after));
        let after = after.strip_prefix('p').map_or_else(|| after.parse().ok().map(HedgeAfter::Time), quantile);
        let after = after.ok_or_else(|| SimError::HedgeText { text: text.to_owned() })?;
        Ok(Self { after, is_tied, has_same_service: false })
    }
}

fn quantile(text: &str) -> Option<HedgeAfter> {
    let (percentile, budget) =
        text.split_once('/').map_or((text, None), |(percentile, budget)| (percentile, Some(budget)));
    let quantile = libm::round(percentile.parse::<f64>().ok()? * 1e4) / 1e6;
    let budget = match budget {
        Some(share) => share.strip_suffix('%')?.parse::<f64>().ok()? / 100.0,
        None => libm::round((2.0 * (1.0 - quantile)).min(1.0) * 1e6) / 1e6,
    };
    let config = HedgeConfig { quantile, budget };
    nebula_requester::Hedging::try_new(config).is_ok().then_some(HedgeAfter::Quantile(config))
}

impl fmt::Display for Hedge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_tied { "tied:" } else { "" })?;
        let percent = |share: f64| libm::round(share * 1e6) / 1e4;
        match self.after {
            HedgeAfter::Time(time) => match time.as_ps() {
                0 => f.write_str("0ns"),
                ps if ps % 1_000_000 == 0 => write!(f, "{}us", ps / 1_000_000),
                ps if ps % 1_000 == 0 => write!(f, "{}ns", ps / 1_000),
                ps => write!(f, "{ps}ps"),
            },
            HedgeAfter::Quantile(HedgeConfig { quantile, budget }) => {
                write!(f, "p{}/{}%", percent(quantile), percent(budget))
            }
        }
    }
}

/// Servers behind others, which each RPC of the tier before calls once its core is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tier {
    /// Name in results.
    pub name: String,
    /// The servers, and how they are called.
    pub system: System,
    /// Service time of an RPC there.
    pub service: ServiceTime,
}

pub(crate) const TIERS_MAX: usize = 8;

impl System {
    /// Adds a tier behind all others.
    #[must_use]
    pub fn behind(mut self, name: &str, system: System, service: ServiceTime) -> Self {
        let system = Self { calls: system.calls.or(Some(Calls::ONE)), ..system };
        self.behind.push(Tier { name: name.to_owned(), system, service });
        self
    }

    /// Whether calls have parts, copies or deadlines, or tiers behind them.
    pub(crate) fn is_tiered(&self) -> bool {
        self.calls.is_some() || !self.behind.is_empty()
    }

    /// The tiers with their service times, this one first.
    pub(crate) fn tiers<'a>(&'a self, service: &'a ServiceTime) -> impl Iterator<Item = (&'a Self, &'a ServiceTime)> {
        std::iter::once((self, service)).chain(self.behind.iter().map(|tier| (&tier.system, &tier.service)))
    }

    pub(crate) fn tier_names(&self) -> Vec<&str> {
        std::iter::once("front").chain(self.behind.iter().map(|tier| &*tier.name)).collect()
    }

    pub(crate) fn cores_everywhere(&self) -> u32 {
        self.behind.iter().fold(self.cores_total(), |sum, tier| sum.saturating_add(tier.system.cores_total()))
    }

    /// RPCs per second at a load of 1: where the busiest tier has no core left.
    #[must_use]
    pub fn rps_max(&self, service: &ServiceTime) -> f64 {
        let mut calls = 1.0;
        let of_tier = |(tier, service): (&Self, &ServiceTime)| {
            calls *= f64::from(tier.calls.map_or(1, |calls| calls.fan_out));
            tier.capacity() * PS_PER_SEC / service.mean_ps() / calls
        };
        self.tiers(service).map(of_tier).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn validate_calls(&self) -> Result<(), SimError> {
        if !self.is_tiered() {
            return match self.standings.len() {
                0 => Ok(()),
                given => Err(SimError::Standings { given, servers: 0 }),
            };
        }
        let wrong = |reason| Err(SimError::Calls { reason });
        if self.behind.len() >= TIERS_MAX {
            return wrong("give at most 8 tiers");
        }
        if self.cores_everywhere() > crate::bounds::CORES_TOTAL_MAX {
            return wrong("give at most 65536 cores in all");
        }
        self.validate_tier()?;
        for tier in &self.behind {
            if !tier.system.behind.is_empty() {
                return wrong("a tier behind another has none behind it: list all of them in one row");
            }
            if !(1e3..=1e12).contains(&tier.service.mean_ps()) {
                return Err(SimError::Service { mean_ns: tier.service.mean_ps() / 1e3 });
            }
            tier.system.validate()?;
            tier.system.validate_tier()?;
        }
        Ok(())
    }

    fn validate_tier(&self) -> Result<(), SimError> {
        if self.standings.len() > usize::from(self.servers) {
            return Err(SimError::Standings { given: self.standings.len(), servers: self.servers });
        }
        let wrong = |reason| Err(SimError::Calls { reason });
        let Calls { fan_out, hedge, .. } = self.calls.unwrap_or(Calls::ONE);
        let is_scheduled = matches!(self.policy, Policy::Preemptive(_) | Policy::Darc | Policy::Altocumulus(_));
        match self.router {
            _ if self.servers > SERVERS_MAX => wrong("a caller tells at most 64 servers apart: give fewer"),
            _ if !(1..=self.servers).contains(&fan_out) => {
                wrong("each part goes to another server: give as many servers as parts")
            }
            _ if hedge.is_some() && self.servers < 2 => wrong("a second copy goes to another server: give 2 or more"),
            Some(Router { balance: Balance::Jbsq, .. }) => {
                wrong("a balancer that holds RPCs back sends no copies: give random, round-robin or two-choices")
            }
            _ if is_scheduled || self.has_queues() || self.host.is_some() || self.fair_shares => wrong(
                "the servers' policy has to be one that decides once, at the NIC, without a host interface or fair shares",
            ),
            _ if self.costs != Costs::ZERO => wrong("mechanisms cost nothing there: leave their costs out"),
            _ => Ok(()),
        }
    }
}

const PS_PER_SEC: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hedges_read_as_they_are_shown() {
        for (text, shown) in [
            ("p95", "p95/10%"),
            ("p99.9/2%", "p99.9/2%"),
            ("tied:p50", "tied:p50/100%"),
            ("20us", "20us"),
            ("tied:0ns", "tied:0ns"),
        ] {
            let hedge: Hedge = text.parse().unwrap();
            assert_eq!(hedge.to_string(), shown);
            assert_eq!(shown.parse(), Ok(hedge));
        }
        for wrong in ["", "p", "p30", "p100", "p95/0%", "p95/5", "tied", "95", "tied:"] {
            assert!(wrong.parse::<Hedge>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_busiest_tier_limits_the_rate() {
        let service: ServiceTime = "exp:1us".parse().unwrap();
        let leaf = System::new(Policy::SingleQueue, 2).servers(20).calls(Calls { fan_out: 10, ..Calls::ONE });
        let front = System::new(Policy::SingleQueue, 8).behind("leaf", leaf, "exp:5us".parse().unwrap());
        // 8 M/s at the front; 40 cores of 10 parts of 5 µs at the leaves.
        assert!((front.rps_max(&service) / 0.8e6 - 1.0).abs() < 1e-9);
        assert_eq!((front.cores_everywhere(), front.validate()), (48, Ok(())));
    }
}
