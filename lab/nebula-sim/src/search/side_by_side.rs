//! The search of several replications at a time, with runs in [`lanes`]; each bisects separately.
//!
//! The loads equal those of [`bisect`](super::bisect): a lane says whether a run's p99 is within
//! the SLO, all that a bisection asks. Only the run at the load found is made in full.

use super::bracket::Bracket;
use super::objective::Objective;
use crate::error::SimError;
use crate::experiment::effort::Effort;
use crate::load::Load;
use crate::recursion::lanes::lane::Lane;
use crate::recursion::lanes::{self};
use crate::system::System;
use crate::tally::Tally;
use crate::tally::distribution::Distribution;
use crate::world::run;
use nebula_nic::Span;
use nebula_workload::Seed;

pub(super) struct SideBySide<'a> {
    system: &'a System,
    load: &'a Load,
    slo: Span,
    bracket: Bracket,
    effort: &'a Effort,
}

impl<'a> SideBySide<'a> {
    /// `None` if lanes cannot hold the runs, or the objective is not a p99.
    pub(super) fn of(
        system: &'a System,
        load: &'a Load,
        objective: Objective,
        bracket: Bracket,
        effort: &'a Effort,
    ) -> Option<Self> {
        let Objective::P99(slo) = objective else { return None };
        let search = Self { system, load, slo, bracket, effort };
        let ends = [bracket.lowest, bracket.highest].map(|at| search.lane(at, effort.seed));
        lanes::hold(system, load, &ends).then_some(search)
    }

    fn lane(&self, load: f64, seed: Seed) -> Lane {
        Lane { load, length: self.effort.length(self.system, &self.load.clone().at(load)), seed }
    }

    /// The highest load that meets the SLO, with its results, for each of at most `LANES` seeds.
    pub(super) fn bisect(&self, seeds: &[Seed]) -> Result<Vec<(f64, Tally)>, SimError> {
        let Bracket { lowest, highest, width } = self.bracket;
        let ends = |load| seeds.iter().map(|&seed| self.lane(load, seed)).collect::<Vec<Lane>>();
        if let Some(missed) = self.meet(&ends(lowest))?.iter().position(|&meets| !meets) {
            let tally = self.results(lowest, seeds[missed])?;
            return Err(Objective::P99(self.slo).missed(Some(&tally)));
        }
        // The highest load that each meets, and the lowest that it misses.
        let at_highest = self.meet(&ends(highest))?;
        let mut ranges: Vec<[f64; 2]> =
            at_highest.into_iter().map(|meets| if meets { [highest; 2] } else { [lowest, highest] }).collect();
        loop {
            let open: Vec<usize> = (0..seeds.len()).filter(|&seed| ranges[seed][1] - ranges[seed][0] > width).collect();
            if open.is_empty() {
                break;
            }
            let middle = |&seed: &usize| (ranges[seed][0] + ranges[seed][1]) / 2.0;
            let lanes: Vec<Lane> = open.iter().map(|seed| self.lane(middle(seed), seeds[*seed])).collect();
            for ((seed, lane), meets) in open.into_iter().zip(&lanes).zip(self.meet(&lanes)?) {
                ranges[seed][usize::from(!meets)] = lane.load;
            }
        }
        ranges.iter().zip(seeds).map(|(&[met, _], &seed)| Ok((met, self.results(met, seed)?))).collect()
    }

    fn meet(&self, lanes: &[Lane]) -> Result<Vec<bool>, SimError> {
        let within = Span::from_ps(Distribution::highest_within(self.slo.as_ps()));
        let on_time = lanes::on_time(self.system, self.load, lanes, within)?;
        let is_met = |(on_time, lane): (u64, &Lane)| on_time >= Distribution::rank(0.99, lane.length.rpcs);
        Ok(on_time.into_iter().zip(lanes).map(is_met).collect())
    }

    fn results(&self, load: f64, seed: Seed) -> Result<Tally, SimError> {
        let Lane { length, .. } = self.lane(load, seed);
        run(self.system, &self.load.clone().at(load), length, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{bisect, load_at_slo};
    use nebula_nic::Policy;

    #[test]
    fn each_seed_finds_side_by_side_what_it_finds_alone() {
        let effort = Effort::default().rpcs(10_000).seed(Seed(5));
        let bracket = Bracket::default();
        for (service, times, cores) in
            [("fixed:1us", 4.0, 16), ("exp:1us", 10.0, 4), ("bimodal:500ns@0.9,5500ns@0.1", 10.0, 8)]
        {
            let (system, load) = (System::new(Policy::SingleQueue, cores), Load::open(service.parse().unwrap(), 0.5));
            let objective = Objective::P99(load.slo(times));
            let search = SideBySide::of(&system, &load, objective, bracket, &effort).expect("lanes hold it");
            let seeds: Vec<Seed> = (0..5).map(|index| effort.seed.replica(index)).collect();
            let alone = |&seed: &Seed| bisect(&system, &load, objective, bracket, &effort, seed).unwrap();
            let alone: Vec<(f64, Tally)> = seeds.iter().map(alone).collect();
            assert!(search.bisect(&seeds).unwrap() == alone, "{service}");
            assert!(alone.iter().all(|&(load, _)| load > 0.5 && load < 0.9995), "a search that has work to do");
        }
    }

    #[test]
    fn a_load_at_the_ends_of_the_bracket_is_found_or_refused_as_alone() {
        let (system, load) = (System::new(Policy::SingleQueue, 16), Load::open("exp:1us".parse().unwrap(), 0.5));
        let effort = Effort::default().rpcs(5_000).replications(9);
        let found = |times: f64| load_at_slo(&system, &load, load.slo(times), Bracket::default(), &effort, &|| ());
        let generous = found(1e4).unwrap();
        assert_eq!(generous.loads, [Bracket::default().highest; 9]);
        let (missed, first) = (found(3.0).unwrap_err(), effort.seed.replica(0));
        let alone = bisect(&system, &load, Objective::P99(load.slo(3.0)), Bracket::default(), &effort, first);
        assert_eq!(missed, alone.unwrap_err());
    }

    #[test]
    fn other_objectives_and_systems_are_searched_alone() {
        let (system, load) = (System::new(Policy::SingleQueue, 16), Load::open("exp:1us".parse().unwrap(), 0.5));
        let holds = |system: &System, objective| {
            SideBySide::of(system, &load, objective, Bracket::default(), &Effort::default()).is_some()
        };
        let p99 = Objective::P99(load.slo(10.0));
        assert!(holds(&system, p99) && !holds(&system, Objective::Slowdown(10.0)));
        assert!(!holds(&System::new(Policy::Rss, 16), p99) && !holds(&system.clone().queue_bound(100), p99));
    }
}
