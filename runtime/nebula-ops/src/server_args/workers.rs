//! `--workers`: a number, or `auto`.

use std::fmt;
use std::str::FromStr;

use nebula::{Cores, Policy, ServerConfig};
use nebula_nic::{CorePlan, ENGINE_TIME};

/// How many workers a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workers {
    /// As many as the cores of this process allow, beside the engines that they need.
    Auto,
    Number(u16),
}

impl FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Number).map_err(|_| format!("expected a number or auto, not {text:?}")),
        }
    }
}

impl fmt::Display for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Number(number) => fmt::Display::fmt(number, f),
        }
    }
}

/// Divides `cores` between engines and workers, for RPCs of `config.service_mean`. It chooses
/// several engines, or groups, only if the configuration names no engines, and only where there
/// `may_be_several`: over one interface there is one.
pub(super) fn divide(config: ServerConfig, cores: u16, may_be_several: bool) -> ServerConfig {
    let plan = CorePlan::new(cores, ENGINE_TIME, config.service_mean);
    let is_open = config.engines == 1 && config.inline.is_none() && config.policy == Policy::default();
    match config.inline {
        _ if !may_be_several => most_workers(config, cores),
        Some(true) => config.engines(cores).workers(cores),
        None if is_open && plan.is_inline => config.engines(plan.engines).workers(plan.workers),
        None if is_open => config.policy(plan.policy).workers(plan.workers),
        _ => most_workers(config, cores),
    }
}

/// The most workers that leave each polling thread a core, of the engines that `config` has.
fn most_workers(config: ServerConfig, cores: u16) -> ServerConfig {
    if config.inline == Some(true) {
        let engines = config.engines;
        return config.workers(engines);
    }
    let with = |workers| config.clone().workers(workers);
    let fits = |config: &ServerConfig| config.threads().number() <= usize::from(cores);
    (2..=cores).rev().map(with).find(fits).unwrap_or_else(|| with(1))
}

/// A line for a server whose one engine cannot feed all of its workers.
pub(super) fn advice(config: &ServerConfig) -> Option<String> {
    let threads = config.threads();
    let cores = u16::try_from(threads.number()).unwrap_or(u16::MAX);
    let plan = CorePlan::new(cores, ENGINE_TIME, config.service_mean);
    (threads.engines() == 1 && plan.engines > 1).then(|| {
        format!(
            "one engine feeds fewer than {} workers with RPCs of {}: on {cores} cores {} engines would (--workers auto)",
            config.workers, config.service_mean, plan.engines
        )
    })
}

/// The cores that this process may use.
pub(super) fn cores() -> u16 {
    u16::try_from(Cores::of_this_process().number()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula::Span;

    fn divided(config: ServerConfig, cores: u16) -> (u16, u16, String, usize) {
        let config = divide(config, cores, true);
        (config.engines, config.workers, config.policy.to_string(), config.threads().number())
    }

    #[test]
    fn a_number_or_auto_and_nothing_else() {
        assert_eq!(("auto".parse(), "3".parse()), (Ok(Workers::Auto), Ok(Workers::Number(3))));
        assert!("many".parse::<Workers>().is_err());
        assert_eq!((Workers::Auto.to_string(), Workers::Number(3).to_string()), ("auto".to_owned(), "3".to_owned()));
    }

    #[test]
    fn every_core_has_one_thread_whatever_is_asked_for_besides() {
        let config = || ServerConfig::default().service_mean(Span::from_us(1));
        let of = |engines, workers, policy: &str, threads| (engines, workers, policy.to_owned(), threads);
        assert_eq!(divided(config(), 1), of(1, 1, "jbsq:2", 1));
        assert_eq!(divided(config(), 2), of(2, 2, "jbsq:2", 2));
        assert_eq!(divided(config(), 4), of(1, 3, "jbsq:2", 4));
        assert_eq!(divided(config(), 16), of(1, 14, "altocumulus:2", 16));
        assert_eq!(divided(config().inline(true), 4), of(4, 4, "jbsq:2", 4));
        assert_eq!(divided(config().inline(false), 4), of(1, 3, "jbsq:2", 4));
        assert_eq!(divided(config().engines(2), 8), of(2, 6, "jbsq:2", 8));
        assert_eq!(divided(config().policy("mcs-lock".parse::<Policy>().unwrap()), 4), of(1, 4, "mcs-lock", 4));
        assert_eq!(divided(config().policy("darc".parse::<Policy>().unwrap()), 16), of(1, 15, "darc", 16));
        let without = divide(config(), 16, false);
        assert_eq!((without.engines, without.workers, without.policy), (1, 15, Policy::default()));
        // Over one interface, also where each core could be an engine.
        for config in [config(), config().inline(true)] {
            let one = divide(config, 2, false);
            assert_eq!((one.engines, one.workers, one.threads().number()), (1, 1, 1));
        }
    }

    #[test]
    fn an_engine_with_too_many_workers_is_named() {
        let advised = |workers, service| advice(&ServerConfig::default().workers(workers).service_mean(service));
        assert_eq!(advised(3, Span::from_us(1)), None);
        assert_eq!(advised(15, Span::from_us(10)), None);
        let line = advised(15, Span::from_us(1)).unwrap();
        assert!(line.contains("15 workers") && line.contains("on 16 cores 2 engines"), "{line}");
    }
}
