//! Shared by the demos that compare a run with the laboratory's prediction: figures as intervals,
//! and whether two of them agree.

use nebula_nic::Span;
use nebula_sim::{Interval, Length, Load, System, Tally, run};
use nebula_workload::Seed;

use nebula_ui::output::Failure;

/// The interval of a figure is over this many parts of a run.
pub(crate) const PARTS: usize = 10;
pub(crate) fn part_of(at: Span, duration: Span) -> usize {
    let part = u128::from(at.as_ps()) * PARTS as u128 / u128::from(duration.as_ps().max(1));
    usize::try_from(part).unwrap_or(PARTS).min(PARTS - 1)
}

/// The 99th percentile, or zero of nothing. Sorts in part.
pub(crate) fn p99(spans: &mut [Span]) -> Span {
    let at = spans.len() * 99 / 100;
    if spans.is_empty() { Span::ZERO } else { *spans.select_nth_unstable(at).1 }
}

pub(crate) fn mean(spans: &[Span]) -> Span {
    Span::from_ps(spans.iter().map(|span| span.as_ps()).sum::<u64>() / spans.len().max(1) as u64)
}

/// Simulates as many RPCs as a run, or a part of it, had, several times. As many before them are
/// not counted: a long queue takes thousands of RPCs to build up.
pub(crate) fn replicate(
    system: &System,
    load: &Load,
    rpcs: usize,
    replications: u64,
    seed: Seed,
) -> Result<Vec<Tally>, Failure> {
    let length = Length { warmup: rpcs as u64, rpcs: rpcs as u64 };
    let one = |index| run(system, load, length, seed.replica(index));
    (0..replications).map(one).collect::<Result<_, _>>().map_err(Failure::fault)
}

pub(crate) fn agree(one: Interval, other: Interval) -> bool {
    one.lo <= other.hi && other.lo <= one.hi
}

pub(crate) fn shown(figure: Interval, decimals: usize) -> String {
    let Interval { value, lo, hi } = figure;
    format!("{value:.decimals$} [{lo:.decimals$}, {hi:.decimals$}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_agree_if_they_have_a_value_in_common() {
        let of = |lo, hi| Interval { value: f64::midpoint(lo, hi), lo, hi };
        assert!(agree(of(1.0, 2.0), of(2.0, 3.0)) && agree(of(1.0, 9.0), of(2.0, 3.0)));
        assert!(!agree(of(1.0, 2.0), of(2.1, 3.0)) && !agree(of(2.1, 3.0), of(1.0, 2.0)));
    }

    #[test]
    fn a_run_is_cut_by_time_and_its_percentile_is_of_the_nearest_rank() {
        let ms = Span::from_ms;
        assert_eq!([0, 9, 10, 99, 100, 5000].map(|at| part_of(ms(at), ms(100))), [0, 0, 1, 9, 9, 9]);
        let mut spans: Vec<Span> = (0..200).rev().map(ms).collect();
        assert_eq!((p99(&mut spans), p99(&mut []), mean(&spans)), (ms(198), Span::ZERO, Span::from_us(99_500)));
    }
}
