//! The results of a sweep: designs, the loads offered to each, and whether they met the SLO.
//!
//! Every tail has two readings. *Raw* counts all RPCs. *Gaps excluded* leaves out the RPCs that met a pause of the machine. In both, an
//! RPC without a reply has infinite latency, so that NACKs cannot make a load meet the SLO.

use nebula_nic::Span;
use nebula_workload::{GapSummary, Latency, LatencyRecorder};

use crate::drive::LoadOutcome;
use nebula_ui::output::{Row, units};

/// Designs measured one after the other, on the same machine and under the same loads.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    pub(crate) slo: Span,
    /// The machine, and how its cores were assigned.
    pub(crate) machine: String,
    /// The stored data and the requests.
    pub(crate) workload: String,
    /// The pauses of the machine without load, measured by a loop that only reads the clock.
    pub(crate) hiccups: GapSummary,
    pub(crate) designs: Vec<Design>,
    /// The same service simulated on more cores.
    pub(crate) laboratory: Option<Laboratory>,
}

/// Simulated servers of the service that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Laboratory {
    /// The input of the simulation, in one sentence.
    pub(crate) caption: String,
    pub(crate) rows: Vec<Row>,
}

/// One queueing design.
#[derive(Clone, Debug)]
pub(crate) struct Design {
    /// The name in the table.
    pub(crate) name: String,
    /// How it differs from the others.
    pub(crate) what: String,
    /// The size of its receive buffer.
    pub(crate) buffer_bytes: u64,
    /// In the order in which they were offered.
    pub(crate) points: Vec<Point>,
}

/// One load offered to one design.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Scheduled RPCs per second.
    pub(crate) offered_rps: f64,
    /// Replies per second.
    pub(crate) served_rps: f64,
    /// The share of RPCs that were NACKed, in 0 to 1.
    pub(crate) nack_share: f64,
    /// The share of RPCs without any reply, in 0 to 1.
    pub(crate) unanswered_share: f64,
    /// All RPCs.
    pub(crate) raw: Tail,
    /// RPCs that met no gap; `None` if the share left is below [`KEPT_MIN`].
    pub(crate) gaps_excluded: Option<Tail>,
    /// The share of RPCs that met no gap, in 0 to 1.
    pub(crate) share_kept: Option<f64>,
    /// The share of the clients' time that pauses of their cores took, in 0 to 1.
    pub(crate) share_lost: f64,
    /// The load generator was late, so the tail may be its own.
    pub(crate) sender_was_late: bool,
}

/// The smallest share of kept RPCs for which a tail with gaps excluded is reported. A slow RPC is more likely to meet a gap, so a smaller
/// share would be biased toward fast RPCs.
pub(crate) const KEPT_MIN: f64 = 0.5;

/// The figures of one reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tail {
    /// Of all RPCs.
    pub(crate) p50: Latency,
    /// Of all RPCs: the figure that the SLO bounds.
    pub(crate) p99: Latency,
    /// Of the RPCs that were answered.
    pub(crate) p99_answered: Option<Span>,
}

/// Which of the two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    Raw,
    GapsExcluded,
}

impl Tail {
    fn of(recorder: &LatencyRecorder) -> Option<Self> {
        let answered = recorder.count() - recorder.infinite();
        let among_all = 0.99 * answered as f64 / recorder.count().max(1) as f64;
        Some(Self {
            p50: recorder.quantile(0.5)?,
            p99: recorder.quantile(0.99)?,
            p99_answered: if answered > 0 { recorder.quantile(among_all).and_then(Latency::finite) } else { None },
        })
    }
}

impl Point {
    /// The figures of a measured load.
    pub(crate) fn of(outcome: &LoadOutcome) -> Self {
        const NOTHING: Tail = Tail { p50: Latency::Infinite, p99: Latency::Infinite, p99_answered: None };
        let report = &outcome.report;
        let share = |part: u64| part as f64 / report.counts.offered.max(1) as f64;
        let share_kept = report.latency.share_kept();
        let enough = share_kept.filter(|&kept| kept >= KEPT_MIN);
        Self {
            offered_rps: report.rate_rps,
            served_rps: report.achieved_rps(),
            nack_share: share(report.counts.nacked),
            unanswered_share: share(report.counts.refused_by_client + report.counts.lost + report.counts.never_sent),
            raw: Tail::of(report.latency.raw()).unwrap_or(NOTHING),
            gaps_excluded: enough.and_then(|_| Tail::of(report.latency.gaps_excluded())),
            share_kept,
            share_lost: outcome.gaps.share_lost,
            sender_was_late: report.generator_was_late(),
        }
    }

    /// NACKed RPCs per second.
    pub(crate) fn nacked_rps(&self) -> f64 {
        self.offered_rps * self.nack_share
    }

    /// The figures of a reading.
    pub(crate) fn tail(&self, reading: Reading) -> Option<Tail> {
        match reading {
            Reading::Raw => Some(self.raw),
            Reading::GapsExcluded => self.gaps_excluded,
        }
    }

    /// Whether the p99 of all RPCs offered is within `slo`; `None` if the reading has too few RPCs.
    pub(crate) fn meets(&self, reading: Reading, slo: Span) -> Option<bool> {
        Some(self.tail(reading)?.p99 <= Latency::Finite(slo))
    }

    /// Heading and text of each column of the table, except the design's.
    pub(crate) fn shown(&self, slo: Span) -> Vec<(&'static str, String)> {
        let all =
            |tail: Option<Tail>, of: fn(&Tail) -> Latency| tail.as_ref().map_or("–".to_owned(), |t| latency(of(t)));
        let answered = self.raw.p99_answered.map_or("–".to_owned(), units::span);
        vec![
            ("offered", units::rate(self.offered_rps)),
            ("served", units::rate(self.served_rps)),
            ("NACKed", units::percent(self.nack_share)),
            ("p50\nraw", latency(self.raw.p50)),
            ("p99\nraw", latency(self.raw.p99)),
            ("p99 gaps\nexcluded", all(self.gaps_excluded, |tail| tail.p99)),
            ("kept", self.share_kept.map_or("–".to_owned(), units::percent)),
            ("p99 raw,\nanswered", answered),
            ("meets SLO\nraw", verdict(self.meets(Reading::Raw, slo))),
            ("meets SLO, gaps\nexcluded", verdict(self.meets(Reading::GapsExcluded, slo))),
        ]
    }
}

impl Design {
    /// The highest load offered that met `slo`.
    pub(crate) fn highest_met(&self, reading: Reading, slo: Span) -> Option<f64> {
        let met = self.points.iter().filter(|point| point.meets(reading, slo) == Some(true));
        met.map(|point| point.offered_rps).reduce(f64::max)
    }

    /// The highest load offered.
    pub(crate) fn hardest(&self) -> Option<&Point> {
        self.points.iter().max_by(|one, other| one.offered_rps.total_cmp(&other.offered_rps))
    }

    /// The highest load that met `slo`, as text.
    fn load_met(&self, reading: Reading, slo: Span) -> String {
        let highest = self.highest_met(reading, slo);
        highest.map_or("at no load".to_owned(), |rps| format!("up to {} RPC/s", units::rate(rps)))
    }

    /// The share of the clients' time that pauses of their cores took, over all loads, in 0 to 1.
    fn share_lost(&self) -> f64 {
        self.points.iter().map(|point| point.share_lost).sum::<f64>() / self.points.len().max(1) as f64
    }

    /// The result in one sentence.
    pub(crate) fn verdict(&self, slo: Span) -> String {
        let overload = self.hardest().map_or(String::new(), |point| format!("; {}", in_overload(point)));
        format!(
            "{} ({}, receive buffer {}) kept p99 within {} {} with gaps excluded and {} raw{overload}.",
            self.name,
            self.what,
            units::bytes(self.buffer_bytes),
            units::span(slo),
            self.load_met(Reading::GapsExcluded, slo),
            self.load_met(Reading::Raw, slo),
        )
    }
}

/// The outcome of the highest load.
fn in_overload(point: &Point) -> String {
    let answered =
        point.raw.p99_answered.map_or("no answer".to_owned(), |p99| format!("a raw p99 of {}", units::span(p99)));
    let refused = if point.nack_share > 0.0 {
        format!("{} NACKed at once", units::percent(point.nack_share))
    } else {
        "none NACKed".to_owned()
    };
    format!("at {} offered, {refused}, and the RPCs answered had {answered}", units::rate(point.offered_rps))
}

impl Sweep {
    /// A warning if other programs disturbed the measurement. Designs that were disturbed differently cannot be compared.
    pub(crate) fn disturbance(&self) -> Option<String> {
        let during = |design: &Design| (design.share_lost(), format!("while {} was measured", design.name));
        let before = (self.hiccups.share_lost, "before the service ran".to_owned());
        let phases: Vec<_> = self.designs.iter().map(during).chain([before]).collect();
        phases.iter().any(|phase| phase.0 > BUSY).then(|| {
            let told = phases.iter().map(|(share, when)| format!("{} of the time {when}", units::percent(*share)));
            format!(
                "Other programs used these cores: {}. They affect the figures as much as the designs do; run this again on an idle machine.",
                told.collect::<Vec<_>>().join(", ")
            )
        })
    }

    /// The results of all designs in one sentence.
    pub(crate) fn headline(&self) -> String {
        let each = |of: &dyn Fn(&Design) -> String| self.designs.iter().map(of).collect::<Vec<_>>().join(" and ");
        let Some(hardest) = self.designs.first().and_then(Design::hardest) else {
            return "Nothing was measured.".to_owned();
        };
        let held = |reading| match self.designs.iter().any(|design| design.highest_met(reading, self.slo).is_some()) {
            true => each(&|design| format!("{} for {}", design.load_met(reading, self.slo), design.name)),
            false => "at no load".to_owned(),
        };
        let answered = |design: &Design| design.hardest().and_then(|point| point.raw.p99_answered);
        format!(
            "The SLO of {} was met {} (raw: all RPCs), and {} (gaps excluded); at {} RPC/s offered, the RPCs answered had a \
             raw p99 of {}.",
            units::span(self.slo),
            held(Reading::Raw),
            held(Reading::GapsExcluded),
            units::rate(hardest.offered_rps),
            each(&|design| answered(design).map_or("∞".to_owned(), units::span)),
        )
    }
}

/// The share of lost core time above which a machine counts as disturbed: an idle virtual machine loses less.
const BUSY: f64 = 0.05;

/// The pauses of the machine in one sentence.
pub(crate) fn hiccups(gaps: &GapSummary) -> String {
    let per_second = gaps.per_second_above.first().map_or(0.0, |class| class.1);
    let typical = gaps.length_p50.map_or("none".to_owned(), units::span);
    format!(
        "a core paused {per_second:.0} times per second for 1 µs or more, {} of the time (median {typical}, longest {})",
        units::percent(gaps.share_lost),
        units::span(gaps.longest)
    )
}

/// A latency; ∞ for RPCs that were NACKed or got no reply.
fn latency(latency: Latency) -> String {
    latency.finite().map_or("∞".to_owned(), units::span)
}

fn verdict(is_met: Option<bool>) -> String {
    match is_met {
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
        None => "–".to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use nebula_nic::Timestamp;

    pub(in crate::report) fn point(offered_rps: f64, nack_share: f64, p99_us: u64) -> Point {
        let p99 = if nack_share > 0.01 { Latency::Infinite } else { Latency::Finite(Span::from_us(p99_us)) };
        let p99_answered = Some(Span::from_us(p99_us));
        let raw = Tail { p50: Latency::Finite(Span::from_ns(900)), p99, p99_answered };
        let excluded = Tail { p99_answered: Some(Span::from_us(p99_us / 2)), ..raw };
        Point {
            offered_rps,
            served_rps: offered_rps * (1.0 - nack_share),
            nack_share,
            unanswered_share: 0.0,
            raw,
            gaps_excluded: (p99_us < 1000).then_some(excluded),
            share_kept: Some(if p99_us < 1000 { 0.95 } else { 0.01 }),
            share_lost: 0.01,
            sender_was_late: false,
        }
    }

    pub(in crate::report) fn sweep() -> Sweep {
        let bounded = [(0.4e6, 0.0, 8), (1.0e6, 0.0, 14), (1.8e6, 0.0, 60), (2.4e6, 0.2, 85), (3.0e6, 0.35, 88)];
        let unbounded = [(0.4e6, 8), (1.0e6, 15), (1.8e6, 700), (2.4e6, 90_000), (3.0e6, 210_000)];
        let design = |name: &str, what: &str, buffer_bytes, points| Design {
            name: name.to_owned(),
            what: what.to_owned(),
            buffer_bytes,
            points,
        };
        Sweep {
            slo: Span::from_us(100),
            machine: "2 cores".to_owned(),
            workload: "1.6M pairs of 16 B/512 B".to_owned(),
            hiccups: nebula_workload::GapTally::new().summary(),
            designs: vec![
                design(
                    "jbsq:2",
                    "SLO-sized buffer",
                    82_000,
                    bounded.map(|(rps, nacked, p99)| point(rps, nacked, p99)).into(),
                ),
                design("unbounded", "no NACK", 64 << 20, unbounded.map(|(rps, p99)| point(rps, 0.0, p99)).into()),
            ],
            laboratory: Some(Laboratory {
                caption: "simulated".to_owned(),
                rows: vec![Row::new().shown("cores", "16").word("policy", "jbsq:2")],
            }),
        }
    }

    #[test]
    fn a_load_of_which_more_than_a_hundredth_is_nacked_does_not_meet_the_slo_however_fast_the_rest() {
        let mut recorder = LatencyRecorder::new();
        (0..980).for_each(|_| recorder.record(Timestamp::ZERO, Latency::Finite(Span::from_us(3))));
        (0..20).for_each(|_| recorder.record(Timestamp::ZERO, Latency::Infinite));
        let tail = Tail::of(&recorder).unwrap();
        assert_eq!((tail.p99, tail.p99_answered), (Latency::Infinite, Some(Span::from_us(3))));
        assert_eq!(tail.p50, Latency::Finite(Span::from_us(3)));
    }

    #[test]
    fn the_p99_of_the_answered_is_the_99th_of_a_hundred_answers() {
        let mut recorder = LatencyRecorder::new();
        (1..=100).for_each(|ns| recorder.record(Timestamp::ZERO, Latency::Finite(Span::from_ns(ns))));
        (0..300).for_each(|_| recorder.record(Timestamp::ZERO, Latency::Infinite));
        assert_eq!(Tail::of(&recorder).unwrap().p99_answered, Some(Span::from_ns(99)));
    }

    #[test]
    fn each_reading_has_its_own_highest_load_met() {
        let found = sweep();
        let highest = |design: usize, reading| found.designs[design].highest_met(reading, found.slo);
        assert_eq!(highest(0, Reading::Raw), Some(1.8e6));
        assert_eq!(highest(1, Reading::Raw), Some(1.0e6));
        let mut design = found.designs[1].clone();
        design.points[1].raw.p99 = Latency::Finite(Span::from_ms(2));
        assert_eq!(design.highest_met(Reading::Raw, found.slo), Some(0.4e6));
        assert_eq!(design.highest_met(Reading::GapsExcluded, found.slo), Some(1.0e6));
    }

    #[test]
    fn the_headline_is_one_sentence_with_both_readings_of_both_designs() {
        let mut found = sweep();
        found.designs[1].points[1].raw.p99 = Latency::Finite(Span::from_ms(2));
        assert_eq!(
            found.headline(),
            "The SLO of 100 µs was met up to 1.8M RPC/s for jbsq:2 and up to 400k RPC/s for unbounded (raw: all RPCs), and up to 1.8M RPC/s for \
             jbsq:2 and up to 1M RPC/s for unbounded (gaps excluded); at 3M RPC/s offered, the RPCs answered had a raw p99 of 88 µs and 210 ms."
        );
        found.designs.iter_mut().for_each(|design| design.points.drain(..4).for_each(drop));
        assert!(
            found.headline().contains("was met at no load (raw: all RPCs), and at no load (gaps"),
            "{}",
            found.headline()
        );
        assert_eq!(Sweep { designs: Vec::new(), ..found }.headline(), "Nothing was measured.");
    }

    #[test]
    fn figures_measured_beside_other_programs_say_when() {
        let mut found = sweep();
        assert_eq!(found.disturbance(), None, "a quiet virtual machine loses as much");
        found.designs[1].points.iter_mut().for_each(|point| point.share_lost = 0.5);
        let said = found.disturbance().unwrap();
        assert!(
            said.contains("1 % of the time while jbsq:2 was measured, 50 % of the time while unbounded was"),
            "{said}"
        );
        found.designs.clear();
        assert_eq!(found.disturbance(), None);
        found.hiccups.share_lost = 0.12;
        assert!(found.disturbance().unwrap().contains("cores: 12 % of the time before the service ran"));
    }

    #[test]
    fn the_verdict_says_loads_buffer_and_what_overload_did() {
        let found = sweep();
        let (bounded, unbounded) = (found.designs[0].verdict(found.slo), found.designs[1].verdict(found.slo));
        assert!(
            bounded.contains(
                "up to 1.8M RPC/s raw; at 3M offered, 35 % NACKed at once, and the RPCs answered had a raw p99 of 88 µs."
            ),
            "{bounded}"
        );
        assert!(unbounded.contains("receive buffer 64 MiB") && unbounded.contains("none NACKed"), "{unbounded}");
        let never = Design { points: Vec::new(), ..found.designs[0].clone() };
        assert!(never.verdict(found.slo).ends_with("at no load with gaps excluded and at no load raw."));
    }
}
