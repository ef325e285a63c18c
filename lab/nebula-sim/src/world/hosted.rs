//! A server whose cores and NIC exchange RPCs line by line over a host interface: PCIe doorbells
//! and stores, or a coherent interconnect.
//!
//! ```text
//!   client's core ─▶ batch ─▶ crossing ─▶ intake ─▶ balancer, FIFO of the flow ─▶ ring ─▶ core: service
//!         ▲                                                                                  │
//!         └───── ring ◀─ FIFO of the flow ◀─ intake ◀─ crossing ◀─ batch ◀──── reply ────────┘
//! ```
//!
//! Only loopback has the client's part; otherwise requests come from the network, and an RPC ends
//! when the NIC has its reply. `nebula-nic` decides: a [`Backend`](nebula_nic::Backend) per
//! direction, whose policy is the balancer and whose bound is the FIFO, and a
//! [`HostWatch`](nebula_nic::HostWatch) per flow of an adaptive interface.
//!
//! [`writer`] is a core with its batch, [`crossing`] gives the time when the NIC gets a line,
//! [`way`] is one direction through the NIC.

mod crossing;
mod way;
mod writer;

use super::client::Request;
use super::servers::{Ended, InFlight, Received, Servers};
use crate::error::SimError;
use crate::system::System;
use crate::system::host::Host;
use crate::tally::Tally;
use crate::tally::host::HostTraffic;
use crate::tally::overheads::Overheads;
use crate::upcoming::Upcoming;
use crossing::{Crossing, Intake};
use nebula_nic::{Choose, CoreId, Header, NackReason, RpcKey, SlotRange, Span, StaticFlow, Timestamp, Verdict};
use nebula_workload::{Rng, Seed};
use std::collections::VecDeque;
use way::{Given, Way};
use writer::Writer;

pub(super) struct Hosted<C: Choose> {
    host: Host,
    requests: Flows<C>,
    replies: Flows<StaticFlow>,
    intake: Intake,
    // -- RPCs, by place --
    rpcs: Box<[Rpc]>,
    unused: Vec<u32>,
    dropped: VecDeque<(RpcKey, u64)>,
    // -- events --
    events: Upcoming<Event>,
    now: Timestamp,
    lines: Vec<u32>,
    given: Vec<Given>,
}

struct Flows<C: Choose> {
    writers: Box<[Writer]>,
    crossings: Box<[Crossing]>,
    way: Way<C>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rpc {
    header: Header,
    served: InFlight,
    received: Timestamp,
    queued_ps: u64,
    overheads: Overheads,
    served_by: CoreId,
    core: CoreId,
    slots: SlotRange,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Request,
    Reply,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Crossed(Side, u32),
    /// The line is through the NIC's pipeline.
    Admit(Side, u32),
    /// The wait of a batch is over.
    Tell(Side, u16, u64),
    /// The wait of a flow's lines is over.
    Push(Side, u16, u64),
    Delivered(Side, u32),
    Served(u32),
}

impl<C: Choose> Flows<C> {
    fn try_new(system: &System, host: &Host, slots: u32, choice: C, phases: &mut Rng) -> Result<Self, SimError> {
        let flows = system.workers();
        Ok(Self {
            writers: vec![Writer::default(); flows.into()].into(),
            crossings: (0..flows).map(|_| Crossing::try_new(host, phases)).collect::<Result<_, _>>()?,
            way: Way::try_new(system.backend(slots, 0)?, host, choice)?,
        })
    }

    fn traffic(&self, host: &Host, now: Timestamp) -> HostTraffic {
        let mut all = HostTraffic::default();
        self.crossings.iter().for_each(|crossing| all += crossing.traffic(host, now));
        all
    }
}

impl<C: Choose> Hosted<C> {
    pub(super) fn try_new(system: &System, host: &Host, slots: u32, choice: C, seed: Seed) -> Result<Self, SimError> {
        let mut phases = seed.stream("poll-phases");
        Ok(Self {
            host: *host,
            requests: Flows::try_new(system, host, slots, choice, &mut phases)?,
            replies: Flows::try_new(system, host, slots, StaticFlow::new(system.workers()), &mut phases)?,
            intake: Intake::default(),
            rpcs: vec![Rpc::default(); slots as usize].into(),
            unused: (0..slots).rev().collect(),
            dropped: VecDeque::new(),
            events: Upcoming::new(),
            now: Timestamp::ZERO,
            lines: Vec::new(),
            given: Vec::new(),
        })
    }

    fn rpc(&mut self, place: u32) -> &mut Rpc {
        &mut self.rpcs[place as usize]
    }

    fn writer(&mut self, side: Side, flow: u16) -> &mut Writer {
        let flow = usize::from(flow);
        if side == Side::Request { &mut self.requests.writers[flow] } else { &mut self.replies.writers[flow] }
    }

    fn crossing(&mut self, side: Side, flow: u16) -> &mut Crossing {
        let flow = usize::from(flow);
        if side == Side::Request { &mut self.requests.crossings[flow] } else { &mut self.replies.crossings[flow] }
    }

    // -- from a core to the NIC --

    fn write(&mut self, now: Timestamp, side: Side, flow: u16, place: u32, work: Span) -> (Timestamp, Timestamp) {
        let host = self.host;
        if self.writer(side, flow).is_overdue(now) {
            self.tell(now, side, flow);
        }
        let written = self.writer(side, flow).write(now, place, work, &host);
        if written.is_full {
            self.tell(written.ended, side, flow);
        } else if written.is_first {
            let (due, told) = self.writer(side, flow).wait();
            self.events.set(due, Event::Tell(side, flow, told));
        }
        (written.begun, written.ended)
    }

    fn tell(&mut self, at: Timestamp, side: Side, flow: u16) {
        let host = self.host;
        let mut lines = std::mem::take(&mut self.lines);
        let left = self.writer(side, flow).tell(at, &host, &mut lines);
        self.crossing(side, flow).handle_told(&host, lines.len());
        for &place in &lines {
            let arrival = self.crossing(side, flow).arrival(&host, left);
            self.events.set(arrival, Event::Crossed(side, place));
        }
        // A batch's core time counts with its last RPC.
        if let (Side::Reply, Some(&last)) = (side, lines.last()) {
            self.rpc(last).overheads.dispatch_ps += host.store.as_ps();
        }
        self.lines = lines;
    }

    // -- through the NIC --

    fn admit(&mut self, now: Timestamp, side: Side, place: u32) -> Result<(), NackReason> {
        let header = self.rpc(place).header;
        match side {
            Side::Request => self.requests.way.admit(now, header, place),
            Side::Reply => self.replies.way.admit(now, header, place),
        }?;
        self.give(now, side);
        Ok(())
    }

    fn give(&mut self, now: Timestamp, side: Side) {
        let host = self.host;
        loop {
            let given = match side {
                Side::Request => self.requests.way.give(),
                Side::Reply => self.replies.way.give(),
            };
            let Some(given) = given else { return };
            let (first, is_enough) = match side {
                Side::Request => self.requests.way.gather(given, &host),
                Side::Reply => self.replies.way.gather(given, &host),
            };
            if is_enough {
                self.push(now, side, given.core);
            } else if let Some(written) = first {
                self.events.set(now + host.push_wait, Event::Push(side, given.core.0, written));
            }
        }
    }

    fn push(&mut self, now: Timestamp, side: Side, core: CoreId) {
        let mut given = std::mem::take(&mut self.given);
        match side {
            Side::Request => self.requests.way.write(core, &mut given),
            Side::Reply => self.replies.way.write(core, &mut given),
        }
        for &Given { place, core, slots } in &given {
            let rpc = self.rpc(place);
            (rpc.core, rpc.slots) = (core, slots);
            self.events.set(now + self.host.hop, Event::Delivered(side, place));
        }
        self.given = given;
    }

    fn still_pushes(&self, side: Side, core: CoreId, written: u64) -> bool {
        match side {
            Side::Request => self.requests.way.still_waits(core, written),
            Side::Reply => self.replies.way.still_waits(core, written),
        }
    }

    fn drop_rpc(&mut self, place: u32) {
        let Rpc { header, served, .. } = *self.rpc(place);
        self.dropped.push_back((header.rpc(), served.number));
        self.unused.push(place);
    }

    // -- at a core --

    /// A core serves the request in its ring after those before it.
    fn serve(&mut self, now: Timestamp, place: u32) {
        let Rpc { core, served, received, .. } = *self.rpc(place);
        let per_rpc = self.host.per_rpc;
        self.rpc(place).overheads.dispatch_ps = per_rpc.as_ps();
        self.rpc(place).served_by = core;
        let work = per_rpc + Span::from_ps(served.service_ps);
        let (begun, ended) = self.write(now, Side::Reply, core.0, place, work);
        self.rpc(place).queued_ps = (begun - received).as_ps();
        self.events.set(ended, Event::Served(place));
    }

    fn end(&mut self, place: u32) -> Ended {
        let Rpc { header, served_by, served, queued_ps, overheads, .. } = *self.rpc(place);
        self.unused.push(place);
        Ended { rpc: header.rpc(), core: Some(served_by.index()), served, queued_ps, overheads }
    }

    /// A line through the NIC's pipeline goes to its flow, or ends its RPC.
    fn admitted(&mut self, now: Timestamp, side: Side, place: u32) -> Option<Ended> {
        if side == Side::Reply && !self.host.loopback {
            return Some(self.end(place));
        }
        if self.admit(now, side, place).is_err() {
            self.drop_rpc(place);
        }
        None
    }

    /// The client has the reply, and frees its ring's entry.
    fn replied(&mut self, now: Timestamp, place: u32) -> Ended {
        let Rpc { core, slots, .. } = *self.rpc(place);
        self.replies.way.free(core, slots);
        self.give(now, Side::Reply);
        self.end(place)
    }

    /// The core has served the request, and frees its ring's entry.
    fn served(&mut self, now: Timestamp, place: u32) {
        let Rpc { core, slots, .. } = *self.rpc(place);
        self.requests.way.free(core, slots);
        self.give(now, Side::Request);
    }

    fn carry_out(&mut self, now: Timestamp, event: Event) -> Option<Ended> {
        match event {
            Event::Crossed(side, place) => {
                let through = self.intake.take(now, &self.host);
                self.events.set(through, Event::Admit(side, place));
            }
            Event::Admit(side, place) => return self.admitted(now, side, place),
            Event::Tell(side, flow, told) if self.writer(side, flow).still_waits(told) => self.tell(now, side, flow),
            Event::Push(side, core, written) if self.still_pushes(side, CoreId(core), written) => {
                self.push(now, side, CoreId(core));
            }
            Event::Tell(..) | Event::Push(..) => {}
            Event::Delivered(Side::Request, place) => self.serve(now, place),
            Event::Delivered(Side::Reply, place) => return Some(self.replied(now, place)),
            Event::Served(place) => self.served(now, place),
        }
        None
    }
}

impl<C: Choose> Servers for Hosted<C> {
    fn next_ps(&self) -> u64 {
        self.events.next_ps()
    }

    fn latest(&self) -> Timestamp {
        Timestamp::from_ps(u64::MAX / 4)
    }

    fn turn(&mut self, now: Timestamp) -> Option<Ended> {
        let (_, event) = self.events.pop()?;
        self.now = now;
        self.carry_out(now, event)
    }

    fn receive(&mut self, now: Timestamp, _: u16, header: Header, request: &Request) -> Received {
        let depth = self.requests.way.waiting();
        let refused = |reason| Received { depth, verdict: Verdict::Nack { reason } };
        let Some(place) = self.unused.pop() else { return refused(NackReason::BufferFull) };
        *self.rpc(place) = Rpc { header, served: request.into(), received: now, ..Rpc::default() };
        if self.host.loopback {
            // The flow of the connection: that of the client's thread.
            let flow = StaticFlow::new(u16::try_from(self.requests.writers.len()).unwrap_or(u16::MAX)).choose(&header);
            self.write(now, Side::Request, flow.0, place, self.host.per_rpc);
        } else if let Err(reason) = self.admit(now, Side::Request, place) {
            self.unused.push(place);
            return refused(reason);
        }
        let written =
            Verdict::Write { slots: SlotRange::default(), offset_bytes: 0, bytes: header.rpc_bytes, complete: true };
        Received { depth, verdict: written }
    }

    fn poll_dropped(&mut self) -> Option<(RpcKey, u64)> {
        self.dropped.pop_front()
    }

    fn account(&self, tally: &mut Tally) {
        tally.host = self.replies.traffic(&self.host, self.now);
        if self.host.loopback {
            tally.host += self.requests.traffic(&self.host, self.now);
        }
    }
}
