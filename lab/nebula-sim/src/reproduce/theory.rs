//! One queue or many? RPCValet's model: Q queues of U cores, and a random queue for each RPC.

use super::lab::{Effort, Lab};
use super::paper::{self, Law, Theory, Use};
use super::picture::{Curve, Measure, Picture, Point};
use super::reproduction::{ReproduceError, Reproduction};
use super::row::{Judgment, Row};
use super::wording;
use crate::executor::try_each;
use crate::interval::Interval;
use crate::load::Load;
use crate::search::Bracket;
use crate::system::System;
use nebula_nic::Policy;

pub(super) fn reproduce(lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
    let theory = &paper::rpcvalet().setup.theory;
    let cases: Vec<(&Law, u16)> =
        theory.laws.iter().flat_map(|law| queues(lab, theory).map(move |queues| (law, queues))).collect();
    lab.expect(cases.len(), replications(lab) * 3);
    let found: Vec<Found<'_>> = try_each(&cases, |&(law, queues)| measure(lab, theory, law, queues))?;
    let pairs = pairs(theory, &found);
    let mut rows = judged(&pairs);
    rows.extend(found.iter().flat_map(|found| notes(theory, found)));
    Ok(Reproduction { rows, pictures: vec![picture(theory, &found)] })
}

/// Quick runs use the smallest and the largest number, which all published values are about.
fn queues(lab: &Lab<'_>, theory: &Theory) -> impl Iterator<Item = u16> {
    let (hurried, ends) = (lab.effort == Effort::Quick, [1, theory.cores]);
    theory.queues.iter().copied().filter(move |queues| !hurried || ends.contains(queues))
}

/// The results of a law with a number of queues; tails are in mean service times.
struct Found<'a> {
    law: &'a Law,
    queues: u16,
    cores: u16,
    load: Vec<f64>,
    medium: Vec<f64>,
    high: Vec<f64>,
}

fn measure<'a>(lab: &Lab<'_>, theory: &Theory, law: &'a Law, queues: u16) -> Result<Found<'a>, ReproduceError> {
    let cores = theory.cores / queues;
    let system = System::new(Policy::SingleQueue, cores).servers(queues);
    let load = Load::open(law.service.clone(), theory.medium_load);
    let runs = lab.runs(lab.effort.of([80_000, 100_000, 200_000]), replications(lab));
    let search = lab.load_at_slo(&system, &load, load.slo(theory.slo_services), BRACKET, &runs)?;
    let tail = |at: f64| -> Result<Vec<f64>, ReproduceError> {
        let estimate = lab.estimate(&system, &load.clone().at(at), &runs)?;
        Ok(estimate.p99_ps.iter().map(|p99_ps| p99_ps / law.service.mean_ps()).collect())
    };
    let (medium, high) = (tail(theory.medium_load)?, tail(theory.high_load)?);
    Ok(Found { law, queues, cores, load: search.loads, medium, high })
}

fn replications(lab: &Lab<'_>) -> u32 {
    lab.effort.of([4, 6, 10])
}

/// The lowest load is near zero: heavy-tailed service keeps the SLO only at very low loads.
const BRACKET: Bracket = Bracket { lowest: 0.01, highest: 1.0 - WIDTH / 2.0, width: WIDTH };
const WIDTH: f64 = 0.002;

struct Pair<'a> {
    law: &'a Law,
    one: &'a Found<'a>,
    many: &'a Found<'a>,
}

fn pairs<'a>(theory: &'a Theory, found: &'a [Found<'a>]) -> Vec<Pair<'a>> {
    let with = |law: &Law, queues| {
        let found = found.iter().find(|found| found.law.id == law.id && found.queues == queues);
        found.expect("the setup has both ends")
    };
    theory.laws.iter().map(|law| Pair { law, one: with(law, 1), many: with(law, theory.cores) }).collect()
}

impl Pair<'_> {
    /// Load at the SLO, one queue over many: by replication, since both have the same arrivals.
    fn gain(&self) -> Interval {
        over(&self.one.load, &self.many.load)
    }

    /// Tail of many queues over that of one, at medium load.
    fn tail(&self) -> Interval {
        over(&self.many.medium, &self.one.medium)
    }
}

fn over(numerators: &[f64], denominators: &[f64]) -> Interval {
    Interval::of(&numerators.iter().zip(denominators).map(|(above, below)| above / below).collect::<Vec<_>>())
        .not_negative()
}

fn judged(pairs: &[Pair<'_>]) -> Vec<Row> {
    let emulated = used_in(pairs, Use::Emulation);
    let plain = used_in(pairs, Use::Theory);
    let (gains, tails) = (by_law(&emulated, Pair::gain), by_law(&emulated, Pair::tail));
    let percents = by_law(&plain, |pair| percent(pair.gain()));
    let row = |name: &str, ours, said: &str, figures: &[ByLaw<'_>]| {
        let list = figures.iter().map(|(id, figure)| format!("{id} {}", wording::with_interval(*figure)));
        let why = format!("{said}: {}", list.collect::<Vec<_>>().join(", "));
        let figure = paper::rpcvalet().figure(&format!("rpcvalet/theory/{name}"));
        Row::judged(figure, ours, (Judgment::Differs, why))
    };
    vec![
        row("gain", most(&gains), "without the NIC's overheads the gain is, by service", &gains),
        row("tail", most(&tails), "the ratio of the tails at this load is, by service", &tails),
        row("gain_least", least(&percents), "the gain in percent is, by service", &percents),
        row("gain_most", most(&percents), "the gain in percent is, by service", &percents),
    ]
}

fn used_in<'a>(pairs: &'a [Pair<'a>], what: Use) -> Vec<&'a Pair<'a>> {
    pairs.iter().filter(|pair| pair.law.used_in.contains(&what)).collect()
}

type ByLaw<'a> = (&'a str, Interval);

fn by_law<'a>(pairs: &[&Pair<'a>], of: impl Fn(&Pair<'a>) -> Interval) -> Vec<ByLaw<'a>> {
    pairs.iter().map(|pair| (pair.law.id.as_str(), of(pair))).collect()
}

fn percent(ratio: Interval) -> Interval {
    let percent = ratio.scaled(100.0);
    Interval { value: percent.value - 100.0, lo: percent.lo - 100.0, hi: percent.hi - 100.0 }
}

fn most(figures: &[ByLaw<'_>]) -> Interval {
    extreme(figures, |left, right| left > right)
}

fn least(figures: &[ByLaw<'_>]) -> Interval {
    extreme(figures, |left, right| left < right)
}

fn extreme(figures: &[ByLaw<'_>], wins: impl Fn(f64, f64) -> bool) -> Interval {
    let figures = figures.iter().map(|&(_, figure)| figure);
    figures.reduce(|best, next| if wins(next.value, best.value) { next } else { best }).expect("there are laws")
}

fn notes(theory: &Theory, found: &Found<'_>) -> [Row; 3] {
    let Found { law, queues, cores, .. } = found;
    let note = |what: &str, said: String, unit, figures: &[f64]| {
        let id = format!("rpcvalet/theory/{}/{queues}x{cores}/{what}", law.id);
        Row::note(id, format!("{said}, {queues}×{cores}, {}", law.service), unit, Interval::of(figures).not_negative())
    };
    [
        note("load_at_slo", format!("highest load with a p99 of {} S", theory.slo_services), "load", &found.load),
        note("p99_medium", format!("p99 at load {}", theory.medium_load), "S", &found.medium),
        note("p99_high", format!("p99 at load {}", theory.high_load), "S", &found.high),
    ]
}

/// The highest load against the number of queues, a line per law. The paper publishes no numbers.
fn picture(theory: &Theory, found: &[Found<'_>]) -> Picture {
    let point = |found: &Found<'_>| Point { at: found.queues.into(), value: Interval::of(&found.load) };
    let curve = |law: &Law| Curve {
        // With spaces, so that a narrow page can break the line.
        name: format!("{} ({})", law.id, law.service.to_string().replace(',', ", ").replace('+', " + ")),
        points: found.iter().filter(|found| found.law.id == law.id).map(point).collect(),
        published: Vec::new(),
    };
    Picture {
        title: format!("Highest load with a p99 of {} service times", theory.slo_services),
        x: Measure::Queues(theory.cores),
        y: Measure::Load,
        slo: None,
        curves: theory.laws.iter().map(curve).collect(),
    }
}
