//! The cores: dispatch, the two accesses that a core waits for, and the copies in parallel.

use super::Machine;
pub(super) use crate::memory::machine::core::Core;
use crate::memory::machine::core::Stage;
use nebula_nic::{Arrival, RpcKey, Timestamp};

impl Machine {
    pub(super) fn dispatch(&mut self, now: Timestamp) {
        while let Some(dispatch) = self.backend.poll_dispatch() {
            let core = dispatch.core.index();
            self.cores[core].frontend.handle_dispatch(dispatch);
            if self.cores[core].stage == Stage::Idle {
                self.begin(now, core);
            }
        }
    }

    /// Core `core` ends its current action.
    pub(super) fn handle_core(&mut self, now: Timestamp, core: usize) {
        match self.cores[core].stage {
            Stage::Computing => self.copy_and_return(now, core),
            Stage::Returning => self.finish(now, core),
            Stage::Idle => self.calendar.clear(core),
        }
    }

    /// Begins the core's next RPC with its access to the index; idles if there is none.
    fn begin(&mut self, now: Timestamp, core: usize) {
        let Some(begin) = self.cores[core].frontend.poll_completion() else {
            self.cores[core].stage = Stage::Idle;
            self.calendar.clear(core);
            return;
        };
        self.cores[core].serving = begin.arrival;
        self.cores[core].stage = Stage::Computing;
        let looked_up = self.access(now, core);
        self.calendar.set(core, looked_up + self.compute);
    }

    /// Begins the value's copy and, if it evicts dirty blocks, their write-back; writes the result.
    fn copy_and_return(&mut self, now: Timestamp, core: usize) {
        self.streams.begin(now, self.blocks, ());
        if !self.ni.llc.hits_core() {
            self.streams.begin(now, self.blocks, ());
        }
        self.cores[core].stage = Stage::Returning;
        let returned = self.access(now, core);
        self.calendar.set(core, returned);
    }

    fn finish(&mut self, now: Timestamp, core: usize) {
        let Core { serving, frontend, .. } = &mut self.cores[core];
        let Arrival { rpc, arrived, slots, .. } = *serving;
        let release = frontend.handle_release(slots);
        self.meter.note_done(number(rpc), arrived, now);
        self.backend.handle_free(release.core, release.slots);
        self.begin(now, core);
        self.dispatch(now);
    }

    /// Makes an access that the core waits for; returns when it ends.
    #[inline]
    fn access(&mut self, now: Timestamp, core: usize) -> Timestamp {
        let access = self.dram.access(now);
        self.meter.note_access(number(self.cores[core].serving.rpc), now, access);
        access.done
    }
}

/// The number that the NI gave an RPC.
const fn number(rpc: RpcKey) -> u64 {
    (rpc.snid.0 as u64) << 32 | rpc.tid.0 as u64
}
