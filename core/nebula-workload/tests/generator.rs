//! The generator against a server in simulated time: queueing theory, stalls, backpressure,
//! refusals, stops.

use std::collections::VecDeque;

use nebula_nic::{Span, Timestamp};
use nebula_workload::{
    Arrivals, Counts, Generator, GeneratorConfig, Latency, Length, LoadReport, Rate, Seed, Token, Workload,
};

const SERVICE: Span = Span::from_us(1);

fn at_us(us: u64) -> Timestamp {
    Timestamp::ZERO + Span::from_us(us)
}

/// One server that takes `SERVICE` for each operation, first come first served.
struct Server {
    /// Completion times and tokens, in order; the first is in service.
    queue: VecDeque<(Timestamp, Token)>,
    free_at: Timestamp,
    /// Operations that the transport carries at a time; more are blocked.
    room: usize,
    /// The client refuses operations without room instead of letting them wait.
    refuses: bool,
    /// Queue length beyond which the server refuses.
    bound: usize,
    /// The interval in which the server is stalled.
    stall: (Timestamp, Timestamp),
}

impl Server {
    fn new() -> Self {
        let queue = VecDeque::new();
        Self {
            queue,
            free_at: Timestamp::ZERO,
            room: usize::MAX,
            refuses: false,
            bound: usize::MAX,
            stall: (at_us(0), at_us(0)),
        }
    }

    fn accept(&mut self, now: Timestamp, token: Token) {
        let start = self.free_at.max(now);
        let (from, to) = self.stall;
        let start = if from <= start && start < to { to } else { start };
        self.free_at = start + SERVICE;
        self.queue.push_back((self.free_at, token));
    }

    fn next_done(&self) -> Option<Timestamp> {
        self.queue.front().map(|&(done, _)| done)
    }

    fn complete(&mut self, now: Timestamp) -> Option<Token> {
        let is_done = self.next_done().is_some_and(|done| done <= now);
        if is_done { self.queue.pop_front().map(|(_, token)| token) } else { None }
    }
}

/// One iteration of a client's loop.
fn turn(generator: &mut Generator, server: &mut Server, now: Timestamp) {
    while let Some(token) = server.complete(now) {
        assert!(generator.handle_reply(now, token, true).is_some());
    }
    while let Some((token, operation)) = generator.poll_send(now) {
        assert!(operation.at <= now, "nothing is sent early");
        if server.queue.len() >= server.room && server.refuses {
            generator.handle_refused(now, token);
            continue;
        }
        if server.queue.len() >= server.room {
            generator.handle_blocked(token);
            break;
        }
        if server.queue.len() >= server.bound {
            generator.handle_nack(now, token);
        } else {
            server.accept(now, token);
        }
    }
}

fn run(mut generator: Generator, mut server: Server) -> LoadReport {
    let mut now = Timestamp::ZERO;
    while !generator.is_finished() {
        // Operations already due wait for room, which only a completion makes.
        let due = generator.next_due().filter(|&due| due > now);
        let next = [due, server.next_done()].into_iter().flatten().min();
        now = next.expect("an operation is due or outstanding");
        turn(&mut generator, &mut server, now);
    }
    generator.into_report()
}

fn workload(arrivals: Arrivals, utilization: f64, operations: u64) -> Workload {
    let rate = Rate::try_new(utilization * 1e6).expect("a rate");
    Workload { arrivals, rate, length: Length::Operations(operations), ..Workload::default() }
}

fn generator(workload: Workload, config: GeneratorConfig) -> Generator {
    Generator::new(workload.schedule(Seed(1), Timestamp::ZERO).expect("a workload"), config)
}

fn paced(operations: u64) -> Generator {
    generator(workload(Arrivals::Paced, 0.5, operations), GeneratorConfig::default())
}

/// Every operation has one outcome and one latency.
fn assert_accounts(report: &LoadReport) {
    assert_eq!(report.counts.settled(), report.counts.offered, "{:?}", report.counts);
    assert_eq!(report.latency.raw().count(), report.counts.offered);
    assert_eq!(report.latency.raw().infinite(), report.counts.offered - report.counts.replied);
}

#[test]
fn mean_latency_of_m_d_1_is_what_theory_says() {
    for utilization in [0.3, 0.5, 0.7, 0.8] {
        let load = workload(Arrivals::Poisson, utilization, 500_000);
        let report = run(generator(load, GeneratorConfig::default()), Server::new());
        assert_accounts(&report);
        // Pollaczek-Khinchine for a fixed service time, in units of it.
        let expected = 1.0 + utilization / (2.0 * (1.0 - utilization));
        let mean = report.latency.raw().mean().expect("replies").as_ns_f64() / SERVICE.as_ns_f64();
        assert!((mean / expected - 1.0).abs() < 0.02, "utilization {utilization}: {mean}, not {expected}");
        assert!((report.achieved_rps() / report.rate_rps - 1.0).abs() < 0.01);
        assert!(!report.generator_was_late());
    }
}

#[test]
fn paced_arrivals_below_capacity_never_wait() {
    let report = run(paced(1000), Server::new());
    assert_eq!(report.latency.raw().max(), Some(Latency::Finite(SERVICE)));
    assert_eq!(report.latency.raw().min(), Some(Latency::Finite(SERVICE)));
    assert_eq!(report.counts.held, 0);
}

#[test]
fn an_overloaded_server_serves_at_its_capacity() {
    let load = workload(Arrivals::Poisson, 3.0, 100_000);
    let report = run(generator(load, GeneratorConfig::default()), Server::new());
    assert!((report.achieved_rps() / 1e6 - 1.0).abs() < 0.001, "{}", report.achieved_rps());
    assert!(!report.latency.raw().meets(Span::from_ms(10)));
}

#[test]
fn a_stall_delays_every_operation_that_was_due_in_it() {
    // One operation per 2 µs and a stall of 100 µs. Whatever the limit on outstanding operations
    // and the transport's room, the 50 operations due during the stall wait for its end, and the
    // queue then drains.
    let stalled = || Server { stall: (at_us(1000), at_us(1100)), ..Server::new() };
    let narrow = GeneratorConfig { outstanding_max: 1, ..GeneratorConfig::default() };
    let reports = [
        run(paced(10_000), stalled()),
        run(generator(workload(Arrivals::Paced, 0.5, 10_000), narrow), stalled()),
        run(paced(10_000), Server { room: 1, ..stalled() }),
    ];
    for report in &reports {
        assert_accounts(report);
        let slow = report.latency.raw().share_above(Span::from_us(51));
        // Operation k waits 100 - 2k µs for the end of the stall and k µs for earlier operations:
        // half of them wait more than 50 µs.
        assert_eq!(slow, 50.0 / 10_000.0);
        assert_eq!(report.latency.raw().max(), Some(Latency::Finite(Span::from_us(101))));
        let lateness = report.lateness.max();
        assert_eq!(lateness, Some(Latency::Finite(Span::ZERO)), "waiting for room is not the generator's lateness");
    }
    let same = |report: &LoadReport| report.latency.raw().summary();
    assert_eq!(same(&reports[0]), same(&reports[1]));
    assert_eq!(same(&reports[0]), same(&reports[2]));
    assert_eq!(reports[0].counts.held, 0);
    assert!(reports[1].counts.held > 50 && reports[2].counts.held > 50);
}

#[test]
fn refusals_have_infinite_latency() {
    let load = workload(Arrivals::Poisson, 2.0, 100_000);
    let report = run(generator(load, GeneratorConfig::default()), Server { bound: 4, ..Server::new() });
    assert_accounts(&report);
    // A queue that is never empty serves every second one.
    let share = report.counts.nacked as f64 / report.counts.offered as f64;
    assert!((0.49..0.55).contains(&share), "{share}");
    assert_eq!(report.latency.raw().quantile(0.99), Some(Latency::Infinite));
    assert!(report.latency.raw().max_finite().expect("replies") <= SERVICE * 4);
}

#[test]
fn a_late_client_is_detected() {
    let mut generator = paced(10_000);
    let mut server = Server::new();
    let mut now = Timestamp::ZERO;
    while !generator.is_finished() {
        now += Span::from_us(100);
        turn(&mut generator, &mut server, now);
    }
    let report = generator.into_report();
    assert!(report.generator_was_late());
    assert_eq!(report.lateness.max(), Some(Latency::Finite(Span::from_us(98))));
    // Ten of the hundred microseconds are within the bound.
    assert!((report.share_later_than(Span::from_us(10)) - 0.88).abs() < 0.02);
}

#[test]
fn one_late_iteration_in_a_long_load_is_tolerated() {
    let mut generator = paced(100_000);
    let mut server = Server::new();
    let mut now = Timestamp::ZERO;
    while !generator.is_finished() {
        now += if now == at_us(500) { Span::from_us(300) } else { Span::from_us(1) };
        turn(&mut generator, &mut server, now);
    }
    let report = generator.into_report();
    assert!(!report.generator_was_late());
    assert!(report.latency.raw().max() >= Some(Latency::Finite(Span::from_us(299))), "the latency includes it");
}

#[test]
fn a_load_lasts_until_its_end_or_its_last_answer() {
    let until = |us| Workload { length: Length::Duration(Span::from_us(us)), ..workload(Arrivals::Paced, 0.5, 0) };
    let duration = |us, server| run(generator(until(us), GeneratorConfig::default()), server).duration;
    // The last operation is due 2 µs before the end, and answered 1 µs before it.
    assert_eq!(duration(1000, Server::new()), Span::from_us(1000));
    let stalled = Server { stall: (at_us(990), at_us(1100)), ..Server::new() };
    assert_eq!(duration(1000, stalled), Span::from_us(1105), "five are due during the stall");
}

#[test]
fn what_the_client_refuses_does_not_wait_in_it_and_delays_nothing_behind_it() {
    // Twice the capacity with room for four: half is refused.
    let overload = || generator(workload(Arrivals::Paced, 2.0, 10_000), GeneratorConfig::default());
    let report = run(overload(), Server { room: 4, refuses: true, ..Server::new() });
    assert_accounts(&report);
    let Counts { replied, refused_by_client, held, never_sent, .. } = report.counts;
    assert!(replied.abs_diff(refused_by_client) < 10 && replied > 4900, "{:?}", report.counts);
    assert_eq!((held, never_sent, report.generator_was_late()), (0, 0, false));
    assert!(
        report.latency.raw().quantile(0.49) <= Some(Latency::Finite(SERVICE * 5)),
        "those sent wait for four at most"
    );
    // If they wait for room, they wait ever longer.
    let waiting = run(overload(), Server { room: 4, ..Server::new() });
    assert!(waiting.latency.raw().quantile(0.49) > Some(Latency::Finite(SERVICE * 1000)));
}

#[test]
fn warm_up_is_sent_and_not_measured() {
    let config = GeneratorConfig { warm_up: Span::from_us(100), ..GeneratorConfig::default() };
    let report = run(generator(workload(Arrivals::Paced, 0.5, 150), config), Server::new());
    assert_accounts(&report);
    // The operations due at 2, 4, … 98 µs; the one at 100 µs counts.
    assert_eq!((report.counts.offered, report.latency.raw().ignored()), (101, 49));
    assert_eq!(report.duration, Span::from_us(201));
}

#[test]
fn a_stop_leaves_no_operation_without_outcome() {
    let config = GeneratorConfig { outstanding_max: 4, ..GeneratorConfig::default() };
    let mut generator = generator(workload(Arrivals::Paced, 0.5, 1000), config);
    let (first, _) = generator.poll_send(at_us(2)).unwrap();
    generator.handle_reply(at_us(3), first, false);
    let tokens: Vec<_> = std::iter::from_fn(|| generator.poll_send(at_us(20))).collect();
    assert_eq!(tokens.len(), 4);
    generator.handle_blocked(tokens[3].0);
    generator.handle_stop(at_us(21));
    assert!(generator.is_finished());
    assert_eq!((generator.next_due(), generator.poll_send(at_us(500))), (None, None));
    let report = generator.into_report();
    assert_accounts(&report);
    let counts = report.counts;
    assert_eq!((counts.offered, counts.replied, counts.not_found), (10, 1, 1));
    assert_eq!((counts.lost, counts.never_sent), (3, 6), "three outstanding; one blocked, five not even polled");
    assert_eq!(report.duration, Span::from_us(21));
}

#[test]
fn blocked_operations_come_back_first_in_order_and_with_their_token() {
    let mut generator = paced(10);
    let sent: Vec<_> = std::iter::from_fn(|| generator.poll_send(at_us(6))).collect();
    generator.handle_blocked(sent[1].0);
    generator.handle_blocked(sent[2].0);
    for _ in 0..3 {
        // An operation that is blocked repeatedly counts as held once.
        let (first, _) = generator.poll_send(at_us(7)).unwrap();
        let (second, _) = generator.poll_send(at_us(7)).unwrap();
        generator.handle_blocked(first);
        generator.handle_blocked(second);
    }
    let again: Vec<_> = std::iter::from_fn(|| generator.poll_send(at_us(8))).collect();
    assert_eq!(again[..2], sent[1..]);
    assert_eq!((again.len(), again[2].1.at), (3, at_us(8)));
    assert_eq!(generator.counts().held, 3, "the two, and the one that was due after them");
}

#[test]
fn outcomes_of_operations_not_outstanding_are_counted_and_ignored() {
    let mut generator = paced(10);
    let (given_up, first) = generator.poll_send(at_us(2)).unwrap();
    assert_eq!(generator.handle_lost(at_us(3), given_up), Some(first));
    let (successor, _) = generator.poll_send(at_us(4)).unwrap();
    assert_eq!(generator.handle_reply(at_us(5), given_up, true), None, "its slot is taken by another");
    assert_eq!(generator.handle_nack(at_us(5), Token::from_u64(u64::MAX)), None);
    generator.handle_blocked(successor);
    assert_eq!(generator.handle_reply(at_us(5), successor, true), None, "it has not been sent");
    generator.handle_blocked(successor);
    assert_eq!((generator.counts().unexpected, generator.outstanding()), (4, 1));
    let (resent, _) = generator.poll_send(at_us(6)).unwrap();
    assert!(generator.handle_reply(at_us(6), resent, true).is_some());
    assert_eq!((generator.counts().replied, generator.counts().lost), (1, 1));
}

#[test]
fn reports_of_clients_that_share_a_load_add_up() {
    let mut sum = run(paced(100), Server::new());
    sum.merge(run(paced(300), Server::new()));
    assert_accounts(&sum);
    assert_eq!((sum.counts.replied, sum.rate_rps), (400, 1e6));
    assert_eq!(sum.duration, Span::from_us(601));
}

#[test]
fn a_run_is_repeatable() {
    let report = || run(generator(workload(Arrivals::Poisson, 0.8, 10_000), GeneratorConfig::default()), Server::new());
    let (first, second) = (report(), report());
    assert_eq!(first.latency.raw().summary(), second.latency.raw().summary());
    assert_eq!((first.counts, first.duration), (second.counts, second.duration));
}

#[test]
fn a_nack_of_an_operation_that_the_generator_sent_late_is_counted_apart() {
    let mut generator = generator(workload(Arrivals::Paced, 0.5, 2), GeneratorConfig::default());
    for late in [Span::ZERO, Span::from_us(11)] {
        let now = generator.next_due().unwrap() + late;
        let (token, _) = generator.poll_send(now).unwrap();
        generator.handle_nack(now, token);
    }
    let counts = generator.into_report().counts;
    assert_eq!((counts.offered, counts.nacked, counts.nacked_late), (2, 2, 1));
}

#[test]
fn a_wait_for_room_is_not_the_generators_own_lateness() {
    let mut generator = generator(workload(Arrivals::Paced, 0.5, 1), GeneratorConfig::default());
    let due = generator.next_due().unwrap();
    let (token, _) = generator.poll_send(due).unwrap();
    generator.handle_blocked(token);
    let (token, _) = generator.poll_send(due + Span::from_ms(1)).unwrap();
    generator.handle_nack(due + Span::from_ms(1), token);
    let counts = generator.into_report().counts;
    assert_eq!((counts.nacked, counts.nacked_late, counts.held), (1, 0, 1));
}
