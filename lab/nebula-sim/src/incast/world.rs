//! Links, the switch, and the order of events.

use super::packet::{OVERHEAD_BYTES, PACKET_BYTES, mtu};
use super::question::Incast;
use super::receiver::{Answer, Receiver, Service};
use super::sender::{Ended, Packet, Sender};
use crate::error::SimError;
use crate::tally::Distribution;
use crate::upcoming::Upcoming;
use nebula_nic::{Span, Timestamp};
use nebula_workload::Seed;

/// Simulated time after which a run is given up.
const SECONDS_MAX: u64 = 1000;

#[derive(Debug)]
pub(super) struct Tally {
    pub(super) answered: u64,
    pub(super) lost: u64,
    /// Tries that were NACKed.
    pub(super) nacked: u64,
    /// Packets that came to the switch, and that it dropped.
    pub(super) sent: u64,
    pub(super) dropped: u64,
    /// Times of answered messages, in picoseconds.
    pub(super) short: Distribution,
    pub(super) long: Distribution,
    /// Payload that was answered, and the time of this, in each half.
    bytes: [u64; 2],
    spans: [Span; 2],
}

impl Tally {
    fn new() -> Self {
        Self {
            answered: 0,
            lost: 0,
            nacked: 0,
            sent: 0,
            dropped: 0,
            short: Distribution::new(),
            long: Distribution::new(),
            bytes: [0; 2],
            spans: [Span::ZERO; 2],
        }
    }

    pub(super) fn goodput_gbps(&self) -> f64 {
        gbps(self.bytes[0] + self.bytes[1], self.spans[0] + self.spans[1])
    }

    pub(super) fn half_gbps(&self, half: usize) -> f64 {
        gbps(self.bytes[half], self.spans[half])
    }
}

fn gbps(bytes: u64, span: Span) -> f64 {
    bytes as f64 * 8e3 / (span.as_ps() as f64).max(1.0)
}

#[derive(Clone, Copy, Debug)]
enum Event {
    AtSwitch(Packet),
    AtReceiver(Packet),
    Served(Service),
    AtSender(Answer),
    /// A sender's turn.
    Look(u32),
}

pub(super) struct World<'a> {
    incast: &'a Incast,
    now: Timestamp,
    events: Upcoming<Event>,
    senders: Vec<Sender>,
    receiver: Receiver,
    /// The switch's port is busy until then.
    port_free: Timestamp,
    /// The time to send the longest queue there.
    port_most: Span,
    outgoing: Vec<Packet>,
    ended: u64,
    opened: Timestamp,
    tally: Tally,
}

impl<'a> World<'a> {
    /// All senders begin at once.
    pub(super) fn try_new(incast: &'a Incast, seed: Seed) -> Result<Self, SimError> {
        let full = f64::from(incast.switch_bytes) / f64::from(PACKET_BYTES + OVERHEAD_BYTES);
        let now = Timestamp::ZERO;
        let sender = |node: u16| {
            let draws = seed.replica((1 << 40) + u64::from(node)).stream("incast");
            Sender::new(incast, node, draws, now)
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and short")]
        let port_most = Span::from_ps((full * incast.on_link(PACKET_BYTES).as_ps() as f64) as u64);
        let mut world = Self {
            incast,
            now,
            events: Upcoming::new(),
            senders: (0..incast.senders).map(sender).collect(),
            receiver: Receiver::try_new(incast)?,
            port_free: now,
            port_most,
            outgoing: Vec::new(),
            ended: 0,
            opened: now,
            tally: Tally::new(),
        };
        for index in 0..u32::from(incast.senders) {
            world.events.set(now, Event::Look(index));
        }
        Ok(world)
    }

    /// Runs until `messages` have ended after the first `warmup`.
    pub(super) fn run(mut self, warmup: u64, messages: u64) -> Result<Tally, SimError> {
        self.until(warmup)?;
        (self.tally, self.opened) = (Tally::new(), self.now);
        for half in 0..2 {
            let (bytes, opened) = (self.tally.bytes, self.now);
            self.until(warmup + messages * (half + 1) / 2)?;
            let total = self.tally.bytes[0];
            let half = usize::from(half == 1);
            // Answers count for the first half until it is over.
            if half == 1 {
                self.tally.bytes = [bytes[0], total - bytes[0]];
            }
            self.tally.spans[half] = self.now - opened;
        }
        Ok(self.tally)
    }

    fn until(&mut self, ended: u64) -> Result<(), SimError> {
        while self.ended < ended {
            let Some((at, event)) = self.events.pop() else { break };
            self.now = at;
            if at > Timestamp::ZERO + Span::from_secs(SECONDS_MAX) {
                return Err(SimError::Endless { seconds: SECONDS_MAX });
            }
            self.handle(event);
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::AtSwitch(packet) => self.switch(packet),
            Event::AtReceiver(packet) => {
                self.receiver.receive(self.now, packet);
                self.answer();
            }
            Event::Served(service) => {
                self.receiver.finish(service);
                self.answer();
            }
            Event::AtSender(answer) => {
                let sender = &mut self.senders[answer.to.0 as usize];
                let ended = sender.handle(self.incast, self.now, answer);
                self.count(ended);
                self.look(answer.to.0);
            }
            Event::Look(index) => {
                let sender = &mut self.senders[index as usize];
                sender.timer = sender.timer.filter(|&at| at > self.now);
                self.look(index);
            }
        }
    }

    /// Lets a sender send what is due, and sets its next turn.
    fn look(&mut self, index: u32) {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        let ended = self.senders[index as usize].turn(self.incast, self.now, &mut outgoing);
        self.count(ended);
        for packet in outgoing.drain(..) {
            let on_link = self.incast.on_link(payload(&packet));
            let sender = &mut self.senders[index as usize];
            sender.link_free = sender.link_free.max(self.now) + on_link;
            let at = sender.link_free + self.incast.latency / 4;
            self.events.set(at, Event::AtSwitch(packet));
        }
        self.outgoing = outgoing;
        let sender = &mut self.senders[index as usize];
        let due = sender.poll_timeout(self.now);
        if let Some(due) = due.filter(|&due| sender.timer.is_none_or(|at| due < at)) {
            sender.timer = Some(due);
            self.events.set(due, Event::Look(index));
        }
    }

    /// A packet joins the queue of the port to the receiver, or is dropped.
    fn switch(&mut self, packet: Packet) {
        self.tally.sent += 1;
        let on_link = self.incast.on_link(payload(&packet));
        let begins = self.port_free.max(self.now);
        if begins - self.now + on_link > self.port_most {
            self.tally.dropped += 1;
            return;
        }
        self.port_free = begins + on_link;
        self.events.set(self.port_free + self.incast.latency / 4, Event::AtReceiver(packet));
    }

    /// Sends the receiver's answers, and starts its cores.
    fn answer(&mut self) {
        let at = self.now + self.incast.latency / 2;
        for answer in std::mem::take(&mut self.receiver.answers) {
            self.events.set(at, Event::AtSender(answer));
        }
        let until = self.now + self.incast.service;
        for service in std::mem::take(&mut self.receiver.begun) {
            self.events.set(until, Event::Served(service));
        }
    }

    fn count(&mut self, ended: Option<Ended>) {
        match ended {
            None => {}
            Some(Ended::Refused) => self.tally.nacked += 1,
            Some(Ended::Lost) => {
                self.tally.lost += 1;
                self.ended += 1;
            }
            Some(Ended::Answered { is_short, bytes, begun }) => {
                let times = if is_short { &mut self.tally.short } else { &mut self.tally.long };
                times.record((self.now - begun).as_ps());
                self.tally.answered += 1;
                self.tally.bytes[0] += u64::from(bytes);
                self.ended += 1;
            }
        }
    }
}

fn payload(packet: &Packet) -> u32 {
    mtu().packet_bytes(packet.header.rpc_bytes, packet.header.pkt_idx)
}
