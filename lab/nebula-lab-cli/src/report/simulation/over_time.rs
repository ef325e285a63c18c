//! The p99 over the period of a load that changes.

use nebula_sim::study::{Found, OverTime};

use super::super::chart::latency_axis;
use super::super::chart::{Axis, Bound, Chart, Dot, Line, Stroke, Unit, look, sample, ticks_between};
use super::super::log_us;
use super::super::page::Figure;
use nebula_sim::study::text::{time, with_half};

/// A line for each policy, without dots where the p99 is infinite or nothing was sent.
pub(super) fn figure(found: &[Found]) -> Figure {
    let of_each: Vec<_> = found.iter().filter_map(|one| Some((one, one.over_time.as_ref()?))).collect();
    let line = |(index, (_, over)): (usize, &(&Found, &OverTime))| {
        let shown = over.slots.iter().filter(|slot| slot.p99.value > 0.0 && slot.p99.value.is_finite());
        let dots = shown.map(|slot| Dot::at(slot.at, log_us(slot.p99.value))).collect();
        Line { color: look(index).0, marker: None, stroke: Stroke::Solid, dots }
    };
    let lines: Vec<Line> = of_each.iter().enumerate().map(line).collect();
    let slo = found.first().map_or(0.0, |one| one.point.slo.as_ns_f64());
    let heights = lines.iter().flat_map(|line| &line.dots).map(|dot| dot.y).chain([log_us(slo)]);
    let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
    let last = of_each.iter().flat_map(|(_, over)| over.slots.last()).map(|slot| slot.at).fold(1.0, f64::max);
    let words = |(one, over): &(&Found, &OverTime)| {
        let recovery = match over.recovery.value.is_finite() {
            true => over.recovery_in_words(),
            false => "not before the next".to_owned(),
        };
        format!("{}: at most {}, recovered after {recovery}", one.point.name, with_half(over.peak_p99, time))
    };
    let chart = Chart {
        title: "Tail latency over the period".to_owned(),
        description: of_each.iter().map(words).collect::<Vec<_>>().join("; "),
        x: Axis {
            label: "time within the period".to_owned(),
            from: 0.0,
            to: last,
            unit: Unit::Time,
            ticks: ticks_between(0.0, last, time),
        },
        y: latency_axis(low, high.max(low + 0.1)),
        lines,
        bound: Some(Bound { y: log_us(slo), label: format!("SLO {}", time(slo)) }),
    };
    let legend = of_each
        .iter()
        .enumerate()
        .map(|(index, pair)| (sample(look(index).0, None, Stroke::Solid, false), words(pair)));
    let caption = "p99 of the RPCs that were sent in each hundredth of the period, over all periods and replications.";
    Figure { chart, legend: legend.collect(), caption: caption.to_owned() }
}
