//! Retransmission compared with a plain list of the RPCs in flight, over long random histories.

use arbitrary::{Arbitrary, Unstructured};
use nebula_nic::{Span, Timestamp};
use nebula_requester::{FlowKind, Overdue, Retransmit, RetransmitConfig, Window};
use std::collections::BTreeMap;

const PLACES: u32 = 6;
const TRANSMISSIONS_MAX: u32 = 4;

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Op {
    Sent { place: u8, packets: u8 },
    Answered { place: u8 },
    Acked { place: u8 },
    Refused { place: u8 },
    Ended { place: u8 },
    Arrived { place: u8 },
    Waits { place: u8 },
    Pass { us: u16 },
}

/// One RPC that awaits something.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    since: Timestamp,
    packets: u32,
    transmissions: u32,
    acks: u32,
    /// It may become overdue; otherwise the caller must send it again.
    is_waiting: bool,
    /// It was acknowledged since its last transmission.
    is_acked: bool,
    /// How often the timeout was doubled at its last transmission.
    doublings: u32,
}

#[derive(Debug, Default)]
struct Model {
    flights: BTreeMap<u32, Flight>,
    now: Timestamp,
}

impl Model {
    fn due(&self, flight: &Flight, machine: &Retransmit) -> Timestamp {
        let rto = machine.rtt();
        let wait = if flight.is_acked {
            Span::from_ms(10).max(rto.rto() * 2) * (1 << (flight.acks - 1).min(7))
        } else {
            rto.rto_doubled(flight.doublings.min(13))
        };
        flight.since + wait.min(Span::from_secs(1))
    }

    fn waiting(&self) -> impl Iterator<Item = (&u32, &Flight)> {
        self.flights.iter().filter(|(_, flight)| flight.is_waiting)
    }

    fn apply(&mut self, machine: &mut Retransmit, op: Op) {
        let now = self.now;
        let at = |place: u8| u32::from(place) % PLACES;
        match op {
            Op::Sent { place, packets } => {
                let (place, packets) = (at(place), 1 + u32::from(packets % 3));
                machine.sent(now, place, packets);
                let flight = self.flights.entry(place).or_default();
                flight.doublings = flight.transmissions + u32::from(packets > 1);
                flight.transmissions += 1;
                (flight.since, flight.packets, flight.is_waiting, flight.is_acked) = (now, packets, true, false);
            }
            Op::Answered { place } => {
                machine.answered(now, at(place));
                self.flights.remove(&at(place));
            }
            Op::Refused { place } => {
                machine.refused(now, at(place));
                self.flights.remove(&at(place));
            }
            Op::Ended { place } => {
                machine.ended(at(place));
                self.flights.remove(&at(place));
            }
            Op::Acked { place } => {
                machine.acked(now, at(place));
                if let Some(flight) = self.flights.get_mut(&at(place)) {
                    let acks = flight.acks + 1;
                    *flight =
                        Flight { since: now, transmissions: 1, acks, is_waiting: true, is_acked: true, ..*flight };
                    flight.packets = 0;
                }
            }
            Op::Arrived { place } => {
                machine.arrived(now, at(place));
                let flight = self.flights.get_mut(&at(place));
                if let Some(flight) = flight.filter(|flight| flight.is_waiting && flight.packets > 0) {
                    (flight.since, flight.packets) = (now, flight.packets - 1);
                }
            }
            Op::Waits { place } => {
                machine.waits(now, at(place));
                let flight = self.flights.entry(at(place)).or_default();
                let (acks, doublings) = (flight.acks + 1, 1 + flight.acks);
                *flight = Flight {
                    since: now,
                    acks,
                    doublings,
                    packets: 0,
                    transmissions: 1,
                    is_waiting: true,
                    is_acked: false,
                };
            }
            Op::Pass { us } => self.now = now + Span::from_us(us.into()),
        }
        self.check(machine);
        self.drain(machine);
        self.check(machine);
    }

    fn check(&self, machine: &Retransmit) {
        let in_flight: u32 = self.waiting().map(|(_, flight)| flight.packets).sum();
        assert_eq!(machine.in_flight(), in_flight);
        let awaited = (0..PLACES).filter(|&place| machine.is_awaited(place));
        assert!(awaited.eq(self.waiting().map(|(&place, _)| place)));
        assert_eq!(machine.poll_timeout(), self.waiting().map(|(_, flight)| self.due(flight, machine)).min());
        // Without a window there is no common bound.
        let packets = machine.flow().window().map_or(u32::MAX, Window::packets);
        assert!(machine.flow().kind() != FlowKind::Window || (1..=4096).contains(&packets));
        let room = machine.flow().window().map_or(u32::MAX, |window| window.packets().saturating_sub(in_flight));
        assert_eq!(machine.room(self.now), if self.now < machine.paced_until() { 0 } else { room });
    }

    /// Takes overdue RPCs. All whose time is over must be reported; others only with an undoubled
    /// timeout and no acknowledgment.
    fn drain(&mut self, machine: &mut Retransmit) {
        loop {
            let due: Vec<u32> = self
                .waiting()
                .filter(|(_, flight)| self.due(flight, machine) <= self.now)
                .map(|(&place, _)| place)
                .collect();
            let Some(overdue) = machine.poll_overdue(self.now) else {
                assert!(due.is_empty(), "{due:?} are due and were not reported");
                return;
            };
            let (Overdue::Lost { place } | Overdue::GaveUp { place }) = overdue;
            let flight = self.flights.get_mut(&place).expect("something is awaited");
            assert!(flight.is_waiting);
            assert!(
                due.contains(&place) || (flight.doublings, flight.is_acked) == (0, false),
                "{place} is not overdue: {flight:?}"
            );
            assert_eq!(matches!(overdue, Overdue::GaveUp { .. }), flight.transmissions >= TRANSMISSIONS_MAX);
            flight.is_waiting = false;
            if matches!(overdue, Overdue::GaveUp { .. }) {
                self.flights.remove(&place);
            }
        }
    }
}

#[test]
fn what_is_overdue_is_what_a_plain_list_says() {
    nebula_testing::seeded(|u: &mut Unstructured<'_>| {
        let flow = *u.choose(&FlowKind::ALL)?;
        let config = RetransmitConfig { transmissions_max: TRANSMISSIONS_MAX, flow, ..RetransmitConfig::new(PLACES) };
        let (mut machine, mut model) = (Retransmit::new(config), Model::default());
        while !u.is_empty() {
            model.apply(&mut machine, u.arbitrary()?);
        }
        Ok(())
    })
    .size_max(2048)
    .runs(600);
}

fn at_us(us: u64) -> Timestamp {
    Timestamp::from_ps(us * 1_000_000)
}

/// After many round trips of 85 and 115 µs.
fn measured() -> (Retransmit, u64) {
    let mut flights = Retransmit::new(RetransmitConfig::new(64));
    for round in 0..100 {
        flights.sent(at_us(round * 200), 0, 1);
        flights.answered(at_us(round * 200 + 85 + 30 * (round % 2)), 0);
    }
    (flights, 100 * 200)
}

#[test]
fn what_is_overtaken_is_lost_but_not_what_the_server_has_nor_what_was_sent_again() {
    let (mut flights, now) = measured();
    for place in 0..3 {
        flights.sent(at_us(now), place, 1);
    }
    flights.acked(at_us(now + 10), 1);
    flights.sent(at_us(now + 10), 3, 1);
    flights.sent(at_us(now + 40), 4, 1);
    flights.answered(at_us(now + 110), 3);
    assert_eq!(flights.poll_overdue(at_us(now + 110)), None, "within the margin of some 30 µs");
    flights.answered(at_us(now + 140), 4);
    assert_eq!(flights.poll_overdue(at_us(now + 140)), Some(Overdue::Lost { place: 0 }));
    flights.sent(at_us(now + 140), 0, 1);
    assert_eq!(flights.poll_overdue(at_us(now + 140)), Some(Overdue::Lost { place: 2 }));
    flights.sent(at_us(now + 140), 2, 1);
    flights.sent(at_us(now + 200), 5, 1);
    flights.answered(at_us(now + 290), 5);
    assert_eq!(flights.poll_overdue(at_us(now + 290)), None, "the second time only after twice its time-out");
}

#[test]
fn answers_that_come_late_and_not_never_widen_the_margin() {
    let (mut flights, mut now) = measured();
    let mut early = 0;
    for _ in 0..20 {
        flights.sent(at_us(now), 0, 1);
        flights.sent(at_us(now + 40), 1, 1);
        flights.answered(at_us(now + 135), 1);
        if flights.poll_overdue(at_us(now + 135)) == Some(Overdue::Lost { place: 0 }) {
            early += 1;
            flights.sent(at_us(now + 135), 0, 1);
            flights.acked(at_us(now + 140), 0);
        }
        flights.answered(at_us(now + 141), 0);
        now += 200;
    }
    assert!((1..=3).contains(&early), "{early} of 20");
}
