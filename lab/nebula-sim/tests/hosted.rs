//! Host interfaces: the parts of a round trip, what bounds the throughput, and what is refused.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use nebula_nic::{Policy, Span};
use nebula_sim::{Host, Interface, Length, Load, SimError, System, SystemModel, Tally, Watch, run};
use nebula_workload::Seed;

/// The service of the tests, in nanoseconds.
const SERVICE_NS: f64 = 100.0;

/// An interface of round costs, of which each appears in the results: 3 + 4 + 5 … are told apart.
fn host(interface: Interface) -> Host {
    Host {
        interface,
        per_rpc: Span::from_ns(30),
        store: Span::from_ns(40),
        batch: 1,
        batch_wait: Span::ZERO,
        hop: Span::from_ns(500),
        pipeline: Span::from_ns(7),
        poll_period: if interface.polls() { Span::from_ns(200) } else { Span::ZERO },
        lines_per_read: if interface.polls() { 4 } else { 0 },
        watch: None,
        lines_per_second: None,
        push: 1,
        push_wait: Span::ZERO,
        fifo: 8,
        ring: 8,
        loopback: true,
    }
}

fn system(host: Host, cores: u16) -> System {
    System::new(Policy::Static, cores).host(host)
}

/// A rate in millions of RPCs per second and core, as a load.
fn open(mrps: f64) -> Load {
    Load::open("fixed:100ns".parse().unwrap(), mrps * SERVICE_NS / 1e3)
}

fn at(host: Host, cores: u16, load: &Load) -> Tally {
    run(&system(host, cores), load, Length::of(20_000), Seed(1)).unwrap()
}

/// The most RPCs per second, in millions: a closed loop of `outstanding` RPCs.
fn most_mrps(host: Host, cores: u16, outstanding: u32) -> f64 {
    let load = Load::closed("fixed:100ns".parse().unwrap(), outstanding, None);
    at(host, cores, &load).served_rps() / 1e6
}

fn mean_ns(tally: &Tally) -> f64 {
    tally.latency.mean() / 1e3
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() <= share, "{found} and not {expected}");
}

#[test]
fn an_unloaded_round_trip_is_the_sum_of_its_parts() {
    // Each direction: a core, the crossing, the pipeline, and the crossing into the other core's
    // ring.
    for (interface, crossings) in [(Interface::Mmio, 2.0), (Interface::Doorbell, 4.0), (Interface::Invalidate, 4.0)] {
        let parts = 2.0 * (30.0 + crossings * 500.0 + 7.0) + SERVICE_NS;
        near(mean_ns(&at(host(interface), 1, &open(0.01))), parts, 0.002);
    }
    // Half a period until the read that finds the line. The mean over runs: the time between the
    // reads of a line in both directions is the same in all of a run.
    let parts = 2.0 * (30.0 + 100.0 + 2.0 * 500.0 + 7.0) + SERVICE_NS;
    let of =
        |seed| mean_ns(&run(&system(host(Interface::Poll), 1), &open(0.01), Length::of(1000), Seed(seed)).unwrap());
    let found: Vec<f64> = (0..200).map(of).collect();
    near(found.iter().sum::<f64>() / 200.0, parts, 0.005);
    // What a run's phases leave of both waits, at least and at most.
    let ends = found.iter().fold((f64::MAX, 0.0_f64), |(lo, hi), &ns| (lo.min(ns), hi.max(ns)));
    assert!(
        ends.0 > parts - 105.0 && ends.0 < parts - 80.0 && ends.1 > parts + 80.0 && ends.1 < parts + 105.0,
        "{ends:?}"
    );
}

#[test]
fn clients_elsewhere_leave_the_server_s_part() {
    let remote = Host { loopback: false, ..host(Interface::Doorbell) };
    // Into the ring, the core, and the reply's way to the NIC.
    near(mean_ns(&at(remote, 1, &open(0.01))), 500.0 + 30.0 + SERVICE_NS + 3.0 * 500.0 + 7.0, 0.002);
}

#[test]
fn a_core_s_throughput_is_that_of_its_work_and_its_share_of_a_batch() {
    near(most_mrps(host(Interface::Doorbell), 1, 36), 1e3 / (30.0 + SERVICE_NS + 40.0), 0.001);
    for (batch, outstanding) in [(4, 48), (8, 56)] {
        let batched = Host { batch, batch_wait: Span::from_us(5), ..host(Interface::Doorbell) };
        near(most_mrps(batched, 1, outstanding), 1e3 / (30.0 + SERVICE_NS + 40.0 / f64::from(batch)), 0.001);
        near(
            system(batched, 1).saturation(&"fixed:100ns".parse().unwrap()),
            SERVICE_NS / (30.0 + SERVICE_NS + 40.0 / f64::from(batch)),
            1e-9,
        );
    }
}

#[test]
fn the_store_of_ever_longer_batches_vanishes() {
    let of = |batch| Host { batch, batch_wait: Span::from_us(50), ..host(Interface::Doorbell) }.core_ns();
    assert_eq!([of(1), of(4), of(64)], [70.0, 40.0, 30.625]);
}

#[test]
fn a_batch_that_does_not_fill_is_told_after_its_wait() {
    let waits = Host { batch: 8, batch_wait: Span::from_us(3), ..host(Interface::Doorbell) };
    let parts = 2.0 * (30.0 + 4.0 * 500.0 + 7.0) + SERVICE_NS;
    // One RPC in 100 µs: both directions wait.
    near(mean_ns(&at(waits, 1, &open(0.01))), parts + 2.0 * 3000.0, 0.02);
    // At the highest rates a batch of the request and one of the reply take time to fill, but less
    // than the wait.
    let tally = at(waits, 1, &open(5.0));
    assert!(mean_ns(&tally) < parts + 3000.0, "{}", mean_ns(&tally));
}

#[test]
fn lines_pushed_together_wait_for_each_other() {
    let pushed = Host { push: 4, push_wait: Span::from_us(2), ..host(Interface::Mmio) };
    let parts = 2.0 * (30.0 + 2.0 * 500.0 + 7.0) + SERVICE_NS;
    near(mean_ns(&at(pushed, 1, &open(0.01))), parts + 2.0 * 2000.0, 0.02);
    let busy = mean_ns(&at(pushed, 1, &open(5.0)));
    assert!(busy > parts + 2.0 * 150.0 && busy < parts + 2000.0, "{busy}");
}

#[test]
fn the_intake_bounds_all_cores_together_and_each_line_counts() {
    let bounded = Host { lines_per_second: Some(20_000_000), ..host(Interface::Mmio) };
    let one = 1e3 / (30.0 + SERVICE_NS + 40.0);
    near(most_mrps(bounded, 1, 24), one, 0.001);
    // A request and a reply: 10 million RPCs. Without the request's line, 20 million.
    near(most_mrps(bounded, 4, 4 * 24), 10.0, 0.002);
    near(most_mrps(Host { loopback: false, ..bounded }, 4, 4 * 16), 20.0, 0.002);
}

#[test]
fn reads_bound_what_a_flow_sends() {
    let slow = Host { poll_period: Span::from_us(2), lines_per_read: 3, ..host(Interface::Poll) };
    near(most_mrps(slow, 1, 30), 1.5, 0.002);
    near(most_mrps(slow, 2, 60), 3.0, 0.002);
}

#[test]
fn what_a_fifo_has_no_room_for_is_dropped_and_counted() {
    let remote = Host { loopback: false, fifo: 2, ring: 1, ..host(Interface::Mmio) };
    let tally = at(remote, 1, &open(4.0));
    assert_eq!(tally.served + tally.given_up, 20_000);
    assert!(tally.nacks == tally.given_up && tally.nacks > 4_000, "{}", tally.nacks);
    // In loopback the drop happens later, in the NIC, and is counted as well; the RPC's place is
    // used again.
    let tally = at(Host { loopback: true, ..remote }, 1, &open(4.0));
    assert_eq!(tally.served + tally.given_up, 20_000);
    assert!(tally.nacks == tally.given_up && tally.nacks > 4_000, "{}", tally.nacks);
    assert_eq!(at(host(Interface::Mmio), 1, &open(1.0)).nacks, 0);
    // Clients in a closed loop are not lost with their RPCs.
    let closed = Load::closed("fixed:100ns".parse().unwrap(), 40, None);
    let tally = at(Host { loopback: true, ..remote }, 1, &closed);
    assert_eq!(tally.served + tally.given_up, 20_000);
}

#[test]
fn an_adaptive_interface_reads_little_when_idle_and_polls_when_busy() {
    let polls = Host { loopback: false, ..host(Interface::Poll) };
    let watch = Watch { window: Span::from_us(10), polls_from: 20, polls_until: 10 };
    let adaptive = Host { interface: Interface::Adaptive, watch: Some(watch), ..polls };
    let of = |host: Host, mrps| {
        let tally = at(host, 1, &open(mrps));
        (mean_ns(&tally), tally.host.reads_per_line().unwrap(), tally.host)
    };
    // One RPC in 20 µs and a read in 200 ns: 100 reads for each.
    let ((_, polled, _), (slow, told, traffic)) = (of(polls, 0.05), of(adaptive, 0.05));
    near(polled, 100.0, 0.05);
    assert_eq!((told, traffic.changes, traffic.told), (1.0, 0, traffic.lines));
    // 50 lines a window: polled but for the beginning.
    let ((polling, polled, _), (busy, both, traffic)) = (of(polls, 5.0), of(adaptive, 5.0));
    near(busy, polling, 0.01);
    near(both, polled, 0.01);
    assert!(traffic.changes == 1 && traffic.told < 30, "{traffic:?}");
    // A message more, and no waiting for a read.
    near(slow, 500.0 + 30.0 + SERVICE_NS + 3.0 * 500.0 + 7.0, 0.01);
}

#[test]
fn every_balancer_runs_and_the_static_one_keeps_flows_even() {
    let of = |policy: Policy| {
        let system = System::new(policy, 4).host(host(Interface::Mmio));
        run(&system, &open(4.0), Length::of(20_000), Seed(1)).unwrap()
    };
    let [dealt, turns, random, rss, keys] =
        [Policy::Static, Policy::RoundRobin, Policy::Random, Policy::Rss, Policy::KeyHash].map(of);
    assert!(mean_ns(&dealt) < mean_ns(&random) && mean_ns(&turns) < mean_ns(&rss), "{dealt:?} {random:?}");
    for tally in [&dealt, &turns, &random, &rss, &keys] {
        assert_eq!(tally.served + tally.given_up, 20_000);
    }
}

#[test]
fn the_cores_time_goes_into_service_and_the_interface() {
    let batched = Host { batch: 4, batch_wait: Span::from_us(5), ..host(Interface::Doorbell) };
    let system = system(batched, 2);
    let spent = run(&system, &open(4.0), Length::of(40_000), Seed(1)).unwrap().core_time(&system);
    near(spent.service, 0.4, 0.02);
    near(spent.dispatch, 4.0 * 0.040, 0.05);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let load = open(4.0);
    let of = |seed| run(&system(host(Interface::Poll), 3), &load, Length::of(20_000), Seed(seed)).unwrap();
    let figures = |tally: &Tally| (mean_ns(tally), tally.latency.quantile(0.99), tally.host);
    assert_eq!(figures(&of(5)), figures(&of(5)));
    assert_ne!(figures(&of(5)), figures(&of(6)));
}

#[test]
fn what_cannot_be_or_would_be_ignored_is_refused() {
    let base = || host(Interface::Doorbell);
    let us = Span::from_us(1);
    let watch = Some(Watch { window: us, polls_from: 2, polls_until: 1 });
    let cases = [
        (Host { batch: 0, ..base() }, "1 to 64"),
        (Host { batch: 65, batch_wait: us, ..base() }, "1 to 64"),
        (Host { batch: 2, ..base() }, "batch_wait"),
        (Host { batch_wait: us, ..base() }, "batch_wait"),
        (Host { batch: 2, batch_wait: us, ..host(Interface::Mmio) }, "a separate store"),
        (Host { push: 3, push_wait: us, ..base() }, "1, 2 or 4"),
        (Host { push: 2, ..base() }, "push_wait"),
        (Host { push_wait: us, ..base() }, "push_wait"),
        (Host { push: 4, push_wait: us, ring: 2, ..base() }, "at most the ring"),
        (Host { fifo: 0, ..base() }, "fifo of 1 to 1024"),
        (Host { ring: 0, ..base() }, "ring of 1 to 64"),
        (Host { ring: 65, ..base() }, "ring of 1 to 64"),
        (Host { lines_per_second: Some(0), ..base() }, "lines_per_second"),
        (Host { poll_period: us, ..base() }, "leave out poll_period"),
        (Host { lines_per_read: 4, ..base() }, "leave out poll_period"),
        (Host { poll_period: Span::ZERO, ..host(Interface::Poll) }, "needs a poll_period"),
        (Host { lines_per_read: 0, ..host(Interface::Poll) }, "needs a poll_period"),
        (host(Interface::Adaptive), "needs a watch"),
        (Host { watch, ..host(Interface::Poll) }, "no other interface has one"),
        (
            Host { watch: Some(Watch { window: us, polls_from: 1, polls_until: 1 }), ..host(Interface::Adaptive) },
            "more of the first",
        ),
    ];
    for (host, says) in cases {
        let error = system(host, 2).validate().unwrap_err().to_string();
        assert!(error.starts_with("the host interface: ") && error.contains(says), "{host:?}: {error}");
    }
    assert!(system(base(), 2).validate().is_ok());
    for (system, says) in [
        (system(base(), 2).servers(2), "one server"),
        (system(base(), 2).dedicated(1), "one server"),
        (system(base(), 2).queue_bound(7), "FIFO"),
        (system(base(), 2).costs(nebula_sim::Costs { receive: us, ..nebula_sim::Costs::ZERO }), "per_rpc"),
        (System::new(Policy::Jbsq(2), 2).host(base()), "jbsq:2 has no flow"),
        (system(base(), 2).reaction(nebula_requester::RetryPolicy::AnotherServer { servers: 2, attempts: 2 }), "drop"),
    ] {
        let error = system.validate().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_file_has_the_interface_in_a_section_and_a_wrong_one_says_where() {
    let upi = SystemModel::named("dagger-upi").unwrap().system(4).unwrap();
    let host = upi.host.unwrap();
    assert_eq!((host.interface, host.poll_period, host.lines_per_read), (Interface::Poll, Span::from_ns(150), 4));
    assert_eq!((upi.policy, upi.queue_bound), (Policy::Static, Some(32)));
    let file = |host: &str| {
        SystemModel::parse(&format!("name = 'x'\ntitle = 'x'\npolicy = 'static'\nhardware = true\n{host}"))
    };
    let least = "[host]\ninterface = 'mmio'\nper_rpc = '1ns'\nstore = '1ns'\nhop = '1ns'\nfifo = 1\nring = 1\n";
    assert!(file(least).unwrap().system(2).is_ok());
    for (host, says) in [
        (least.replace("mmio", "usb"), "line 6: unknown variant `usb`"),
        (least.replace("fifo = 1\n", ""), "missing field `fifo`"),
        (least.replace("ring", "rings"), "unknown field `rings`"),
        (least.replace("hop = '1ns'", "hop = 1"), "line 9"),
    ] {
        let error = file(&host).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
    let twice = format!("queue_bound_per_core = 8\n{least}");
    assert!(matches!(file(&twice).unwrap().system(2), Err(SimError::Host { .. })));
}
