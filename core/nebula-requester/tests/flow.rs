//! Flow control compared with slow, obvious models: what each kind lets out, and whom a receiver
//! grants.

use nebula_nic::{Grant, Grants, GrantsConfig, NodeId, RpcKey, Span, Timestamp, TransferId};
use nebula_requester::{FlowControl, FlowKind, Homa, Progress, Unbounded, Window, WindowConfig};
use std::collections::BTreeMap;

fn rpc(node: u32, tid: u32) -> RpcKey {
    RpcKey { snid: NodeId(node), tid: TransferId(tid) }
}

#[test]
fn room_is_what_the_kind_says_whatever_happens() {
    nebula_testing::seeded(|u| {
        let mut window = Window::new(WindowConfig { first: u.int_in_range(1..=100)?, max: u.int_in_range(1..=300)? });
        let mut by_hand = window.clone();
        let unscheduled = u.int_in_range(0..=20)?;
        let (mut homa, unbounded) = (Homa::new(unscheduled), Unbounded);
        let mut unasked = unscheduled.max(1);
        for now in 0..u.int_in_range(1..=200)? {
            let (packets, sent, granted) =
                (u.int_in_range(0..=100)?, u.int_in_range(0..=110)?, u.int_in_range(0..=110)?);
            let (message, in_flight) = (Progress { packets, sent, granted }, u.int_in_range(0..=150)?);
            let left = packets.saturating_sub(sent);
            assert_eq!(unbounded.room(in_flight, message), left);
            assert_eq!(window.room(in_flight, message), by_hand.packets().saturating_sub(in_flight).min(left));
            // Packet by packet: each that is unscheduled or granted may go.
            let may_go = |packet: u32| packet < unasked || packet < granted;
            let room = (sent..packets).take_while(|&packet| may_go(packet)).count();
            assert_eq!(homa.room(in_flight, message) as usize, room, "{message:?}");
            let at = Timestamp::from_ps(now);
            let event = u.int_in_range(0..=4)?;
            let flows: [&mut dyn FlowControl; 2] = [&mut window, &mut homa];
            for flow in flows {
                match event {
                    0 => flow.answered(in_flight, in_flight),
                    1 => flow.refused(at, at),
                    2 => flow.lost(1, at),
                    3 => flow.found(1),
                    _ => flow.silence(),
                }
            }
            match event {
                0 => (by_hand.answered(in_flight, in_flight), unasked = unscheduled.max(1)).0,
                1 => (by_hand.refused(at, at), unasked = 1).0,
                2 => by_hand.lost(1, at),
                3 => by_hand.found(1),
                _ => by_hand.silence(),
            }
            assert_eq!(format!("{window:?}"), format!("{by_hand:?}"), "the window's decisions are its own");
        }
        Ok(())
    });
}

#[derive(Clone, Debug)]
struct Message {
    packets: u32,
    received: u32,
    granted: u32,
    number: usize,
    since: u64,
}

fn is_silent(message: &Message, now: u64, config: GrantsConfig) -> bool {
    message.granted > message.received && now - message.since > config.patience.as_ps()
}

/// All messages by name, sorted again for each grant.
#[derive(Default)]
struct Model {
    messages: BTreeMap<(u32, u32), Message>,
    begun: usize,
}

impl Model {
    fn packet(&mut self, now: u64, config: GrantsConfig, name: (u32, u32), packets: u32) -> bool {
        let is_known = self.messages.contains_key(&name);
        if !is_known && (packets == 0 || self.messages.len() == config.messages_max as usize) {
            return false;
        }
        let number = self.begun;
        let granted = config.unscheduled.min(packets);
        let new = Message { packets, received: 0, granted, number, since: now };
        self.begun += usize::from(!is_known);
        let message = self.messages.entry(name).or_insert(new);
        message.received += 1;
        message.since = now;
        if message.received == message.packets {
            self.messages.remove(&name);
        }
        true
    }

    /// A message that asks is known from then on, or forgotten at once without room.
    fn ask(&mut self, now: u64, config: GrantsConfig, name: (u32, u32), packets: u32) -> u32 {
        let received = self.messages.get(&name).map_or(1, |message| message.received);
        if !self.messages.contains_key(&name) {
            if packets == 0 || self.messages.len() == config.messages_max as usize {
                return packets.min(config.unscheduled.max(2));
            }
            let (granted, number) = (config.unscheduled.min(packets), self.begun);
            self.begun += 1;
            self.messages.insert(name, Message { packets, received: 0, granted, number, since: now });
        }
        let message = self.messages.get_mut(&name).expect("it is known");
        message.received = received.min(packets - 1);
        if message.granted <= message.received {
            (message.granted, message.since) = (message.received + 1, now);
        }
        message.granted
    }

    fn silent(&self, now: u64, config: GrantsConfig) -> Option<RpcKey> {
        let silent = self.messages.iter().filter(|(_, message)| is_silent(message, now, config));
        silent.min_by_key(|(_, message)| (message.since, message.number)).map(|(name, _)| rpc(name.0, name.1))
    }

    fn grant(&mut self, now: u64, config: GrantsConfig) -> Option<Grant> {
        let is_open = |message: &Message| message.granted < message.packets && !is_silent(message, now, config);
        let mut open: Vec<_> = self.messages.iter().filter(|(_, message)| is_open(message)).collect();
        open.sort_by_key(|(_, message)| (message.packets - message.received, message.number));
        let mut senders = Vec::new();
        open.retain(|((sender, _), _)| {
            let is_first = !senders.contains(sender);
            senders.push(*sender);
            is_first
        });
        open.truncate(config.overcommitment.max(1) as usize);
        let bound = |message: &Message| message.packets.min(message.received + config.ahead);
        let &(&name, message) = open.iter().find(|(_, message)| bound(message) > message.granted)?;
        let packets = bound(message);
        let message = self.messages.get_mut(&name)?;
        (message.granted, message.since) = (packets, now);
        Some(Grant { rpc: rpc(name.0, name.1), packets })
    }
}

#[test]
fn grants_are_those_of_the_naive_model_for_any_history() {
    nebula_testing::seeded(|u| {
        let config = GrantsConfig {
            unscheduled: u.int_in_range(0..=4)?,
            ahead: u.int_in_range(0..=6)?,
            overcommitment: u.int_in_range(0..=4)?,
            messages_max: u.int_in_range(0..=8)?,
            patience: Span::from_ps(u.int_in_range(0..=20)?),
        };
        let mut now = 0;
        let (mut grants, mut model) = (Grants::new(config), Model::default());
        for _ in 0..u.int_in_range(1..=150)? {
            let name = (u.int_in_range(0..=3)?, u.int_in_range(0..=3)?);
            // A message's length never changes.
            let packets = (name.0 * 5 + name.1 * 3) % 13;
            now += u.int_in_range(0..=4)?;
            let at = Timestamp::from_ps(now);
            match u.int_in_range(0..=6)? {
                6 => {
                    let received = model.messages.get(&name).map_or(1, |message| message.received);
                    let grant = grants.handle_ask(at, rpc(name.0, name.1), packets, received);
                    assert_eq!(grant.packets, model.ask(now, config, name, packets), "{name:?}");
                }
                0 => {
                    grants.forget(rpc(name.0, name.1));
                    model.messages.remove(&name);
                }
                1 | 2 => loop {
                    let grant = grants.poll_grant(at);
                    assert_eq!(grant, model.grant(now, config));
                    if grant.is_none() {
                        break;
                    }
                },
                _ => {
                    let is_known = grants.handle_packet(at, rpc(name.0, name.1), packets);
                    assert_eq!(is_known, model.packet(now, config, name, packets));
                }
            }
            assert_eq!(grants.messages(), model.messages.len());
            assert_eq!(grants.silent(at), model.silent(now, config));
        }
        Ok(())
    });
}

#[test]
fn every_message_ends_and_no_more_of_one_is_on_the_way_than_is_granted() {
    let config = GrantsConfig { unscheduled: 2, ahead: 3, overcommitment: 2, ..GrantsConfig::default() };
    let now = Timestamp::ZERO;
    let (mut grants, homa) = (Grants::new(config), Homa::new(config.unscheduled));
    let mut messages: Vec<Progress> =
        (0..64).map(|sender| Progress { packets: 1 + sender % 30, sent: 0, granted: 0 }).collect();
    let mut ended = Vec::new();
    while ended.len() < messages.len() {
        let before = ended.len();
        for sender in 0..64_u32 {
            let message = &mut messages[sender as usize];
            let room = homa.room(0, *message);
            assert!(room <= config.unscheduled.max(config.ahead), "{message:?}");
            for _ in 0..room {
                message.sent += 1;
                assert!(grants.handle_packet(now, rpc(sender, 0), message.packets));
            }
            if room > 0 && message.left() == 0 {
                ended.push(message.packets);
            }
        }
        let mut is_granted = false;
        while let Some(Grant { rpc, packets }) = grants.poll_grant(now) {
            messages[rpc.snid.0 as usize].granted = packets;
            is_granted = true;
        }
        assert!(is_granted || ended.len() > before, "nothing goes on: {messages:?}");
    }
    assert_eq!(grants.messages(), 0);
    // Beyond the unscheduled packets, the shortest end first, except for the two at once.
    let late: Vec<u32> = ended.into_iter().filter(|&packets| packets > config.unscheduled).collect();
    assert!(late.windows(3).all(|three| three[2] + config.ahead >= three[0]), "{late:?}");
}

#[test]
fn who_is_granted_packets_and_sends_none_keeps_nobody_from_sending() {
    let config = GrantsConfig { unscheduled: 1, ahead: 4, overcommitment: 2, ..GrantsConfig::default() };
    let mut grants = Grants::new(config);
    let mut now = Timestamp::ZERO;
    // Three of ten packets stop after their first; an honest one of a hundred begins after them.
    for sender in 0..3 {
        assert!(grants.handle_packet(now, rpc(sender, 0), 10));
    }
    assert!(grants.handle_packet(now, rpc(9, 0), 100));
    let granted = |grants: &mut Grants, now| -> Vec<Grant> { std::iter::from_fn(|| grants.poll_grant(now)).collect() };
    assert_eq!(granted(&mut grants, now), [0, 1].map(|sender| Grant { rpc: rpc(sender, 0), packets: 5 }));
    now += config.patience;
    assert_eq!(granted(&mut grants, now), [], "they have that long");
    now += Span::from_ns(1);
    let expected = [Grant { rpc: rpc(2, 0), packets: 5 }, Grant { rpc: rpc(9, 0), packets: 5 }];
    assert_eq!(granted(&mut grants, now), expected);
    // A message that sends again is chosen again.
    assert!(grants.handle_packet(now, rpc(0, 0), 10));
    assert_eq!(granted(&mut grants, now), [Grant { rpc: rpc(0, 0), packets: 6 }]);
}

#[test]
fn a_message_that_asks_goes_on_by_a_packet_whatever_is_shorter() {
    let config =
        GrantsConfig { unscheduled: 1, ahead: 2, overcommitment: 1, messages_max: 2, ..GrantsConfig::default() };
    let (mut grants, now) = (Grants::new(config), Timestamp::ZERO);
    assert!(grants.handle_packet(now, rpc(0, 0), 5) && grants.handle_packet(now, rpc(1, 0), 50));
    assert_eq!(grants.poll_grant(now), Some(Grant { rpc: rpc(0, 0), packets: 3 }));
    for sent in 1..49 {
        let asked = grants.handle_ask(now, rpc(1, 0), 50, sent);
        assert_eq!((asked.packets, grants.handle_ask(now, rpc(1, 0), 50, sent)), (sent + 1, asked), "once a packet");
        assert!(grants.handle_packet(now, rpc(1, 0), 50));
    }
    // A message that is not known for lack of room goes on too.
    assert!(!grants.handle_packet(now, rpc(2, 0), 50));
    assert_eq!(grants.handle_ask(now, rpc(2, 0), 50, 7), Grant { rpc: rpc(2, 0), packets: 8 });
}

#[test]
fn kinds_are_written_as_they_are_read() {
    for kind in FlowKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert!("".parse::<FlowKind>().unwrap_err().to_string().contains("window, homa or none"));
}
