//! Value syntax of `simulate` only: reactions to a NACK, balancers, second copies.

use std::str::FromStr;

use nebula_nic::Span;
use nebula_requester::RetryPolicy;
use nebula_sim::{Balance, Hedge, Router};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Drop,
    Retry { first: Span, tries: u32 },
    Another,
}

impl Reaction {
    const TRIES: u32 = 8;

    pub(super) const fn policy(self, servers: u16, seed: u64) -> RetryPolicy {
        match self {
            Self::Drop => RetryPolicy::GiveUp,
            Self::Retry { first, tries } => RetryPolicy::BackOff { first, factor: 2, attempts: tries, seed },
            Self::Another => RetryPolicy::AnotherServer { servers, attempts: servers as u32 },
        }
    }

    fn retry(text: &str) -> Option<Self> {
        let (first, tries) = text.split_once(',').map_or((text, None), |(first, tries)| (first, Some(tries)));
        let tries = tries.map_or(Some(Self::TRIES), |tries| tries.parse().ok());
        let first = first.parse().ok().filter(|&span| span > Span::ZERO)?;
        Some(Self::Retry { first, tries: tries.filter(|&tries| tries > 0)? })
    }
}

impl FromStr for Reaction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = match text.split_once(':') {
            None if text == "drop" => Some(Self::Drop),
            None if text == "another" => Some(Self::Another),
            Some(("retry", rest)) => Self::retry(rest),
            _ => None,
        };
        read.ok_or_else(|| format!("expected drop, retry:10us, retry:10us,8 (8 tries in all) or another, not {text:?}"))
    }
}

impl std::fmt::Display for Reaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Drop => f.write_str("drop"),
            Self::Retry { first, tries } => write!(f, "retry:{first},{tries}"),
            Self::Another => f.write_str("another"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Balancer {
    Jbsq(u16),
    AtArrival(Balance),
}

impl Balancer {
    pub(super) const fn router(self, distance: Span) -> Router {
        match self {
            Self::Jbsq(bound) => Router::jbsq(bound, distance),
            Self::AtArrival(balance) => Router::at_arrival(balance, distance),
        }
    }
}

impl FromStr for Balancer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = match text {
            "random" => Some(Self::AtArrival(Balance::Random)),
            "round-robin" => Some(Self::AtArrival(Balance::RoundRobin)),
            "two-choices" => Some(Self::AtArrival(Balance::TwoChoices)),
            _ => text.strip_prefix("jbsq:").and_then(|bound| bound.parse().ok()).map(Self::Jbsq),
        };
        read.ok_or_else(|| format!("expected jbsq:8, random, round-robin or two-choices, not {text:?}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HedgeOrNone(pub(super) Option<Hedge>);

impl FromStr for HedgeOrNone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            text => {
                text.parse().map(|hedge| Self(Some(hedge))).map_err(|error: nebula_sim::SimError| error.to_string())
            }
        }
    }
}

pub(super) fn ghz(text: &str) -> Result<f64, String> {
    let ghz: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    if ghz > 0.0 && ghz <= 100.0 { Ok(ghz) } else { Err("give a clock above 0 and up to 100 GHz".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balancers_read_as_policies_do() {
        assert_eq!("jbsq:8".parse(), Ok(Balancer::Jbsq(8)));
        assert_eq!("two-choices".parse(), Ok(Balancer::AtArrival(Balance::TwoChoices)));
        for wrong in ["", "jbsq", "jbsq:", "jbsq:many", "rss"] {
            assert!(wrong.parse::<Balancer>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn second_copies_may_be_none() {
        assert_eq!("none".parse(), Ok(HedgeOrNone(None)));
        assert!("tied:p95".parse::<HedgeOrNone>().is_ok_and(|hedge| hedge.0.is_some_and(|hedge| hedge.is_tied)));
        assert!("often".parse::<HedgeOrNone>().unwrap_err().contains("p95/3%"));
    }

    #[test]
    fn reactions_read_with_or_without_their_tries() {
        let first = Span::from_us(10);
        assert_eq!("retry:10us".parse(), Ok(Reaction::Retry { first, tries: 8 }));
        assert_eq!("retry:10us,3".parse(), Ok(Reaction::Retry { first, tries: 3 }));
        assert_eq!(["drop", "another"].map(str::parse), [Ok(Reaction::Drop), Ok(Reaction::Another)]);
        for wrong in ["", "retry", "retry:", "retry:0us", "retry:10us,0", "drop:1", "again"] {
            assert!(wrong.parse::<Reaction>().is_err(), "{wrong}");
        }
    }
}
