//! Incast beside bounds that hold whatever is decided, and beside what is known of one sender.

use nebula_nic::{GrantsConfig, Span};
use nebula_requester::FlowKind;
use nebula_sim::incast::{Incast, IncastEstimate, MESSAGE_BYTES_MAX, PACKET_BYTES, SENDERS_MAX};
use nebula_sim::{Effort, Interval, SimError};
use nebula_workload::Seed;

fn effort(messages: u64) -> Effort {
    Effort::default().rpcs(messages).replications(4).seed(Seed(7))
}

fn found(incast: &Incast, messages: u64) -> IncastEstimate {
    incast.estimate(&effort(messages), &|| ()).expect("it can be simulated")
}

fn dropped(found: &IncastEstimate) -> Interval {
    found.dropped.expect("the simulated switch counts")
}

fn within(value: f64, expected: f64, share: f64) -> bool {
    (value / expected - 1.0).abs() <= share
}

#[test]
fn one_sender_of_short_messages_waits_for_the_links_and_the_core_and_nothing_else() {
    for flow in FlowKind::ALL {
        let incast = Incast { senders: 1, short_share: 1.0, flow, ..Incast::default() };
        let round_trip = incast.latency + incast.on_link(incast.short_bytes) * 2 + incast.service;
        let found = found(&incast, 1_000);
        assert!(within(found.short_p99_ps.value, round_trip.as_ps() as f64, 0.002), "{flow}: {found:?}");
        let goodput_gbps = f64::from(incast.short_bytes) * 8e3 / round_trip.as_ps() as f64;
        assert!(within(found.goodput_gbps.value, goodput_gbps, 0.001), "{flow}: {found:?}");
        assert_eq!((found.nacked.value, dropped(&found).value, found.lost.value), (0.0, 0.0, 0.0), "{flow}");
    }
}

#[test]
fn one_sender_of_long_messages_without_a_bound_fills_its_link_but_for_a_round_trip() {
    let packets = 40;
    let bytes = packets * PACKET_BYTES;
    let incast =
        Incast { senders: 1, short_share: 0.0, long_bytes: bytes, flow: FlowKind::Unbounded, ..Incast::default() };
    // One burst: its packets follow each other on the first link, and the last one crosses the
    // second.
    let expected = incast.on_link(PACKET_BYTES) * u64::from(packets + 1) + incast.latency + incast.service;
    let found = found(&incast, 1_000);
    assert!(within(found.long_p99_ps.value, expected.as_ps() as f64, 0.002), "{expected} and {found:?}");
}

#[test]
fn no_flow_control_gets_more_than_the_link_and_what_is_large_enough_loses_nothing() {
    for flow in FlowKind::ALL {
        let roomy = Incast { flow, buffer_bytes: 16 << 20, switch_bytes: 64 << 20, ..Incast::default() };
        let found = found(&roomy, 4_000);
        assert_eq!((found.nacked.value, dropped(&found).value, found.lost.value), (0.0, 0.0, 0.0), "{flow}: {found:?}");
        let most = roomy.goodput_gbps_max();
        assert!(
            found.goodput_gbps.lo <= most * 1.01 && found.goodput_gbps.value > most * 0.85,
            "{flow}: {most} {found:?}"
        );
    }
}

#[test]
fn whatever_the_sizes_the_bounds_hold_and_every_message_ends() {
    nebula_testing::seeded(|u| {
        let short_bytes = u.int_in_range(1..=3000)?;
        let incast = Incast {
            senders: u.int_in_range(1..=24)?,
            flow: *u.choose(&FlowKind::ALL)?,
            short_bytes,
            long_bytes: short_bytes.max(u.int_in_range(1..=150_000)?),
            short_share: f64::from(u.int_in_range(0..=10_u8)?) / 10.0,
            switch_bytes: u.int_in_range(2_000..=200_000)?,
            buffer_bytes: 192 << 10,
            grants: GrantsConfig {
                unscheduled: u.int_in_range(0..=12)?,
                ahead: u.int_in_range(1..=12)?,
                overcommitment: u.int_in_range(0..=4)?,
                messages_max: u.int_in_range(0..=30)?,
                ..GrantsConfig::default()
            },
            ..Incast::default()
        };
        let found = incast.estimate(&effort(1_000).replications(2), &|| ()).expect("it ends");
        // Over few messages the mix is not that of many: the bound is the link itself.
        assert!(found.goodput_gbps.value <= incast.link_gbps, "{incast:?} {found:?}");
        let least = incast.latency + incast.on_link(incast.short_bytes.min(PACKET_BYTES)) * 2 + incast.service;
        let p99_ps = found.short_p99_ps.value;
        assert!(p99_ps == 0.0 || p99_ps >= least.as_ps() as f64 * 0.999, "{incast:?} {found:?}");
        for share in [found.nacked, dropped(&found), found.lost] {
            assert!((0.0..=1.0).contains(&share.value), "{incast:?} {found:?}");
        }
        Ok(())
    })
    .runs(20);
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    for flow in FlowKind::ALL {
        let of = || format!("{:?}", found(&Incast { flow, ..Incast::default() }, 1_000));
        assert_eq!(of(), of());
    }
}

#[test]
fn without_flow_control_goodput_collapses_and_with_either_it_does_not() {
    let [window, homa, none] = FlowKind::ALL.map(|flow| found(&Incast { flow, ..Incast::default() }, 8_000));
    let most = Incast::default().goodput_gbps_max();
    for found in [window, homa] {
        assert!(found.goodput_gbps.lo > most * 0.7 && dropped(&found).hi < 0.02, "{found:?}");
    }
    assert!(none.goodput_gbps.hi < most * 0.3 && dropped(&none).lo > 0.3, "{none:?}");
}

#[test]
fn with_room_in_buffer_and_switch_short_messages_pass_long_ones_under_homa_alone() {
    let roomy = Incast { buffer_bytes: 8 << 20, switch_bytes: 8 << 20, ..Incast::default() };
    let [window, homa, none] = FlowKind::ALL.map(|flow| found(&Incast { flow, ..roomy.clone() }, 6_000));
    assert!(homa.short_p99_ps.hi < window.short_p99_ps.lo / 2.0, "{homa:?} {window:?}");
    assert!(homa.short_p99_ps.hi < none.short_p99_ps.lo / 2.0, "{homa:?} {none:?}");
}

#[test]
fn what_cannot_be_simulated_says_why() {
    let wrong: [(Incast, &str); 7] = [
        (Incast { senders: 0, ..Incast::default() }, "0 senders"),
        (Incast { senders: SENDERS_MAX + 1, ..Incast::default() }, "give 1 to 4096"),
        (Incast { short_bytes: 70_000, ..Incast::default() }, "the shorter first"),
        (Incast { long_bytes: MESSAGE_BYTES_MAX + 1, ..Incast::default() }, "give 1 to 1048576"),
        (Incast { short_share: 1.1, ..Incast::default() }, "a share of 1.1"),
        (Incast { buffer_bytes: 4096, ..Incast::default() }, "holds no long message"),
        (Incast { retry: Span::from_secs(2), ..Incast::default() }, "at most a second"),
    ];
    for (incast, expected) in wrong {
        let error = incast.estimate(&effort(1_000), &|| ()).unwrap_err();
        assert!(matches!(error, SimError::Incast { .. }) && error.to_string().contains(expected), "{error}");
    }
}
