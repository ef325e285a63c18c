//! The servers of a tier: NICs that give copies to cores.

use super::table::Key;
use crate::calendar::Calendar;
use crate::error::SimError;
use crate::system::System;
use crate::system::speeds::Speeds;
use crate::world::client::header_of;
use crate::world::cpu::central_server::Core;
use nebula_nic::{Backend, CentralDispatch, CoreId, Dispatcher, SlotRange, Span, Timestamp, Verdict};
use nebula_workload::Seed;

pub(super) struct Nodes<'a> {
    servers: Box<[Node]>,
    /// The end of each core's service; core `c` of server `s` is source `s · cores + c`.
    pub(super) calendar: Calendar,
    cores_each: usize,
    has_queue: bool,
    speeds: Option<&'a Speeds>,
    /// Copies received so far: each is a separate flow.
    received: u64,
}

struct Node {
    backend: Backend<Dispatcher>,
    cores: Box<[Core]>,
    copies: Box<[Option<Key>]>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) server: usize,
    pub(super) core: usize,
}

impl<'a> Nodes<'a> {
    pub(super) fn try_new(system: &'a System, slots: u32, seed: Seed) -> Result<Self, SimError> {
        let one = |index| {
            let config = system.backend(slots, seed.replica(index).0)?;
            let dispatch = system.dispatcher(config.cores, config.seed);
            let bound = dispatch.bound();
            Ok(Node {
                backend: Backend::try_with(config, dispatch)?,
                cores: (0..config.cores).map(|id| Core::new(id, bound)).collect(),
                copies: vec![None; config.slots as usize].into(),
            })
        };
        let servers: Box<[_]> = (0..u64::from(system.servers)).map(one).collect::<Result<_, SimError>>()?;
        let cores_each = usize::from(system.workers());
        let calendar = Calendar::new(cores_each * servers.len());
        let (has_queue, speeds) = (system.queue_bound != Some(0), system.speeds.as_ref());
        Ok(Self { servers, calendar, cores_each, has_queue, speeds, received: 0 })
    }

    /// A copy reaches a server; returns the number of waiting copies, and the verdict.
    pub(super) fn receive(&mut self, now: Timestamp, server: u16, copy: Key) -> (u32, Verdict) {
        let header = header_of(self.received);
        self.received += 1;
        let node = &mut self.servers[usize::from(server)];
        let depth = node.backend.queue_depth();
        let verdict = match self.has_queue {
            true => node.backend.handle_packet(now, header),
            false => node.backend.handle_packet_without_queue(now, header),
        };
        if let Verdict::Write { slots, .. } = verdict {
            node.copies[slots.start.0 as usize] = Some(copy);
        }
        (depth, verdict)
    }

    pub(super) fn give_out(&mut self, server: usize) -> Option<Place> {
        let node = &mut self.servers[server];
        while let Some(dispatch) = node.backend.poll_dispatch() {
            let core = dispatch.core.index();
            node.cores[core].frontend.handle_dispatch(dispatch);
            if node.cores[core].frontend.in_service() == 0 {
                return Some(Place { server, core });
            }
        }
        None
    }

    /// The core begins its next copy, if any; [`serve`](Self::serve) follows.
    pub(super) fn begin(&mut self, Place { server, core }: Place) -> Option<Key> {
        let node = &mut self.servers[server];
        let begin = node.cores[core].frontend.poll_completion()?;
        node.cores[core].serving.slots = begin.arrival.slots;
        node.copies[begin.arrival.slots.start.0 as usize]
    }

    pub(super) fn time_ps(&self, core: usize, service_ps: u64) -> u64 {
        self.speeds.map_or(service_ps, |speeds| speeds.time_ps(core, service_ps))
    }

    pub(super) fn serve(&mut self, now: Timestamp, Place { server, core }: Place, time_ps: u64) {
        self.calendar.set(server * self.cores_each + core, now + Span::from_ps(time_ps));
    }

    pub(super) fn next_done(&self) -> Option<(Place, Option<Key>)> {
        let (_, source) = self.calendar.next()?;
        let place = Place { server: source / self.cores_each, core: source % self.cores_each };
        let node = &self.servers[place.server];
        Some((place, node.copies[node.cores[place.core].serving.slots.start.0 as usize]))
    }

    /// Releases the core's copy; [`free`](Self::free) follows after it has begun the next.
    pub(super) fn release(&mut self, Place { server, core }: Place) -> SlotRange {
        let core = &mut self.servers[server].cores[core];
        let slots = core.serving.slots;
        core.frontend.handle_release(slots);
        slots
    }

    #[expect(clippy::cast_possible_truncation, reason = "a core's number")]
    pub(super) fn free(&mut self, Place { server, core }: Place, slots: SlotRange) {
        self.servers[server].backend.handle_free(CoreId(core as u16), slots);
    }

    /// Clears the event of a core that serves nothing.
    pub(super) fn rest(&mut self, Place { server, core }: Place) {
        if self.servers[server].cores[core].frontend.in_service() == 0 {
            self.calendar.clear(server * self.cores_each + core);
        }
    }
}
