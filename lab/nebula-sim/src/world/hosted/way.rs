//! One direction through the NIC: the balancer chooses a flow, its FIFO admits or drops, and lines
//! are written into the flow's ring.

use crate::error::SimError;
use crate::system::host::Host;
use nebula_nic::{Backend, BackendConfig, Choose, CoreId, Header, NackReason, PerCore, SlotRange, Timestamp, Verdict};

/// The NIC's back end of one direction, whose "cores" are flows.
pub(super) struct Way<C: Choose> {
    backend: Backend<PerCore<C>>,
    /// The RPC of each slot.
    places: Box<[u32]>,
    /// Lines that wait to be written together, by flow, and how often each flow was written.
    pushes: Box<[Push]>,
}

#[derive(Clone, Debug, Default)]
struct Push {
    lines: Vec<Given>,
    written: u64,
}

/// An RPC that has an entry of a flow's ring.
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

    /// RPCs that wait in the FIFOs.
    pub(super) fn waiting(&self) -> u32 {
        self.backend.queue_depth()
    }

    /// RPC `place` is in the NIC: it joins the FIFO of the flow that the balancer chooses, or is
    /// refused.
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

    /// The next RPC for which its flow's ring has an entry.
    pub(super) fn give(&mut self) -> Option<Given> {
        let dispatch = self.backend.poll_dispatch()?;
        let slots = dispatch.arrival.slots;
        Some(Given { place: self.places[slots.start.0 as usize], core: dispatch.core, slots })
    }

    /// The RPC's line joins those to be written; the number of the write that it waits for, if it
    /// is the first, and whether there are enough.
    pub(super) fn gather(&mut self, given: Given, host: &Host) -> (Option<u64>, bool) {
        let push = &mut self.pushes[given.core.index()];
        push.lines.push(given);
        ((push.lines.len() == 1).then_some(push.written), push.lines.len() >= usize::from(host.push))
    }

    /// Writes the lines that were gathered for a flow.
    pub(super) fn write(&mut self, core: CoreId, lines: &mut Vec<Given>) {
        let push = &mut self.pushes[core.index()];
        push.written += 1;
        lines.clear();
        lines.append(&mut push.lines);
    }

    /// Whether the lines of write number `written` still wait.
    pub(super) fn still_waits(&self, core: CoreId, written: u64) -> bool {
        let push = &self.pushes[core.index()];
        push.written == written && !push.lines.is_empty()
    }

    /// The RPC's entry of the ring is free again.
    pub(super) fn free(&mut self, core: CoreId, slots: SlotRange) {
        self.backend.handle_free(core, slots);
    }
}
