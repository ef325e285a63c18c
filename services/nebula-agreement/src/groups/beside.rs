//! The cost of an RPC in addition to its handler, from the run's times of sending, begin and end.

use std::collections::BTreeMap;

use nebula_nic::{Span, Timestamp};

use super::handler::Served;
use super::setup::PERIOD;
use crate::agreement::mean;

#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Of its client.
    pub(super) group: u16,
    /// When it was to be sent.
    pub(super) due: Timestamp,
    pub(super) sent: Timestamp,
    pub(super) served: Served,
    /// When its client had the reply.
    pub(super) done: Timestamp,
}

impl Seen {
    pub(super) fn latency(&self) -> Span {
        self.done - self.due
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    /// From the end of a handler to the worker's next begin, if that RPC was already waiting.
    pub(super) between: Span,
    /// From sending to the handler, if a worker of the client's group is idle.
    pub(super) start: Span,
    /// The additional time of a start in another group, without the half period until its manager
    /// decides.
    pub(super) message: Span,
    /// From the end of the handler to the client.
    pub(super) back: Span,
}

impl Beside {
    /// The means of a run, but the median for RPCs handed over: some of those first wait in their
    /// own group.
    pub(super) fn of(seen: &[Seen]) -> Self {
        let (mut between, mut at_home, mut away) = (Vec::new(), Vec::new(), Vec::new());
        for (home, served) in workers(seen) {
            for pair in served.windows(2) {
                let [before, next] = [&pair[0], &pair[1]];
                if next.sent <= before.served.begun {
                    between.push(next.served.begun - before.served.end());
                } else if next.sent >= before.served.end() {
                    let starts = if next.group == home { &mut at_home } else { &mut away };
                    starts.push(next.served.begun - next.sent);
                }
            }
        }
        let start = mean(&at_home);
        away.sort_unstable();
        let message = away.get(away.len() / 2).map_or(Span::ZERO, |&median| median - start - PERIOD / 2);
        let back: Vec<Span> = seen.iter().map(|one| one.done - one.served.end()).collect();
        Self { between: mean(&between), start, message, back: mean(&back) }
    }
}

/// Each worker's RPCs in order, and its group: that of most of its RPCs, as RPCs go to the group
/// that has less to do.
fn workers(seen: &[Seen]) -> Vec<(u16, Vec<Seen>)> {
    let mut workers: BTreeMap<u32, Vec<Seen>> = BTreeMap::new();
    for one in seen {
        workers.entry(one.served.worker).or_default().push(*one);
    }
    let of = |mut served: Vec<Seen>| {
        served.sort_unstable_by_key(|one| one.served.begun);
        let mut by_group: BTreeMap<u16, usize> = BTreeMap::new();
        served.iter().for_each(|one| *by_group.entry(one.group).or_default() += 1);
        let home = by_group.into_iter().max_by_key(|&(_, rpcs)| rpcs).map_or(0, |(group, _)| group);
        (home, served)
    };
    workers.into_values().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Timestamp {
        Timestamp::ZERO + Span::from_us(us)
    }

    /// The client has the reply 30 µs after the end.
    fn seen(group: u16, worker: u32, [sent, begun, end]: [u64; 3]) -> Seen {
        let served = Served { worker, begun: at(begun), took: Span::from_us(end - begun) };
        Seen { group, due: at(sent), sent: at(sent), served, done: at(end + 30) }
    }

    #[test]
    fn costs_are_those_of_rpcs_that_waited_of_those_that_found_a_worker_idle_and_of_those_handed_over() {
        let all = [
            // Waited while its predecessor began: 10 µs between. The next one was sent later and
            // does not count.
            seen(0, 1, [40, 1010, 2000]),
            seen(0, 1, [0, 50, 1000]),
            seen(0, 1, [1500, 2500, 3000]),
            // Found the worker idle: starts of 40 and 60 µs.
            seen(0, 1, [4000, 4040, 5000]),
            seen(0, 1, [6000, 6060, 7000]),
            // Handed over to the other group, which was idle: 500 µs, of which 100 are the wait for
            // a decision.
            seen(1, 2, [0, 50, 60]),
            seen(1, 2, [100, 150, 160]),
            seen(0, 2, [1000, 1500, 1600]),
        ];
        let us = Span::from_us;
        // The second of group 1 found its worker idle too.
        assert_eq!(Beside::of(&all), Beside { between: us(10), start: us(50), message: us(350), back: us(30) });
        assert_eq!(Beside::of(&all[..4]).message, Span::ZERO);
        assert_eq!(Beside::of(&[]).back, Span::ZERO);
    }

    #[test]
    fn a_worker_is_of_the_group_of_most_of_its_rpcs() {
        let all = [seen(1, 5, [0, 10, 20]), seen(0, 5, [20, 30, 40]), seen(1, 5, [40, 50, 60]), seen(0, 6, [0, 1, 2])];
        let homes: Vec<(u16, usize)> = workers(&all).into_iter().map(|(home, served)| (home, served.len())).collect();
        assert_eq!(homes, [(1, 3), (0, 1)]);
    }
}
