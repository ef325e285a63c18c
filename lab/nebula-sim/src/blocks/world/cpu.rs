//! Stations 7 to 10, in simulated time: dispatch, prefetch of the payload, the core's program.

use super::super::map::Part;
use super::super::program::{Copying, Fill, Place, Step};
use super::super::tally::Stage;
use super::World;
use super::event::Event;
use crate::blocks::world::at_core::{NEVER, load, store};
use nebula_memsys::Block;
use nebula_nic::{CoreId, Dispatch, SLOT_BYTES, Span, Steer, Timestamp};

/// Whether a core continues at once, or waits for an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Step,
    At(u64),
}

impl World<'_> {
    /// A dispatch reaches its core's completion queue.
    #[inline(always)]
    pub(super) fn deliver(&mut self, now: Timestamp, core: CoreId, place: u32) {
        let at_core = &mut self.cores[core.index()];
        let message = self.messages.at_mut(place);
        message.core = core;
        message.was_queued_at_core = at_core.serving.is_some();
        let steer = at_core.frontend.handle_dispatch(Dispatch { core, arrival: message.arrival });
        if steer != Steer::Never {
            self.steer(now, core, place);
        }
        if self.cores[core.index()].serving.is_none() {
            self.begin(now, core.index());
        }
    }

    /// The NIC prefetches the complete payload into the core's L1.
    fn steer(&mut self, now: Timestamp, core: CoreId, place: u32) {
        let message = self.messages.at_mut(place);
        let (first, blocks) = (message.payload, message.arrival.bytes.div_ceil(SLOT_BYTES));
        let fetched_ps = self.memory.prefetch_run(now.as_ps(), core.0, first, blocks, Part::Payload.label());
        message.fetched = message.fetched.max(Timestamp::from_ps(fetched_ps));
    }

    #[inline(always)]
    fn begin(&mut self, now: Timestamp, core: usize) {
        let at_core = &mut self.cores[core];
        let Some(begin) = at_core.frontend.poll_completion() else {
            at_core.serving = None;
            return self.calendar.clear(core);
        };
        let place = Self::place_of(begin.arrival.rpc);
        at_core.serving = Some(place);
        at_core.steps = &self.compiled.types[usize::from(self.messages.at(place).type_index)].steps;
        (at_core.step, at_core.clock_ps, at_core.last_store_ps) = (0, now.as_ps(), 0);
        self.messages.at_mut(place).note_begun(now, self.delays.notify + self.delays.dispatch);
        if let Some((look_ps, slots)) = self.delays.poll {
            self.poll(core, place, look_ps, slots);
        }
        self.advance(now, core);
    }

    /// The core finds the RPC among its slots: with `waiting` others at random places, after
    /// `slots / (waiting + 1)` looks on average.
    #[cold]
    fn poll(&mut self, core: usize, place: u32, look_ps: u64, slots: u64) {
        // RPCs that wait at the NIC stand for ones in slots; each core has its share of them.
        let elsewhere = u64::from(self.backend.queue_depth()) / self.cores.len() as u64;
        let waiting = u64::from(self.cores[core].frontend.outstanding()) + elsewhere;
        let ps = look_ps * slots / (waiting + 1);
        self.cores[core].clock_ps += ps;
        self.messages.at_mut(place).stages.add(Stage::LookAhead, ps);
    }

    /// Runs the core's steps, until one has to wait for its time.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Timestamp, core: usize) {
        let Some(place) = self.cores[core].serving else { return self.calendar.clear(core) };
        loop {
            let at_core = &self.cores[core];
            let next = match at_core.steps.get(at_core.step) {
                None if at_core.clock_ps > now.as_ps() => Next::At(at_core.clock_ps),
                None => return self.finish(now, core, place),
                Some(Step::Compute(ps)) => self.compute(core, place, *ps),
                Some(Step::Draw(service)) => {
                    let ps = service.sample(&mut self.services).as_ps();
                    self.compute(core, place, ps)
                }
                Some(Step::LookAhead) => self.look_ahead(now, core, place),
                Some(Step::Read(what)) => self.read(now, core, place, *what),
                Some(Step::Write(what, fill)) => self.write(now, core, place, *what, *fill),
                Some(Step::Copy(copying)) => self.copy(now, core, place, copying),
            };
            if let Next::At(at_ps) = next {
                return self.calendar.set(core, Timestamp::from_ps(at_ps));
            }
        }
    }

    #[inline]
    fn compute(&mut self, core: usize, place: u32, ps: u64) -> Next {
        self.spend(core, place, Stage::Compute, ps)
    }

    #[inline]
    fn spend(&mut self, core: usize, place: u32, stage: Stage, ps: u64) -> Next {
        let at_core = &mut self.cores[core];
        at_core.clock_ps += ps;
        at_core.step += 1;
        self.messages.at_mut(place).stages.add(stage, ps);
        Next::Step
    }

    /// Software looks for the next RPC and prefetches the first block of its payload: a prefetch
    /// degree of one (NEBULA §VII-C).
    #[inline]
    fn look_ahead(&mut self, now: Timestamp, core: usize, place: u32) -> Next {
        let at_core = &self.cores[core];
        if !self.scenario.design.software_prefetch {
            return self.spend(core, place, Stage::LookAhead, 0);
        }
        // It sees the completion queue as of its local time.
        if at_core.clock_ps > now.as_ps() {
            return Next::At(at_core.clock_ps);
        }
        let Some(arrival) = at_core.frontend.peek_completion() else {
            return self.spend(core, place, Stage::LookAhead, 0);
        };
        let at_ps = at_core.clock_ps + self.delays.look_ahead_ps;
        let message = self.messages.at_mut(Self::place_of(arrival.rpc));
        let block = message.block(Part::Payload, 0);
        let done = self.memory.load(at_ps, message.core.0, block, Part::Payload.label());
        message.fetched = message.fetched.max(Timestamp::from_ps(done.at_ps));
        self.spend(core, place, Stage::LookAhead, self.delays.look_ahead_ps)
    }

    #[inline]
    fn read(&mut self, now: Timestamp, core: usize, place: u32, what: Place) -> Next {
        let message = self.messages.at(place);
        let block = message.block(what.part, what.block);
        let clock_ps = self.cores[core].clock_ps;
        // The core waits for a prefetch that has not finished.
        let is_fetched_ahead = what == Place { part: Part::Payload, block: 0 };
        let at_ps = if is_fetched_ahead { clock_ps.max(message.fetched.as_ps()) } else { clock_ps };
        let Some(done) = load(&mut self.memory, now, at_ps, Self::number(core), block, what.part) else {
            return Next::At(at_ps);
        };
        self.spend(core, place, Stage::of(what.part), done.at_ps - clock_ps)
    }

    /// The core stores to a block, and continues when there is room for the store.
    #[inline]
    fn write(&mut self, now: Timestamp, core: usize, place: u32, what: Place, fill: Fill) -> Next {
        let at_core = &self.cores[core];
        let clock_ps = at_core.clock_ps;
        let at_ps = clock_ps.max(at_core.store_room_ps(self.limits.stores_max));
        let block = self.messages.at(place).block(what.part, what.block);
        let Some(done) = store(&mut self.memory, now, at_ps, Self::number(core), block, what.part, fill) else {
            return Next::At(at_ps);
        };
        self.cores[core].note_store(done.at_ps, what.part);
        self.spend(core, place, Stage::of(what.part), at_ps - clock_ps)
    }

    /// A copy loop: a limited number of loads at once, in order; each store waits for its load.
    #[inline(never)]
    fn copy(&mut self, now: Timestamp, core: usize, place: u32, copying: &Copying) -> Next {
        if self.cores[core].loaded == 0 && self.cores[core].stored == 0 {
            self.begin_copy(core, place, copying);
        }
        let limits = &self.limits;
        let at_core = &mut self.cores[core];
        let (mut load_ps, mut store_ps) = (at_core.load_ps, at_core.store_ps);
        // Each access sets when the next of its kind is made, and may allow one of the other kind.
        let waits_until_ps = loop {
            if load_ps <= store_ps {
                if load_ps == NEVER {
                    return self.end_copy(core, place, copying);
                }
                let block = Block(at_core.from.0 + at_core.loaded);
                let Some(done) = load(&mut self.memory, now, load_ps, Self::number(core), block, copying.from) else {
                    break load_ps;
                };
                at_core.note_load(load_ps, done);
                load_ps = at_core.next_load_ps(copying, limits);
                if store_ps == NEVER {
                    store_ps = at_core.next_store_ps(copying, limits);
                }
            } else {
                let (block, fill) = copying.stores[at_core.stored as usize];
                let block = Block(at_core.to.0 + block);
                let Some(done) = store(&mut self.memory, now, store_ps, Self::number(core), block, copying.to, fill)
                else {
                    break store_ps;
                };
                at_core.note_store(done.at_ps, copying.to);
                at_core.stored += 1;
                store_ps = at_core.next_store_ps(copying, limits);
                if load_ps == NEVER {
                    load_ps = at_core.next_load_ps(copying, limits);
                }
            }
        };
        (at_core.load_ps, at_core.store_ps) = (load_ps, store_ps);
        Next::At(waits_until_ps)
    }

    fn begin_copy(&mut self, core: usize, place: u32, copying: &Copying) {
        let message = self.messages.at(place);
        // The blocks are consecutive; only those of the state are not, and nothing copies it.
        debug_assert!(copying.from != Part::State && copying.to != Part::State, "the state is not copied");
        let at_core = &mut self.cores[core];
        (at_core.from, at_core.to) = (message.block(copying.from, 0), message.block(copying.to, 0));
        (at_core.copy_begun_ps, at_core.loads_done_ps) = (at_core.clock_ps, at_core.clock_ps);
        // The first load is issued at once.
        at_core.issued_ps = at_core.clock_ps.wrapping_sub(self.limits.issue_ps);
        at_core.load_ps = at_core.next_load_ps(copying, &self.limits);
        at_core.store_ps = at_core.next_store_ps(copying, &self.limits);
    }

    /// The core continues when all loads are done.
    #[inline]
    fn end_copy(&mut self, core: usize, place: u32, copying: &Copying) -> Next {
        let at_core = &mut self.cores[core];
        (at_core.loaded, at_core.stored) = (0, 0);
        let waited_ps = at_core.loads_done_ps - at_core.clock_ps;
        self.spend(core, place, Stage::of(copying.from), waited_ps)
    }

    /// The core finishes an RPC and begins the next; the RPC ends when its last store is done.
    #[inline(always)]
    fn finish(&mut self, now: Timestamp, core: usize, place: u32) {
        let at_core = &mut self.cores[core];
        let message = self.messages.at_mut(place);
        message.busy = now - message.begun;
        at_core.frontend.handle_release(message.arrival.slots);
        let freed = now.max(Timestamp::from_ps(at_core.last_store_ps));
        // A core without room for its stores finishes when there is room.
        message.stages.add(Stage::of(at_core.last_store), freed.as_ps() - at_core.clock_ps);
        self.push(freed, Event::Freed(place));
        self.begin(now, core);
    }

    #[expect(clippy::cast_possible_truncation, reason = "cores are numbered in 16 bits")]
    #[inline]
    const fn number(core: usize) -> u16 {
        core as u16
    }
}

impl super::message::Message {
    /// A core begins an RPC: the time since its receipt that was not NIC latency was waiting.
    #[inline]
    fn note_begun(&mut self, now: Timestamp, latency: Span) {
        self.begun = now;
        let after_receipt = now - self.written;
        let dispatch = latency.min(after_receipt);
        self.stages.add(Stage::Link, self.waited.as_ps());
        self.stages.add(Stage::Receive, (self.written - self.first).as_ps());
        self.stages.add(Stage::Dispatch, dispatch.as_ps());
        self.stages.add(Stage::Queue, (after_receipt - dispatch).as_ps());
    }
}
