//! Packets leave in the order of their flow, compared with a list of all packets that is searched
//! from its start.

use nebula_nic::{FlowOrder, Ticket};

const PACKETS_MAX: u32 = 4;
const FLOWS: u32 = 2;

#[derive(Clone, Default)]
struct Model {
    /// Flow, ticket, and whether it has ended.
    packets: Vec<(u32, Ticket, bool)>,
}

impl Model {
    fn end(&mut self, ticket: Ticket) -> bool {
        let packet = self.packets.iter_mut().find(|packet| packet.1 == ticket && !packet.2);
        packet.map(|packet| packet.2 = true).is_some()
    }

    fn leaving(&mut self) -> Vec<Ticket> {
        let mut left = Vec::new();
        let first = |packets: &[(u32, Ticket, bool)], at: usize| packets[..at].iter().all(|p| p.0 != packets[at].0);
        while let Some(at) = (0..self.packets.len()).find(|&at| self.packets[at].2 && first(&self.packets, at)) {
            left.push(self.packets.remove(at).1);
        }
        left
    }
}

/// A packet of a flow arrives, or the packet with a ticket ends.
#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive(u32),
    End(u32),
}

fn apply(op: Op, order: &mut FlowOrder, model: &mut Model) {
    match op {
        Op::Arrive(hash) => {
            let ticket = order.handle_arrival(hash);
            assert_eq!(ticket.is_some(), model.packets.len() < PACKETS_MAX as usize, "{op:?}");
            if let Some(ticket) = ticket {
                assert!(model.packets.iter().all(|packet| packet.1 != ticket), "{ticket:?} is another's");
                model.packets.push((hash % FLOWS, ticket, false));
            }
        }
        Op::End(ticket) => assert_eq!(order.handle_end(Ticket(ticket)), model.end(Ticket(ticket)), "{op:?}"),
    }
    let left: Vec<_> = std::iter::from_fn(|| order.poll()).collect();
    assert_eq!(left, model.leaving(), "{op:?}");
    assert_eq!(order.inside() as usize, model.packets.len());
}

#[test]
fn every_short_history_leaves_in_the_order_of_its_flows() {
    let ops: Vec<Op> = (0..3).map(Op::Arrive).chain((0..=PACKETS_MAX).map(Op::End)).collect();
    fn go(ops: &[Op], left: u32, order: &FlowOrder, model: &Model) {
        if left == 0 {
            return;
        }
        for &op in ops {
            let (mut order, mut model) = (order.clone(), model.clone());
            apply(op, &mut order, &mut model);
            go(ops, left - 1, &order, &model);
        }
    }
    go(&ops, if cfg!(miri) { 3 } else { 6 }, &FlowOrder::new(PACKETS_MAX, FLOWS), &Model::default());
}

#[test]
fn long_histories_do_too() {
    nebula_testing::seeded(|u| {
        let (mut order, mut model) = (FlowOrder::new(PACKETS_MAX, FLOWS), Model::default());
        while !u.is_empty() {
            let op =
                if u.arbitrary()? { Op::Arrive(u.arbitrary()?) } else { Op::End(u.int_in_range(0..=PACKETS_MAX)?) };
            apply(op, &mut order, &mut model);
        }
        Ok(())
    });
}

#[test]
fn without_room_nothing_is_noted() {
    let mut order = FlowOrder::new(0, 1);
    assert_eq!((order.handle_arrival(0), order.handle_end(Ticket(0)), order.poll()), (None, false, None));
}
