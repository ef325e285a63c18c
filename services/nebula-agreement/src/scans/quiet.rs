//! The RPCs of a run that the machine's pauses did not affect.
//!
//! An RPC due shortly before a pause may be outstanding at its begin, and an RPC due after it waits
//! behind the backlog until nothing is outstanding. All RPCs due in such a stretch are excluded,
//! however long they took: excluding only those that overlap a pause would remove slow RPCs more
//! often than fast ones.

use nebula_nic::{Span, Timestamp};
use nebula_workload::{Gap, GapLog};

use super::handlers::Handled;

/// Longer than an iteration of the client, or a turn of the server without its handlers.
pub(super) const PAUSE: Span = Span::from_us(3);

/// The excluded stretches of a run, in order and disjoint.
#[derive(Debug)]
pub(super) struct Pauses {
    left_out: GapLog,
}

impl Pauses {
    /// From `gaps`, and the ascending times `empty` at which nothing was outstanding. RPCs due up
    /// to `before` before a gap may be outstanding at its begin.
    pub(super) fn new(gaps: &GapLog, empty: &[Timestamp], before: Span) -> Self {
        let last = empty.last().copied().unwrap_or(Timestamp::ZERO);
        let stretch = |gap: Gap| {
            let end = empty.get(empty.partition_point(|&at| at < gap.end)).copied().unwrap_or(gap.end.max(last));
            Gap { start: Timestamp::from_ps(gap.start.as_ps().saturating_sub(before.as_ps())), end }
        };
        Self { left_out: GapLog::from_gaps(gaps.iter().map(stretch)) }
    }

    /// Whether an RPC due then is excluded.
    pub(super) fn cover(&self, due: Timestamp) -> bool {
        self.left_out.overlaps(due, due, Span::ZERO)
    }
}

/// The server's gaps that are pauses even without the time of its handlers. `handled` is in order.
pub(super) fn beside_handlers(gaps: &[Gap], handled: &[Handled]) -> Vec<Gap> {
    let is_pause = |gap: &&Gap| {
        let first = handled.partition_point(|one| one.end() <= gap.start);
        let within = handled[first..].iter().take_while(|one| one.begun < gap.end);
        let taken: u64 = within.map(|one| (one.end().min(gap.end) - one.begun.max(gap.start)).as_ps()).sum();
        gap.length().as_ps().saturating_sub(taken) > PAUSE.as_ps()
    };
    gaps.iter().filter(is_pause).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Timestamp {
        Timestamp::ZERO + Span::from_us(us)
    }

    fn gap(from: u64, to: u64) -> Gap {
        Gap { start: at(from), end: at(to) }
    }

    #[test]
    fn what_is_due_from_before_a_pause_until_nothing_is_outstanding_is_left_out() {
        let empty = [at(90), at(110), at(150), at(300)];
        let pauses = Pauses::new(&GapLog::from_gaps([gap(100, 120), gap(310, 320)]), &empty, Span::from_us(15));
        let kept: Vec<u64> = (0..400).step_by(5).filter(|&us| !pauses.cover(at(us))).collect();
        let expected = |us: &u64| !(85..150).contains(us) && !(295..320).contains(us);
        assert_eq!(kept, (0..400).step_by(5).filter(expected).collect::<Vec<_>>());
    }

    #[test]
    fn a_long_handler_is_no_pause_and_a_pause_beside_it_is() {
        let handled = |from, us| Handled { begun: at(from), took: Span::from_us(us), is_scan: true };
        let all = [handled(10, 20), handled(31, 20), handled(200, 5)];
        let gaps = [gap(9, 31), gap(30, 60), gap(100, 104), gap(150, 152), gap(198, 207)];
        // Time without handlers: two of 22; nine of 30; all four; two; four of nine.
        assert_eq!(beside_handlers(&gaps, &all), [gap(30, 60), gap(100, 104), gap(198, 207)]);
    }
}
