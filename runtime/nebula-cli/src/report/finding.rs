//! The results of a sweep: designs, the loads offered to each, and how much of each load was in
//! time.
//!
//! The verdict is *goodput*: the share of all offered RPCs that were answered within the SLO. An
//! RPC without a reply is not in time, so NACKs cannot make a load keep the SLO. Nothing is
//! excluded: pauses of the machine count as they do for users.

use nebula_nic::Span;
use nebula_workload::{Latency, LatencyRecorder};

use crate::drive::LoadOutcome;
use nebula_ui::output::units;

/// Designs measured one after the other, on the same machine and under the same loads.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    pub(crate) slo: Span,
    /// The SLO and its reason, in one sentence.
    pub(crate) promise: String,
    /// The use of the cores, in one sentence.
    pub(crate) machine: String,
    pub(crate) workload: String,
    /// In one sentence; `None` if all was measured.
    pub(crate) simulated: Option<String>,
    pub(crate) saturation_rps: f64,
    /// The share of time in which server and clients did not have their cores when the SLO was
    /// chosen.
    pub(crate) share_lost: f64,
    /// The bounded one first.
    pub(crate) designs: Vec<Design>,
}

#[derive(Clone, Debug)]
pub(crate) struct Design {
    pub(crate) name: String,
    pub(crate) what: String,
    /// Of its receive buffer.
    pub(crate) buffer_bytes: u64,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// As a share of saturation.
    pub(crate) load: f64,
    pub(crate) offered_rps: f64,
    pub(crate) served_rps: f64,
    /// The share of RPCs that were answered within the SLO, in 0 to 1.
    pub(crate) goodput: f64,
    /// The share of RPCs that the load generator sent in time and the server NACKed.
    pub(crate) nack_share: f64,
    /// The share of RPCs that were NACKed in a burst that followed a delay of the load generator.
    pub(crate) nacked_late_share: f64,
    /// The share of RPCs that the load generator itself sent late, whatever their outcome.
    pub(crate) generator_late: f64,
    /// The share of unsent RPCs: the client had no room for longer than the SLO.
    pub(crate) client_full_share: f64,
    /// The share of RPCs without any reply, including unsent ones.
    pub(crate) unanswered_share: f64,
    pub(crate) raw: Tail,
    /// Of the RPCs that met no pause; `None` if their share is below [`KEPT_MIN`].
    pub(crate) p99_gaps_excluded: Option<Latency>,
    /// The share of RPCs that met no pause, in 0 to 1.
    pub(crate) share_kept: Option<f64>,
    /// The share of the clients' time that pauses of their cores took, in 0 to 1.
    pub(crate) share_lost: f64,
}

/// The smallest share of kept RPCs for which a tail with gaps excluded is reported. A slow RPC is
/// more likely to meet a gap, so a smaller share would be biased toward fast RPCs.
const KEPT_MIN: f64 = 0.5;
/// With this goodput the p99 is within the SLO.
const KEPT_FROM: f64 = 0.99;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tail {
    /// Of all RPCs.
    pub(crate) p50: Latency,
    /// Of all RPCs: the figure that the SLO bounds.
    pub(crate) p99: Latency,
    pub(crate) p99_answered: Option<Span>,
    /// The share of the answered RPCs that were answered within the SLO.
    pub(crate) answered_in_time: Option<f64>,
}

impl Tail {
    fn of(recorder: &LatencyRecorder, slo: Span) -> Option<Self> {
        let answered = recorder.count() - recorder.infinite();
        let in_time = goodput(recorder, slo) * recorder.count() as f64;
        Some(Self {
            p50: recorder.quantile(0.5)?,
            p99: recorder.quantile(0.99)?,
            p99_answered: p99_answered(recorder),
            answered_in_time: (answered > 0).then(|| in_time / answered as f64),
        })
    }
}

pub(crate) fn p99_answered(recorder: &LatencyRecorder) -> Option<Span> {
    let answered = recorder.count() - recorder.infinite();
    let among_all = 0.99 * answered as f64 / recorder.count().max(1) as f64;
    if answered > 0 { recorder.quantile(among_all).and_then(Latency::finite) } else { None }
}

/// The share of all RPCs that were answered within `slo`; 0 of no RPCs.
fn goodput(recorder: &LatencyRecorder, slo: Span) -> f64 {
    if recorder.count() == 0 { 0.0 } else { 1.0 - recorder.share_above(slo) }
}

impl Point {
    pub(crate) fn of(outcome: &LoadOutcome, load: f64, slo: Span) -> Self {
        const NOTHING: Tail =
            Tail { p50: Latency::Infinite, p99: Latency::Infinite, p99_answered: None, answered_in_time: None };
        let (report, raw) = (&outcome.report, outcome.report.latency.raw());
        let counts = &report.counts;
        let share = |part: u64| part as f64 / counts.offered.max(1) as f64;
        let share_kept = report.latency.share_kept();
        let enough = share_kept.filter(|&kept| kept >= KEPT_MIN);
        Self {
            load,
            offered_rps: report.rate_rps,
            served_rps: report.achieved_rps(),
            goodput: goodput(raw, slo),
            nack_share: share(counts.nacked - counts.nacked_late),
            nacked_late_share: share(counts.nacked_late),
            generator_late: report.share_later_than(report.late_after),
            client_full_share: share(counts.refused_by_client),
            unanswered_share: share(counts.refused_by_client + counts.lost + counts.never_sent),
            raw: Tail::of(raw, slo).unwrap_or(NOTHING),
            p99_gaps_excluded: enough.and_then(|_| report.latency.gaps_excluded().quantile(0.99)),
            share_kept,
            share_lost: outcome.gaps.share_lost,
        }
    }

    /// Whether at least 99 % of all offered RPCs were answered within the SLO.
    pub(crate) fn keeps(&self) -> bool {
        self.goodput >= KEPT_FROM
    }

    pub(crate) fn shown(&self) -> Vec<(&'static str, String)> {
        vec![
            ("load", format!("{}", self.load)),
            ("offered\nRPC/s", units::rate(self.offered_rps)),
            ("served\nRPC/s", units::rate(self.served_rps)),
            ("NACKed", units::percent(self.nack_share)),
            ("sent\nlate", units::percent(self.generator_late)),
            ("p50", latency(self.raw.p50)),
            ("p99 of\nanswers", self.raw.p99_answered.map_or("–".to_owned(), units::span)),
            ("goodput", units::percent(self.goodput)),
            ("kept", if self.keeps() { "yes" } else { "no" }.to_owned()),
        ]
    }
}

impl Design {
    pub(crate) fn hardest(&self) -> Option<&Point> {
        self.points.iter().max_by(|one, other| one.load.total_cmp(&other.load))
    }

    fn loads_kept(&self) -> String {
        let kept = self.points.iter().filter(|point| point.keeps()).map(|point| point.load.to_string());
        match &kept.collect::<Vec<_>>()[..] {
            [] => "at no load".to_owned(),
            [one] => format!("at {one} of saturation"),
            [first @ .., last] => format!("at {} and {last} of saturation", first.join(", ")),
        }
    }

    /// As [`Point::share_lost`], over all loads.
    fn share_lost(&self) -> f64 {
        self.points.iter().map(|point| point.share_lost).sum::<f64>() / self.points.len().max(1) as f64
    }

    pub(crate) fn verdict(&self, slo: Span) -> String {
        format!(
            "{} ({}, receive buffer {}) answered at least 99 % of all RPCs within {} {}.",
            self.name,
            self.what,
            units::bytes(self.buffer_bytes),
            units::span(slo),
            self.loads_kept(),
        )
    }
}

impl Sweep {
    /// A warning if other programs took more of the cores than when the SLO was chosen.
    pub(crate) fn disturbance(&self) -> Option<String> {
        let worse = |design: &&Design| design.share_lost() > self.share_lost + WORSE;
        let disturbed = self.designs.iter().filter(worse);
        let said = disturbed
            .map(|design| {
                format!("{} of the time while {} was measured", units::percent(design.share_lost()), design.name)
            })
            .collect::<Vec<_>>();
        (!said.is_empty()).then(|| {
            format!(
                "Other programs took more of the clients' cores than when the SLO was chosen ({} of the time): {}.",
                units::percent(self.share_lost),
                said.join(", "),
            )
        })
    }

    /// The effect of the bound under overload, in one sentence.
    pub(crate) fn headline(&self) -> String {
        let hardest = |index: usize| self.designs.get(index).and_then(Design::hardest);
        let (Some(bounded), Some(unbounded)) = (hardest(0), hardest(1)) else {
            return "Nothing was measured.".to_owned();
        };
        let (with, without) = (bounded.goodput, unbounded.goodput);
        let of_accepted = bounded
            .raw
            .answered_in_time
            .map_or(String::new(), |share| format!(" ({} of those that it accepted)", units::percent(share)));
        let p99 =
            unbounded.raw.p99_answered.map_or(String::new(), |p99| format!(" with a p99 of {}", units::span(p99)));
        let ratio = if without > NEARLY_NOTHING && with > without {
            format!(": {} times as many with it", times(with / without))
        } else {
            String::new()
        };
        format!(
            "{} {} × what it can do, the server with the bound answered {} of all RPCs within {}{of_accepted}; \
             without the bound it answered {} in time{p99}{ratio}.",
            if self.simulated.is_some() { "In simulated time, offered" } else { "Offered" },
            bounded.load,
            units::percent(with),
            units::span(self.slo),
            if without > NEARLY_NOTHING { units::percent(without) } else { "nothing".to_owned() },
        )
    }
}

/// Other programs may take this much more of the time than before without a warning.
const WORSE: f64 = 0.1;
/// No ratio is given to a smaller goodput.
const NEARLY_NOTHING: f64 = 0.001;

fn times(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1}") } else { format!("{ratio:.0}") }
}

/// ∞ for RPCs that were NACKed or got no reply.
fn latency(latency: Latency) -> String {
    latency.finite().map_or("∞".to_owned(), units::span)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use nebula_nic::Timestamp;

    pub(in crate::report) fn point(load: f64, nack_share: f64, p99_us: u64) -> Point {
        let is_late = p99_us > 100;
        let goodput = if is_late { 0.0 } else { 1.0 - nack_share };
        let p99 = if nack_share > 0.01 { Latency::Infinite } else { Latency::Finite(Span::from_us(p99_us)) };
        let answered_in_time = Some(if is_late { 0.0 } else { 1.0 });
        let p99_answered = Some(Span::from_us(p99_us));
        Point {
            load,
            offered_rps: load * 2e6,
            served_rps: load * 2e6 * (1.0 - nack_share),
            goodput,
            nack_share,
            nacked_late_share: 0.0,
            generator_late: 0.0,
            client_full_share: 0.0,
            unanswered_share: 0.0,
            raw: Tail { p50: Latency::Finite(Span::from_ns(900)), p99, p99_answered, answered_in_time },
            p99_gaps_excluded: None,
            share_kept: Some(0.95),
            share_lost: 0.01,
        }
    }

    pub(in crate::report) fn sweep() -> Sweep {
        let bounded = [(0.3, 0.0, 8), (0.7, 0.0, 14), (1.0, 0.05, 85), (1.5, 0.35, 88)];
        let unbounded = [(0.3, 8), (0.7, 15), (1.0, 90_000), (1.5, 210_000)];
        let design = |name: &str, what: &str, buffer_bytes, points| Design {
            name: name.to_owned(),
            what: what.to_owned(),
            buffer_bytes,
            points,
        };
        Sweep {
            slo: Span::from_us(100),
            promise: "The SLO is 100 µs.".to_owned(),
            machine: "2 cores.".to_owned(),
            workload: "1.6M pairs of 16 B/512 B".to_owned(),
            simulated: None,
            saturation_rps: 2e6,
            share_lost: 0.01,
            designs: vec![
                design(
                    "jbsq:2",
                    "SLO-sized buffer",
                    82_000,
                    bounded.map(|(load, nacked, p99)| point(load, nacked, p99)).into(),
                ),
                design("unbounded", "no NACK", 64 << 20, unbounded.map(|(load, p99)| point(load, 0.0, p99)).into()),
            ],
        }
    }

    fn recorder(finite: u64, infinite: u64) -> LatencyRecorder {
        let mut recorder = LatencyRecorder::new();
        (0..finite).for_each(|_| recorder.record(Timestamp::ZERO, Latency::Finite(Span::from_us(3))));
        (0..infinite).for_each(|_| recorder.record(Timestamp::ZERO, Latency::Infinite));
        recorder
    }

    #[test]
    fn goodput_is_of_all_rpcs_and_only_answers_in_time_count() {
        let slo = Span::from_us(10);
        let mut some_late = recorder(900, 50);
        (0..50).for_each(|_| some_late.record(Timestamp::ZERO, Latency::Finite(Span::from_us(30))));
        assert!((goodput(&some_late, slo) - 0.9).abs() < 1e-9);
        let tail = Tail::of(&some_late, slo).unwrap();
        assert!((tail.answered_in_time.unwrap() - 900.0 / 950.0).abs() < 1e-9);
        assert_eq!(goodput(&recorder(0, 0), slo).to_bits(), 0.0_f64.to_bits());
        assert!(Tail::of(&recorder(0, 0), slo).is_none());
    }

    #[test]
    fn a_load_of_which_more_than_a_hundredth_is_nacked_does_not_keep_the_slo_however_fast_the_rest() {
        let keeps = |finite, infinite| {
            let goodput = goodput(&recorder(finite, infinite), Span::from_us(10));
            Point { goodput, ..point(0.7, 0.0, 8) }.keeps()
        };
        assert!(keeps(990, 10) && !keeps(989, 11));
        let tail = Tail::of(&recorder(980, 20), Span::from_us(10)).unwrap();
        assert_eq!((tail.p99, tail.p99_answered), (Latency::Infinite, Some(Span::from_us(3))));
    }

    #[test]
    fn the_p99_of_the_answered_is_the_99th_of_a_hundred_answers() {
        let mut recorder = LatencyRecorder::new();
        (1..=100).for_each(|ns| recorder.record(Timestamp::ZERO, Latency::Finite(Span::from_ns(ns))));
        (0..300).for_each(|_| recorder.record(Timestamp::ZERO, Latency::Infinite));
        assert_eq!(Tail::of(&recorder, Span::from_us(1)).unwrap().p99_answered, Some(Span::from_ns(99)));
    }

    #[test]
    fn the_headline_is_one_sentence_with_the_goodput_of_both_designs() {
        let mut found = sweep();
        let with = "Offered 1.5 × what it can do, the server with the bound answered 65 % of all RPCs within 100 µs \
                    (100 % of those that it accepted); without the bound it answered ";
        assert_eq!(found.headline(), format!("{with}nothing in time with a p99 of 210 ms."));
        found.designs[1].points[3].goodput = 0.02;
        assert_eq!(found.headline(), format!("{with}2 % in time with a p99 of 210 ms: 32 times as many with it."));
        found.simulated = Some("simulated".to_owned());
        assert!(found.headline().starts_with("In simulated time, offered 1.5 ×"), "{}", found.headline());
        assert_eq!(Sweep { designs: Vec::new(), ..found }.headline(), "Nothing was measured.");
    }

    #[test]
    fn the_verdict_says_at_which_loads_the_slo_was_kept() {
        let found = sweep();
        let (bounded, unbounded) = (found.designs[0].verdict(found.slo), found.designs[1].verdict(found.slo));
        assert!(
            bounded.ends_with("at least 99 % of all RPCs within 100 µs at 0.3 and 0.7 of saturation."),
            "{bounded}"
        );
        assert!(unbounded.contains("receive buffer 64 MiB"), "{unbounded}");
        let never = Design { points: Vec::new(), ..found.designs[0].clone() };
        assert!(never.verdict(found.slo).ends_with("at no load."));
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let widest = |heading: &str, text: &str| heading.lines().chain([text]).map(|line| line.chars().count()).max();
        let columns = point(0.3, 0.0, 8).shown();
        let widths = columns.iter().map(|(heading, text)| widest(heading, text).unwrap_or(0).max(7) + 2);
        assert!(widths.sum::<usize>() + "jbsq:2 with NACK".len() <= 100);
    }

    #[test]
    fn cores_that_others_take_after_the_slo_was_chosen_are_warned_of() {
        let mut found = sweep();
        assert_eq!(found.disturbance(), None);
        found.designs[1].points.iter_mut().for_each(|point| point.share_lost = 0.5);
        let said = found.disturbance().unwrap();
        assert!(said.ends_with("(1 % of the time): 50 % of the time while unbounded was measured."), "{said}");
        found.share_lost = 0.45;
        assert_eq!(found.disturbance(), None, "it was as bad when the SLO was chosen");
    }
}
