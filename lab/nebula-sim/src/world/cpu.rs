//! Servers under a central policy: the NIC decides once which core serves an RPC to its end.
//!
//! Events are the ends of RPCs (the [`Calendar`]) and messages between NIC and cores (constant
//! latencies, so two FIFOs); those of the same time happen in that order.
//!
//! [`central_server`] is a server, [`cores`] its stations 8 to 10.

pub(crate) mod central_server;
mod cores;

use super::client::Request;
use super::servers::{Ended, Received, Servers};
use crate::calendar::Calendar;
use crate::error::SimError;
use crate::system::speeds::Speeds;
use crate::system::{Costs, System};
pub(super) use central_server::Serving;
pub(super) use cores::Cores;

use central_server::CentralServer;
use cores::Wires;
use nebula_nic::{CentralDispatch, Header, Timestamp, Verdict};
use nebula_workload::Seed;

pub(super) struct Central<'a, D: CentralDispatch> {
    costs: &'a Costs,
    speeds: Option<&'a Speeds>,
    has_queue: bool,
    cores_each: usize,
    servers: Box<[CentralServer<D>]>,
    /// The end of each core's service; core `c` of server `s` is source `s · cores + c`.
    calendar: Calendar,
    wires: Wires,
}

impl<'a, D: CentralDispatch> Central<'a, D> {
    /// Servers with room for `slots` RPCs each; `dispatch` creates a server's dispatch state.
    pub(super) fn try_new(
        system: &'a System,
        slots: u32,
        seed: Seed,
        dispatch: &impl Fn(u16, u64) -> D,
    ) -> Result<Self, SimError> {
        let one = |index| {
            let config = system.backend(slots, seed.replica(index).0)?;
            CentralServer::try_new(config, dispatch(config.cores, config.seed))
        };
        let servers: Box<[_]> = (0..u64::from(system.servers)).map(one).collect::<Result<_, SimError>>()?;
        let cores_each = usize::from(system.workers());
        let calendar = Calendar::new(cores_each * servers.len());
        let has_queue = system.queue_bound != Some(0);
        Ok(Self {
            costs: &system.costs,
            speeds: system.speeds.as_ref(),
            has_queue,
            cores_each,
            servers,
            calendar,
            wires: Wires::default(),
        })
    }
}

impl<D: CentralDispatch> Servers for Central<'_, D> {
    #[inline(always)]
    fn next_ps(&self) -> u64 {
        self.calendar.next_ps().min(self.wires.next_ps)
    }

    #[inline(always)]
    fn latest(&self) -> Timestamp {
        self.calendar.latest()
    }

    #[inline(always)]
    fn turn(&mut self, now: Timestamp) -> Option<Ended> {
        if self.calendar.next_ps() == now.as_ps() {
            return self.finish_next();
        }
        self.carry_next(now);
        None
    }

    #[inline(always)]
    fn receive(&mut self, now: Timestamp, server: u16, header: Header, request: &Request) -> Received {
        let has_queue = self.has_queue;
        let mut cores = self.cores(usize::from(server));
        let nic = &mut cores.server.backend;
        let depth = nic.queue_depth();
        let verdict =
            if has_queue { nic.handle_packet(now, header) } else { nic.handle_packet_without_queue(now, header) };
        if let Verdict::Write { slots, .. } = verdict {
            cores.server.in_flight[slots.start.0 as usize] = request.into();
            cores.hand_out(now);
        }
        Received { depth, verdict }
    }
}
