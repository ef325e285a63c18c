//! Which rings an engine looks at: in every turn those that had an RPC of late, the others when
//! their clients ring. So a connected client costs nothing until it speaks.
//!
//! A client reads a word behind its ring that says whether the server looks there. If not, it rings
//! its doorbell, after it has written its RPC. All clients can write all doorbells. So the engine
//! looks at the other rings too, one in some turns: a client that takes others' rings away delays
//! them by one round of these looks.

use super::ring_list::{NOWHERE, Rings};
use nebula_sys::doorbells::Doorbells;
use nebula_sys::prefetch;

/// The client is told to ring after so many looks at its empty ring: some 100 µs of an idle engine.
/// Not after a time: a client among thousands that are all active waits for long between RPCs.
const MISSES: u32 = 2048;
/// The ring is looked at so often after that, because the client may have read the word while its
/// RPC was on its way to memory, which takes less than a microsecond.
const STILL: u32 = 128;
/// With so few clients all rings are looked at, which costs less than doorbells.
const FEW: usize = 8;
/// Turns between two looks at a quiet ring.
const TURNS_PER_LOOK: u32 = 64;

impl Rings {
    /// The ring at `place` was empty.
    #[inline(always)]
    pub(super) fn note_empty(&mut self, place: usize) {
        let ring = &mut self.list[place];
        ring.misses += 1;
        if ring.misses >= MISSES {
            self.cool(place);
        }
    }

    #[cold]
    fn cool(&mut self, place: usize) {
        let are_few = self.list.len() <= FEW;
        let ring = &mut self.list[place];
        if ring.is_quiet || ring.is_gone {
            return self.leave(place);
        }
        ring.misses = 0;
        if !are_few && ring.channel.has_doorbell() {
            ring.set_quiet(true);
            ring.misses = MISSES - STILL;
        }
    }

    /// Looks at the ring at `place` no more, until its client rings.
    pub(super) fn leave(&mut self, place: usize) {
        let at = std::mem::replace(&mut self.list[place].hot_at, NOWHERE) as usize;
        if at < self.hot.len() {
            self.hot.swap_remove(at);
            if let Some(&moved) = self.hot.get(at) {
                self.list[moved as usize].hot_at = u32::try_from(at).unwrap_or(NOWHERE);
            }
        }
    }

    /// Looks at the ring at `place` from now on.
    pub(super) fn heat(&mut self, place: usize) {
        let at = u32::try_from(self.hot.len()).unwrap_or(NOWHERE);
        let ring = &mut self.list[place];
        ring.note_taken();
        if ring.hot_at == NOWHERE {
            ring.hot_at = at;
            self.hot.push(u32::try_from(place).unwrap_or(NOWHERE));
        }
    }

    /// Looks at the ring at `place` if it has something.
    pub(super) fn heat_if_used(&mut self, place: usize) -> bool {
        let Some(ring) = self.list.get_mut(place) else { return false };
        let is_used = ring.hot_at == NOWHERE && !ring.is_gone && (ring.goes_on() || ring.restart());
        if is_used {
            self.heat(place);
        }
        is_used
    }

    #[cold]
    fn answer_doorbells(&mut self) {
        let events = self.events.clone();
        let Some(doorbells) = Doorbells::new(events.doorbells().words(), self.clients_max) else { return };
        doorbells.take(|client| {
            if let Some(&place) = self.places.get(client as usize) {
                self.heat_if_used(place as usize);
            }
        });
    }

    /// Hears the doorbells of quiet rings, and now and then looks at one of them.
    #[inline(never)]
    pub(super) fn attend_quiet(&mut self) {
        if Doorbells::new(self.events.doorbells().words(), self.clients_max).is_some_and(Doorbells::have_rung) {
            self.answer_doorbells();
        }
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(TURNS_PER_LOOK) {
            self.heat_if_used(self.rover);
            self.rover = if self.rover + 1 < self.list.len() { self.rover + 1 } else { 0 };
            // Its line comes while the engine serves others.
            if let Some(ring) = self.list.get(self.rover) {
                prefetch::read(ring.channel.slots().line(ring.cursor), 0);
            }
        }
    }
}
