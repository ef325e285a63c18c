//! Tenants as data: messaging domains that share cores by weight.
//!
//! [`Lending`](nebula_nic::Lending) lends each core, as it lends the threads of the runtime's
//! `Domains`. Each tenant has a back end per core, as a server has an engine per thread. An RPC
//! belongs to one core from its arrival on, chosen at random.

pub(crate) mod estimate;

use crate::blocks::spelled;
use crate::error::{LOAD_MAX, SimError};
use crate::model::span;
use crate::shipped::shipped;
use nebula_nic::Span;
use nebula_nic::schedule::QUANTUM;
use nebula_workload::from_toml::toml_reason;
use nebula_workload::{Arrivals, ServiceTime};
use serde::Deserialize;
use std::num::{NonZeroU16, NonZeroU32};

const CORES_MAX: u16 = 256;
const TENANTS_MAX: usize = 64;

/// Tenants that share cores.
///
/// # Examples
///
/// ```
/// use nebula_sim::{Effort, Tenants};
///
/// let tenants = Tenants::named("noisy").expect("it ships with Nebula");
/// let found = tenants.estimate(&Effort::default().rpcs(20_000).replications(4), &|| ())?;
/// let [quiet, noisy] = &found.tenants[..] else { panic!("two of them") };
/// // What the noisy one is offered beyond its share is its loss alone.
/// assert!(quiet.nacked.value == 0.0 && noisy.nacked.value > 0.8);
/// # Ok::<(), nebula_sim::SimError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenants {
    /// Cores, each of which is lent to all tenants in turn.
    pub cores: NonZeroU16,
    /// The time of a core that weight 1 gets before the next tenant's turn.
    #[serde(default = "quantum", deserialize_with = "span")]
    pub quantum: Span,
    /// The time that refusing an RPC takes from its tenant on the core.
    #[serde(default, deserialize_with = "span")]
    pub refusal: Span,
    /// The tenants, in the order of the rows.
    pub tenants: Vec<Tenant>,
}

/// One tenant: a messaging domain.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Its name in results.
    pub name: String,
    /// Its share of a core is its weight over those of all tenants with work there.
    pub weight: NonZeroU16,
    /// The bound on the p99 of its RPCs, from arrival to the end of service.
    #[serde(deserialize_with = "span")]
    pub slo: Span,
    /// The share of all cores' time that its RPCs need; more than 1 is possible with a bound.
    pub load: f64,
    /// Its arrivals; Poisson if not given.
    #[serde(default = "poisson", deserialize_with = "spelled")]
    pub arrivals: Arrivals,
    /// Its service times.
    #[serde(deserialize_with = "spelled")]
    pub service: ServiceTime,
    /// RPCs that may wait for each core; further ones are NACKed. Without it none are.
    pub queue_bound: Option<NonZeroU32>,
}

fn quantum() -> Span {
    QUANTUM
}

fn poisson() -> Arrivals {
    Arrivals::Poisson
}

shipped!(Tenants in "tenants": "noisy");

impl Tenants {
    /// Reads tenants from TOML.
    ///
    /// # Errors
    ///
    /// [`SimError::Tenants`] with the line, or with the reason why they cannot be simulated.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let wrong = |error: toml::de::Error| SimError::Tenants { reason: toml_reason(text, &error) };
        let tenants: Self = toml::from_str(text).map_err(wrong)?;
        tenants.validate()?;
        Ok(tenants)
    }

    /// Checks that they can be simulated; the error says why not.
    pub fn validate(&self) -> Result<(), SimError> {
        let wrong = |reason: String| Err(SimError::Tenants { reason });
        if self.cores.get() > CORES_MAX {
            return wrong(format!("{} cores are too many: give at most {CORES_MAX}", self.cores));
        }
        if !(1..=TENANTS_MAX).contains(&self.tenants.len()) {
            return wrong(format!("{} tenants: give 1 to {TENANTS_MAX}", self.tenants.len()));
        }
        if self.quantum == Span::ZERO {
            return wrong("a quantum of zero: give a time, such as 2us".to_owned());
        }
        for (index, Tenant { name, load, .. }) in self.tenants.iter().enumerate() {
            if !(*load > 0.0 && *load <= LOAD_MAX) {
                return Err(SimError::Load { got: *load });
            }
            if self.tenants[..index].iter().any(|other| other.name == *name) {
                return wrong(format!("two tenants are named {name:?}"));
            }
        }
        let asked: f64 = self.tenants.iter().map(|tenant| tenant.load).sum();
        match self.tenants.iter().find(|tenant| tenant.queue_bound.is_none()) {
            Some(Tenant { name, .. }) if asked >= 1.0 => wrong(format!(
                "the loads add up to {asked}, and {name:?} has no queue_bound: its queue could grow without limit"
            )),
            _ => Ok(()),
        }
    }

    /// A tenant's share of the cores while all have work everywhere.
    #[must_use]
    pub fn fair_share(&self, tenant: &Tenant) -> f64 {
        let all: u32 = self.tenants.iter().map(|tenant| u32::from(tenant.weight.get())).sum();
        f64::from(tenant.weight.get()) / f64::from(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "cores = 1\n[[tenants]]\nname = 'a'\nweight = 1\nslo = '10us'\nload = 0.5\nservice = 'exp:1us'\n";

    #[test]
    fn every_file_can_be_simulated() {
        for name in Tenants::shipped() {
            assert!(Tenants::named(name).is_some_and(|tenants| tenants.validate().is_ok()), "{name}");
        }
        assert_eq!(Tenants::named("none"), None);
        let tenants = Tenants::parse(FILE).unwrap();
        assert_eq!((tenants.quantum, tenants.refusal), (QUANTUM, Span::ZERO));
        assert_eq!((&tenants.tenants[0].arrivals, tenants.tenants[0].queue_bound), (&Arrivals::Poisson, None));
    }

    #[test]
    fn what_is_no_tenant_says_where_and_why() {
        let error = |text: &str| Tenants::parse(text).unwrap_err().to_string();
        assert!(error(&FILE.replace("weight = 1", "weight = 0")).contains("line 4"));
        assert!(error(&FILE.replace("exp:1us", "often")).contains("line 7"));
        assert!(error(&FILE.replace("load = 0.5", "load = 0.0")).contains("load of 0"));
        assert!(error(&FILE.replace("load = 0.5", "load = 1.0")).contains("queue_bound"));
        assert!(error(&FILE.replace("cores = 1", "cores = 1000")).contains("at most 256"));
        assert!(error(&FILE.replace("cores = 1", "cores = 1\nquantum = '0ns'")).contains("quantum"));
        assert!(error("cores = 1\ntenants = []").contains("1 to 64"));
        let twice = format!("{FILE}{}", FILE.strip_prefix("cores = 1\n").unwrap());
        assert!(error(&twice.replace("0.5", "0.1")).contains("two tenants"));
    }
}
