//! One direction through the NIC: a flow's FIFO admits or drops, and lines go to its ring.

use crate::error::SimError;
use crate::system::host::Host;
use nebula_nic::{Backend, BackendConfig, Choose, CoreId, Header, NackReason, PerCore, SlotRange, Timestamp, Verdict};

pub(super) struct Way<C: Choose> {
    backend: Backend<PerCore<C>>,
    places: Box<[u32]>,
    /// Lines to be written together by flow, and the number of writes so far.
    pushes: Box<[Push]>,
}

#[derive(Clone, Debug, Default)]
struct Push {
    lines: Vec<Given>,
    written: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) place: u32,
    pub(super) core: CoreId,
    pub(super) slots: SlotRange,
}

impl<C: Choose> Way<C> {
    pub(super) fn try_new(config: BackendConfig, host: &Host, choice: C) -> Result<Self, SimError> {
        let BackendConfig { cores, slots, .. } = config;
        Ok(Self {
            backend: Backend::try_with(config, PerCore::bounded(cores, choice, host.ring.into()))?,
            places: vec![0; slots as usize].into(),
            pushes: vec![Push::default(); cores.into()].into(),
        })
    }

    pub(super) fn waiting(&self) -> u32 {
        self.backend.queue_depth()
    }

    /// Adds RPC `place` to the FIFO of the flow that the balancer chooses, or refuses it.
    pub(super) fn admit(&mut self, now: Timestamp, header: Header, place: u32) -> Result<(), NackReason> {
        match self.backend.handle_packet(now, header) {
            Verdict::Write { slots, .. } => {
                self.places[slots.start.0 as usize] = place;
                Ok(())
            }
            Verdict::Nack { reason } => Err(reason),
            Verdict::Drop { .. } => Err(NackReason::BufferFull),
        }
    }

    pub(super) fn give(&mut self) -> Option<Given> {
        let dispatch = self.backend.poll_dispatch()?;
        let slots = dispatch.arrival.slots;
        Some(Given { place: self.places[slots.start.0 as usize], core: dispatch.core, slots })
    }

    /// Adds a line to those to be written; the write's number if it is the first, and if enough
    /// wait.
    pub(super) fn gather(&mut self, given: Given, host: &Host) -> (Option<u64>, bool) {
        let push = &mut self.pushes[given.core.index()];
        push.lines.push(given);
        ((push.lines.len() == 1).then_some(push.written), push.lines.len() >= usize::from(host.push))
    }

    pub(super) fn write(&mut self, core: CoreId, lines: &mut Vec<Given>) {
        let push = &mut self.pushes[core.index()];
        push.written += 1;
        lines.clear();
        lines.append(&mut push.lines);
    }

    pub(super) fn still_waits(&self, core: CoreId, written: u64) -> bool {
        let push = &self.pushes[core.index()];
        push.written == written && !push.lines.is_empty()
    }

    pub(super) fn free(&mut self, core: CoreId, slots: SlotRange) {
        self.backend.handle_free(core, slots);
    }
}
