//! Which RPCs of a run the machine's pauses have nothing to do with.
//!
//! What is due shortly before a pause may be under way when it begins, and what is due after it
//! waits behind what has come meanwhile, until nothing is outstanding any more. All that is due in
//! such a stretch is left out, however long it took: leaving out just what overlaps a pause would
//! take slow RPCs away more often than fast ones.

use nebula_nic::{Span, Timestamp};
use nebula_workload::{Gap, GapLog};

use super::handlers::Handled;

/// The shortest pause: longer than a look of the client, or a turn of the server beside its
/// handlers, takes.
pub(super) const PAUSE: Span = Span::from_us(3);

/// The stretches of a run that are left out, in order and disjoint.
#[derive(Debug)]
pub(super) struct Pauses {
    left_out: GapLog,
}

impl Pauses {
    /// From `gaps`, and the ascending times at which nothing was outstanding, `empty`. What is due
    /// up to `before` before a gap may be under way when it begins.
    pub(super) fn new(gaps: &GapLog, empty: &[Timestamp], before: Span) -> Self {
        let last = empty.last().copied().unwrap_or(Timestamp::ZERO);
        let stretch = |gap: Gap| {
            let end = empty.get(empty.partition_point(|&at| at < gap.end)).copied().unwrap_or(gap.end.max(last));
            Gap { start: Timestamp::from_ps(gap.start.as_ps().saturating_sub(before.as_ps())), end }
        };
        Self { left_out: GapLog::from_gaps(gaps.iter().map(stretch)) }
    }

    /// Whether what is due then is left out.
    pub(super) fn cover(&self, due: Timestamp) -> bool {
        self.left_out.overlaps(due, due, Span::ZERO)
    }
}

/// What is left of the server's gaps once its handlers are taken off: what they take is their own.
/// `handled` is in order.
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
        // Two of 22 beside the handler; nine of 30; four with none; two; four of nine.
        assert_eq!(beside_handlers(&gaps, &all), [gap(30, 60), gap(100, 104), gap(198, 207)]);
    }
}
