//! Tiers of servers as data: a small file names the front and what is behind it.
//!
//! A client calls the front. When its core is done with an RPC, a server calls the tier behind, and
//! it answers when all parts are answered. A call that all tried servers refuse, or an expired
//! deadline, fails the callers up to the client; the calls that they no longer need are cancelled.

use crate::blocks::spelled;
use crate::error::SimError;
use crate::model::span;
use crate::shipped::shipped;
use crate::system::{Balance, Calls, Hedge, Router, System};
use nebula_nic::{Policy, Span};
use nebula_requester::{RetryPolicy, Standing};
use nebula_workload::ServiceTime;
use nebula_workload::from_toml::toml_reason;
use serde::{Deserialize, Deserializer};

/// Tiers of servers.
///
/// # Examples
///
/// ```
/// use nebula_sim::Tiers;
///
/// let search = Tiers::named("search").expect("it ships with Nebula");
/// assert_eq!(search.names(), ["front", "leaf"]);
/// // The front would take 6.4 M/s; 160 cores at 20 parts of 20 µs take 0.4 M/s.
/// assert_eq!(search.system().rps_max(search.service()), 400_000.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tiers {
    system: System,
    service: ServiceTime,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    front: Tier,
    #[serde(default)]
    behind: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    tier: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tier {
    servers: u16,
    cores: u16,
    #[serde(deserialize_with = "spelled")]
    policy: Policy,
    #[serde(deserialize_with = "spelled")]
    service: ServiceTime,
    /// How callers choose a server; at random if not given.
    #[serde(default = "at_random")]
    balancer: Balance,
    /// Latency between caller and server, in each direction.
    #[serde(default, deserialize_with = "span")]
    distance: Span,
    #[serde(default = "once")]
    fan_out: u16,
    #[serde(default, deserialize_with = "some_spelled")]
    hedge: Option<Hedge>,
    /// Whether a second copy has the first one's service time.
    #[serde(default)]
    same_service: bool,
    #[serde(default, deserialize_with = "some_spelled")]
    deadline: Option<Span>,
    queue_bound: Option<u32>,
    /// Weights of the servers; equal if not given.
    #[serde(default)]
    weights: Vec<u16>,
    /// The number of servers, the last ones, in another zone than the callers.
    #[serde(default)]
    far: u16,
    /// Servers that may refuse a call before it fails.
    #[serde(default = "one_try")]
    tries: u32,
}

const fn at_random() -> Balance {
    Balance::Random
}

const fn once() -> u16 {
    1
}

const fn one_try() -> u32 {
    1
}

fn some_spelled<'de, D: Deserializer<'de>, T: std::str::FromStr<Err: std::fmt::Display>>(
    text: D,
) -> Result<Option<T>, D::Error> {
    spelled(text).map(Some)
}

shipped!(Tiers in "tiers": "search", "chain");

impl Tiers {
    /// Reads tiers from TOML.
    ///
    /// # Errors
    ///
    /// [`SimError::Tiers`] with the line, or with the reason why they cannot be simulated.
    pub fn parse(text: &str) -> Result<Self, SimError> {
        let wrong = |error: toml::de::Error| SimError::Tiers { reason: toml_reason(text, &error) };
        let File { front, behind } = toml::from_str(text).map_err(wrong)?;
        let (mut system, service) = front.system();
        for Named { name, tier } in behind {
            let tier: Tier = tier.try_into().map_err(|error: toml::de::Error| SimError::Tiers {
                reason: format!("tier {name}: {}", toml_reason("", &error)),
            })?;
            let (of_tier, its_service) = tier.system();
            system = system.behind(&name, of_tier, its_service);
        }
        system.validate()?;
        Ok(Self { system, service })
    }

    /// The tiers as a system.
    #[must_use]
    pub const fn system(&self) -> &System {
        &self.system
    }

    /// The service time at the front.
    #[must_use]
    pub const fn service(&self) -> &ServiceTime {
        &self.service
    }

    /// The names of the tiers, the front first.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.system.tier_names()
    }

    /// The sum of all tiers' mean service times, one part each.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time")]
    pub fn service_mean(&self) -> Span {
        let sum: f64 = self.system.tiers(&self.service).map(|(_, service)| service.mean_ps()).sum();
        Span::from_ps(libm::round(sum) as u64)
    }
}

impl Tier {
    /// Weight and zone of each server; empty if all are alike.
    fn standings(&self) -> Vec<Standing> {
        if self.weights.is_empty() && self.far == 0 {
            return Vec::new();
        }
        // The longest of the lists: one that is too long is refused later.
        let servers = self.servers.max(u16::try_from(self.weights.len()).unwrap_or(u16::MAX)).max(self.far);
        let near = self.servers.saturating_sub(self.far);
        let weight = |server: u16| self.weights.get(usize::from(server)).copied().unwrap_or(1);
        (0..servers).map(|server| Standing::default().weight(weight(server)).far(server >= near)).collect()
    }

    fn system(self) -> (System, ServiceTime) {
        let standings = self.standings();
        let Self { fan_out, hedge, same_service, deadline, distance, balancer, servers, tries, .. } = self;
        let hedge = hedge.map(|hedge| Hedge { has_same_service: same_service, ..hedge });
        let router = match balancer {
            Balance::Jbsq => Router::jbsq(1, distance),
            balance => Router::at_arrival(balance, distance),
        };
        let reaction = RetryPolicy::AnotherServer { servers, attempts: tries.max(1) };
        let system = System::new(self.policy, self.cores).servers(servers).router(router).reaction(reaction);
        (
            System { queue_bound: self.queue_bound, standings, ..system.calls(Calls { fan_out, hedge, deadline }) },
            self.service,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_simulated() {
        for name in Tiers::shipped() {
            let tiers = Tiers::named(name).unwrap();
            assert!(tiers.system().validate().is_ok() && tiers.names().len() > 1, "{name}");
        }
        assert_eq!(Tiers::named("none"), None);
    }

    #[test]
    fn what_is_no_tier_says_where_and_why() {
        let front = "[front]\nservers = 2\ncores = 4\npolicy = 'jbsq:2'\nservice = 'exp:1us'\n";
        let error = |text: &str| Tiers::parse(&format!("{front}{text}")).unwrap_err().to_string();
        assert!(error("hedge = 'often'").contains("line 6") && error("hedge = 'often'").contains("p95"));
        assert!(error("fan_out = 3").contains("as many servers as parts"));
        let behind = error("[[behind]]\nname = 'leaf'\nservers = 2\ncores = 1\npolicy = 'jbsq:2'\n");
        assert!(behind.contains("tier leaf") && behind.contains("service"), "{behind}");
        assert!(error("balancer = 'jbsq'").contains("holds RPCs back"));
        for wrong in ["weights = [1, 2, 3]", "far = 3"] {
            assert!(error(wrong).contains("weights or zones of 3 servers, and there are 2"), "{}", error(wrong));
        }
        assert!(Tiers::parse("[front]\nservers = 2").unwrap_err().to_string().contains("cores"));
    }
}
