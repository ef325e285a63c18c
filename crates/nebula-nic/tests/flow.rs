//! Flow control against slow and obvious models: what each kind lets out, and whom a receiver grants.

use nebula_nic::{
    FlowControl, FlowKind, Grant, Grants, GrantsConfig, Homa, NodeId, Progress, RpcKey, Timestamp, TransferId,
    Unbounded, Window, WindowConfig,
};
use std::collections::BTreeMap;

fn rpc(node: u32, tid: u32) -> RpcKey {
    RpcKey { snid: NodeId(node), tid: TransferId(tid) }
}

#[test]
fn room_is_what_the_kind_says_whatever_happens() {
    seeded::seeded(|u| {
        let mut window = Window::new(WindowConfig { first: u.int_in_range(1..=100)?, max: u.int_in_range(1..=300)? });
        let mut by_hand = window.clone();
        let unscheduled = u.int_in_range(0..=20)?;
        let (homa, unbounded) = (Homa::new(unscheduled), Unbounded);
        for now in 0..u.int_in_range(1..=200)? {
            let (packets, sent, granted) =
                (u.int_in_range(0..=100)?, u.int_in_range(0..=110)?, u.int_in_range(0..=110)?);
            let (message, in_flight) = (Progress { packets, sent, granted }, u.int_in_range(0..=150)?);
            let left = packets.saturating_sub(sent);
            assert_eq!(unbounded.room(in_flight, message), left);
            assert_eq!(window.room(in_flight, message), by_hand.packets().saturating_sub(in_flight).min(left));
            // Packet by packet: each that is unscheduled or granted may go.
            let may_go = |packet: u32| packet < unscheduled.max(1) || packet < granted;
            let room = (sent..packets).take_while(|&packet| may_go(packet)).count();
            assert_eq!(homa.room(in_flight, message) as usize, room, "{message:?}");
            let at = Timestamp::from_ps(now);
            let flow: &mut dyn FlowControl = &mut window;
            match u.int_in_range(0..=4)? {
                0 => (flow.answered(in_flight, in_flight), by_hand.answered(in_flight, in_flight)).0,
                1 => (flow.refused(at, at), by_hand.refused(at, at)).0,
                2 => (flow.lost(1, at), by_hand.lost(1, at)).0,
                3 => (flow.found(1), by_hand.found(1)).0,
                _ => (flow.silence(), by_hand.silence()).0,
            }
            assert_eq!(format!("{window:?}"), format!("{by_hand:?}"), "the window's decisions are its own");
        }
        Ok(())
    });
}

/// A message, as the model keeps it: which of its packets have come is a list.
#[derive(Clone, Debug)]
struct Message {
    packets: u32,
    received: u32,
    granted: u32,
    number: usize,
}

/// All messages by name, sorted again for each grant.
#[derive(Default)]
struct Model {
    messages: BTreeMap<(u32, u32), Message>,
    begun: usize,
}

impl Model {
    fn packet(&mut self, config: GrantsConfig, name: (u32, u32), packets: u32) -> bool {
        let is_known = self.messages.contains_key(&name);
        if !is_known && (packets == 0 || self.messages.len() == config.messages_max as usize) {
            return false;
        }
        let number = self.begun;
        let new = Message { packets, received: 0, granted: config.unscheduled.min(packets), number };
        self.begun += usize::from(!is_known);
        let message = self.messages.entry(name).or_insert(new);
        message.received += 1;
        if message.received == message.packets {
            self.messages.remove(&name);
        }
        true
    }

    fn grant(&mut self, config: GrantsConfig) -> Option<Grant> {
        let mut open: Vec<_> = self.messages.iter().filter(|(_, message)| message.granted < message.packets).collect();
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
        self.messages.get_mut(&name)?.granted = packets;
        Some(Grant { rpc: rpc(name.0, name.1), packets })
    }
}

#[test]
fn grants_are_those_of_the_naive_model_for_any_history() {
    seeded::seeded(|u| {
        let config = GrantsConfig {
            unscheduled: u.int_in_range(0..=4)?,
            ahead: u.int_in_range(0..=6)?,
            overcommitment: u.int_in_range(0..=4)?,
            messages_max: u.int_in_range(0..=8)?,
        };
        let (mut grants, mut model) = (Grants::new(config), Model::default());
        for _ in 0..u.int_in_range(1..=150)? {
            let name = (u.int_in_range(0..=3)?, u.int_in_range(0..=3)?);
            // The length of a message is always the same.
            let packets = (name.0 * 5 + name.1 * 3) % 13;
            match u.int_in_range(0..=5)? {
                0 => {
                    grants.forget(rpc(name.0, name.1));
                    model.messages.remove(&name);
                }
                1 | 2 => loop {
                    let grant = grants.poll_grant();
                    assert_eq!(grant, model.grant(config));
                    if grant.is_none() {
                        break;
                    }
                },
                _ => {
                    let is_known = grants.handle_packet(rpc(name.0, name.1), packets);
                    assert_eq!(is_known, model.packet(config, name, packets));
                }
            }
            assert_eq!(grants.messages(), model.messages.len());
        }
        Ok(())
    });
}

#[test]
fn every_message_ends_and_no_more_of_one_is_on_the_way_than_is_granted() {
    let config = GrantsConfig { unscheduled: 2, ahead: 3, overcommitment: 2, messages_max: 64 };
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
                assert!(grants.handle_packet(rpc(sender, 0), message.packets));
            }
            if room > 0 && message.left() == 0 {
                ended.push(message.packets);
            }
        }
        let mut is_granted = false;
        while let Some(Grant { rpc, packets }) = grants.poll_grant() {
            messages[rpc.snid.0 as usize].granted = packets;
            is_granted = true;
        }
        assert!(is_granted || ended.len() > before, "nothing goes on: {messages:?}");
    }
    assert_eq!(grants.messages(), 0);
    // Beyond those of the first turn, which come unasked, the shortest end first but for the two at once.
    let late: Vec<u32> = ended.into_iter().filter(|&packets| packets > config.unscheduled).collect();
    assert!(late.windows(3).all(|three| three[2] + config.ahead >= three[0]), "{late:?}");
}

#[test]
fn kinds_are_written_as_they_are_read() {
    for kind in FlowKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert!("".parse::<FlowKind>().unwrap_err().to_string().contains("window, homa or none"));
}
