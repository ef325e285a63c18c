//! The pending events that belong to no core, in the order of their times.
//!
//! A run has a few of them at a time, and most are soon: the soonest is last in a list, and the
//! place of another is searched from there. Events of the same time happen in the order in which
//! they were made.

use super::event::Event;

/// Events that are compared one by one, before a binary search.
const SOON: usize = 8;

#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    /// The latest first.
    events: Vec<(u64, Event)>,
}

impl Pending {
    #[inline(always)]
    pub(super) fn next_ps(&self) -> u64 {
        self.events.last().map_or(u64::MAX, |&(at_ps, _)| at_ps)
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(u64, Event)> {
        self.events.pop()
    }

    #[inline]
    pub(super) fn push(&mut self, at_ps: u64, event: Event) {
        let later = self.later_than(at_ps);
        self.events.insert(later, (at_ps, event));
    }

    #[inline(always)]
    fn later_than(&self, at_ps: u64) -> usize {
        let all = self.events.len();
        for soon in 0..all.min(SOON) {
            if self.events[all - 1 - soon].0 > at_ps {
                return all - soon;
            }
        }
        self.events.partition_point(|&(late_ps, _)| late_ps > at_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nebula_workload::Seed;

    #[test]
    fn events_happen_in_order_and_those_of_one_time_as_they_were_made() {
        let mut rng = Seed(4).stream("events");
        let (mut pending, mut model, mut made) = (Pending::default(), Vec::new(), 0);
        for _ in 0..5000 {
            let wanted = usize::try_from(rng.below(40)).expect("below 40");
            while model.len() < wanted {
                made += 1;
                let at_ps = rng.below(20);
                pending.push(at_ps, Event::Freed(made));
                model.push((at_ps, made));
            }
            model.sort_unstable();
            assert_eq!(pending.next_ps(), model.first().map_or(u64::MAX, |first| first.0));
            let first = if model.is_empty() { None } else { Some(model.remove(0)) };
            assert_eq!(pending.pop(), first.map(|(at_ps, made)| (at_ps, Event::Freed(made))));
        }
    }
}
