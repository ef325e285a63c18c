//! Stations 2 to 5 over shared memory: an engine takes RPCs from its clients' rings.

use super::channel::Channel;
pub(crate) use super::ring_list::Rings;
use super::ring_list::{Current, PeerRing};
use crate::nic::ingress::{AtOnce, Intake};
use crate::nic::one_sided::{OPERATION_BYTES_MAX, OneSided};
use crate::nic::recorder::Recorder;
use crate::nic::transport::Transport;
use crate::rpc::answer::Answer;
use crate::rpc::requests::Replies;
use crate::rpc::slot::{Asked, Line, Mark, SlotHeader, Slots, first_word, is_request};
use crate::status::Status;
use nebula_nic::ending::{NEVER, over};
use nebula_nic::{
    Abandoned, Access, BURST_MAX, Burst, BurstRpc, CoreId, Decision, Header, Input, Kind, NodeId, RpcKey, Run,
    SLOT_BYTES, Timestamp, TransferId, Verdict, slots_of,
};
use nebula_sys::sync::Ordering;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The most packets taken from one ring in a turn, so that no client starves others. More than an
/// inline worker serves in a turn: under overload the queue then grows to its bound, and RPCs
/// beyond it are refused, as far as there is [time](nebula_nic::turn::refusals), instead of waiting
/// unseen in the ring.
const PACKETS_PER_RING: usize = BURST_MAX as usize;

const _: () = assert!(BURST_MAX > crate::nic::ingress::RPCS_PER_TURN, "under overload the queue grows to its bound");
/// Rings polled in a turn; if there are more, they take turns.
const RINGS_PER_TURN: usize = 64;

impl Rings {
    /// Cuts off a client whose ring is invalid. Its RPCs in flight run on.
    #[cold]
    fn cut_off(&mut self, place: usize) {
        self.violations += 1;
        let ring = &mut self.list[place];
        ring.is_gone = true;
        ring.channel.disconnect();
    }

    /// Usually one load of the word where the client's next packet is expected.
    #[inline(always)]
    fn poll_ring(&mut self, now: Timestamp, place: usize, intake: &mut Intake, at_once: &mut impl AtOnce) -> usize {
        let ring = &mut self.list[place];
        if intake.refusals.is_used_up() && ring.is_turned_away(now, intake) {
            return 0;
        }
        let line = ring.channel.slots().line(ring.look);
        // Acquire: as in `Slots::header`.
        let is_expected = line[0].load(Ordering::Acquire) == first_word(Mark::Request, ring.look, ring.span);
        let rpc = BurstRpc(line[1].load(Ordering::Relaxed));
        let is_whole = rpc.bytes() <= intake.backend.one_packet_bytes_max();
        if !(is_expected && is_whole && ring.takes_bursts(intake) && ring.begins_at_look()) {
            return self.poll_otherwise(now, place, intake, at_once);
        }
        ring.note_taken();
        let burst = ring.take_burst(now, rpc, intake, at_once);
        // The rest, if any, one by one: RPCs of several packets, or beyond the room.
        if burst.is_last { burst.rpcs } else { burst.rpcs + self.poll_packets(now, place, burst.rpcs, intake) }
    }

    /// The ring is empty, or the client has begun at its first slot again or stopped that, or it
    /// has written packets other than single ones with the expected span.
    #[inline(never)]
    fn poll_otherwise(
        &mut self,
        now: Timestamp,
        place: usize,
        intake: &mut Intake,
        at_once: &mut impl AtOnce,
    ) -> usize {
        let ring = &mut self.list[place];
        if ring.is_gone || !(ring.goes_on() || ring.restart()) {
            self.note_empty(place);
            return 0;
        }
        ring.note_taken();
        let first = ring.first_of_burst(intake.backend.one_packet_bytes_max());
        let burst = match first.filter(|_| ring.takes_bursts(intake)) {
            Some(rpc) => ring.take_burst(now, rpc, intake, at_once),
            None => TakenBurst { rpcs: 0, is_last: false },
        };
        if burst.is_last { burst.rpcs } else { burst.rpcs + self.poll_packets(now, place, burst.rpcs, intake) }
    }

    /// Takes packets one by one, up to a ring's limit in a turn, of which `before` are taken.
    #[inline(never)]
    fn poll_packets(&mut self, now: Timestamp, place: usize, before: usize, intake: &mut Intake) -> usize {
        let ring = &mut self.list[place];
        let channel = &*ring.channel;
        let (slots, snid) = (channel.slots(), channel.snid());
        let mut reader = Reader { cursor: ring.cursor, current: ring.current };
        let (mut taken, mut refused, mut cancelled, mut operations) = (0, 0, 0_u64, 0);
        let is_sound = loop {
            let Some(slot) = slots.header(reader.cursor) else { break true };
            match slot.mark {
                Mark::Request | Mark::Cancelled => {}
                Mark::Operation if reader.current.is_none() => {
                    if !operate(&mut self.one_sided, channel, reader.cursor, &slot) {
                        break false;
                    }
                    reader.cursor = reader.cursor.wrapping_add(1);
                    (taken, operations) = (taken + 1, operations + 1);
                    if before + taken - refused >= PACKETS_PER_RING {
                        break true;
                    }
                    continue;
                }
                Mark::Operation => break false,
                Mark::Reply | Mark::Nack | Mark::Fault => break true,
            }
            let Some(current) = reader.current(&slot, slots) else { break false };
            if reader.current.is_none() && intake.turns_away(now, snid) {
                intake.refusals.count_unanswered(1);
                break true;
            }
            let Current { base, rpc_bytes, span, .. } = current;
            if let Some(reason) = over(NEVER, slot.mark == Mark::Cancelled, || now) {
                // An RPC is cancelled in its first slot.
                if reader.current.is_some() {
                    break false;
                }
                if let Some(recorder) = &mut intake.recorder {
                    let rpc = RpcKey { snid, tid: TransferId(base) };
                    let input = Input::Over { rpc, deadline: NEVER, is_cancelled: true };
                    recorder.outside(now, input, Some(Decision::nack(reason)));
                }
                channel.nack(base, reason);
                reader.skip(current);
                (taken, cancelled) = (taken + 1, cancelled + 1);
                if before + taken - refused == PACKETS_PER_RING {
                    break true;
                }
                continue;
            }
            let (tid, pkt_idx, key_hash) = (TransferId(base), slot.pkt_idx, slot.extra);
            let header = Header { kind: Kind::Request, snid, tid, rpc_bytes, pkt_idx, key_hash };
            match intake.receive(now, header) {
                Verdict::Write { slots: range, offset_bytes, bytes, complete } => {
                    if slot.pkt_idx == 0 {
                        ring.in_flight += 1;
                        intake.payloads.set_span(range, u16::try_from(span).unwrap_or(u16::MAX));
                    }
                    for (at, words, bytes) in slots.pieces(reader.cursor, bytes) {
                        intake.payloads.write(range, offset_bytes + at, words, bytes);
                    }
                    reader.advance(current, pkt_idx + 1);
                    if complete {
                        intake.note_fresh(range, rpc_bytes);
                    }
                }
                Verdict::Nack { reason } => {
                    channel.nack(base, reason);
                    reader.skip(current);
                    intake.count_refusal(now);
                    refused += 1;
                }
                // The packets of an RPC are read once: without one, the client would wait forever.
                Verdict::Drop { .. } => break false,
            }
            taken += 1;
            if before + taken - refused >= PACKETS_PER_RING || (refused > 0 && !intake.may_refuse_more(now)) {
                break true;
            }
        };
        (ring.cursor, ring.current) = (reader.cursor, reader.current);
        ring.look = ring.cursor;
        if refused + operations > 0 || cancelled > 0 {
            ring.channel.wake_sleeper();
        }
        if !is_sound {
            self.cut_off(place);
        }
        self.cancelled += cancelled;
        taken
    }

    #[inline(always)]
    pub(crate) fn channel_of(&self, snid: NodeId) -> Option<&Channel> {
        Some(&self.list[self.place(snid)?].channel)
    }

    /// Ends RPCs answered in a client's ring, and removes the ring with its last one.
    #[inline(always)]
    pub(crate) fn end(&mut self, snid: NodeId, rpcs: u32) {
        if let Some(place) = self.place(snid) {
            let ring = &mut self.list[place];
            ring.in_flight -= rpcs;
            if ring.is_gone && ring.in_flight == 0 {
                self.remove(place);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn looks(&self) -> u32 {
        u32::try_from(self.hot.len()).unwrap_or(u32::MAX)
    }
}

impl PeerRing {
    /// Whether the next RPC would be refused without a NACK. Then the ring is not read.
    #[cold]
    fn is_turned_away(&self, now: Timestamp, intake: &mut Intake) -> bool {
        let is_turned_away = self.current.is_none() && intake.turns_away(now, self.channel.snid());
        intake.refusals.count_unanswered(u32::from(is_turned_away));
        is_turned_away
    }

    #[inline(always)]
    fn takes_bursts(&self, intake: &Intake) -> bool {
        !self.is_gone && self.current.is_none() && intake.backend.takes_bursts()
    }

    /// Moves the cursor behind the taken slots; looks next there, or at the first slot again.
    #[inline(always)]
    fn advance(&mut self, slots: u32) {
        let geometry = self.channel.slots().geometry();
        let has_restarted = self.look & (geometry.slots - 1) == 0;
        self.cursor = self.cursor.wrapping_add(slots);
        self.look = if has_restarted { geometry.next_lap(self.cursor.wrapping_sub(1)) } else { self.cursor };
    }

    /// Takes consecutive RPCs of one packet and of equal slots, from `first` on.
    #[inline(always)]
    fn take_burst(
        &mut self,
        now: Timestamp,
        first: BurstRpc,
        intake: &mut Intake,
        at_once: &mut impl AtOnce,
    ) -> TakenBurst {
        let slots_each = slots_of(first.bytes());
        if slots_each == 1
            && let Some(taken) = self.serve_at_once(now, first, intake, at_once)
        {
            return taken;
        }
        let slots = self.channel.slots();
        let kind = BurstKind::new(slots_each, intake.backend.one_packet_bytes_max(), self.span);
        let places = intake.backend.burst_places();
        let Some(place) = places.first_mut() else { return TakenBurst { rpcs: 0, is_last: false } };
        *place = first;
        let (mut count, mut position, mut is_last) = (1, self.cursor, true);
        for place in &mut places[1..] {
            position = position.wrapping_add(kind.span);
            match kind.next(slots.line(position), position) {
                Ok(rpc) => *place = rpc,
                Err(ends) => {
                    is_last = ends;
                    break;
                }
            }
            count += 1;
        }
        let burst = self.burst(slots_each);
        let (core, most) = at_once.most();
        if count <= most
            && let Some(run) = intake.plan_run(now, core, &burst, count)
        {
            self.copy(slots, &run, intake);
            return self.serve_planned(now, core, &run, is_last, intake, at_once);
        }
        let Some(run) = intake.receive_burst(now, &burst, count) else {
            return TakenBurst { rpcs: 0, is_last: false };
        };
        self.copy(slots, &run, intake);
        intake.note_fresh_run(&run);
        self.advance(run.rpcs * self.span);
        self.in_flight += run.rpcs;
        TakenBurst { rpcs: run.rpcs as usize, is_last: is_last && run.rpcs == count }
    }

    fn burst(&self, slots_each: u32) -> Burst {
        let first = RpcKey { snid: self.channel.snid(), tid: TransferId(self.cursor) };
        Burst { first, step: self.span, slots_each }
    }

    /// As [`take_burst`](Self::take_burst), of RPCs of one receive slot that this thread can serve
    /// at once: copies each with its header. `None` if it cannot serve all; nothing has changed.
    #[inline(always)]
    fn serve_at_once(
        &mut self,
        now: Timestamp,
        first: BurstRpc,
        intake: &mut Intake,
        at_once: &mut impl AtOnce,
    ) -> Option<TakenBurst> {
        let slots = self.channel.slots();
        let kind = BurstKind::new(1, intake.backend.one_packet_bytes_max(), self.span);
        let (core, most) = at_once.most();
        if most == 0 {
            return None;
        }
        let (places, memory) = intake.burst_places(core);
        let rooms = memory.as_chunks_mut::<{ SLOT_BYTES as usize }>().0;
        let limit = places.len().min(rooms.len()).min(most as usize);
        if limit == 0 {
            // Nothing is read beyond the first slot, which the way through the queue reads too.
            return None;
        }
        let (mut rpc, mut position, mut count) = (first, self.cursor, 0);
        let mut is_last = true;
        for (place, room) in places[..limit].iter_mut().zip(rooms) {
            let line = slots.line(position);
            if count > 0 {
                match kind.next(line, position) {
                    Ok(next) => rpc = next,
                    Err(ends) => {
                        is_last = ends;
                        break;
                    }
                }
            }
            *place = rpc;
            slots.load_whole(line, position, room, rpc.bytes() as usize);
            position = position.wrapping_add(kind.span);
            count += 1;
        }
        if count as usize == limit && is_request(slots.line(position)[0].load(Ordering::Relaxed), position) {
            // There are more. Where the queue has room for all that a ring may bring in a turn,
            // they may as well wait in the ring for the next turn.
            let beyond = self.cursor.wrapping_add(BURST_MAX * kind.span);
            let is_beyond = is_request(slots.line(beyond)[0].load(Ordering::Relaxed), beyond);
            if is_beyond || !intake.backend.has_room_for_burst() {
                return None;
            }
        }
        let run = intake.plan_run(now, core, &self.burst(1), count)?;
        Some(self.serve_planned(now, core, &run, is_last, intake, at_once))
    }

    #[inline(always)]
    fn serve_planned(
        &mut self,
        now: Timestamp,
        core: CoreId,
        run: &Run,
        is_last: bool,
        intake: &mut Intake,
        at_once: &mut impl AtOnce,
    ) -> TakenBurst {
        let replies = Replies::Ring(self.channel.slots(), self.span);
        at_once.serve(run, intake.backend.rpcs_of(run), intake.payloads.from(run.first_slot), replies);
        self.channel.wake_sleeper();
        intake.end_at_once(now, core, run);
        self.advance(run.rpcs * self.span);
        TakenBurst { rpcs: run.rpcs as usize, is_last }
    }

    /// The sizes of the RPC at the cursor if it has one packet; its span becomes the ring's.
    #[inline(always)]
    fn first_of_burst(&mut self, longest: u32) -> Option<BurstRpc> {
        let slots = self.channel.slots();
        let sizes = match slots.sizes_if(self.cursor, first_word(Mark::Request, self.cursor, self.span)) {
            Some(sizes) => sizes,
            None => {
                let slot = slots.header(self.cursor)?;
                if slot.mark != Mark::Request || slot.pkt_idx != 0 || !(1..=slots.geometry().slots).contains(&slot.span)
                {
                    return None;
                }
                self.span = slot.span;
                BurstRpc::new(slot.rpc_bytes, slot.extra).0
            }
        };
        Some(BurstRpc(sizes)).filter(|rpc| rpc.bytes() <= longest)
    }

    #[inline(always)]
    fn copy(&self, slots: Slots<'_>, run: &Run, intake: &mut Intake) {
        let rpcs = intake.backend.rpcs_of(run);
        let span = u16::try_from(self.span).unwrap_or(u16::MAX);
        if let Some(mut memory) = intake.payloads.burst(run, span) {
            let bytes_each = (run.burst.slots_each * SLOT_BYTES) as usize;
            let mut position = self.cursor;
            for rpc in rpcs {
                let (place, behind) = memory.split_at_mut(bytes_each);
                slots.load_whole(slots.line(position), position, place, rpc.bytes() as usize);
                position = position.wrapping_add(self.span);
                memory = behind;
            }
            return;
        }
        self.copy_beside_leases(slots, run, intake);
    }

    #[inline(never)]
    fn copy_beside_leases(&self, slots: Slots<'_>, run: &Run, intake: &mut Intake) {
        for (index, rpc) in (0..).zip(intake.backend.rpcs_of(run)) {
            let (range, position) = (run.slots(index), run.tid(index).0);
            for (at, words, bytes) in slots.pieces(position, rpc.bytes()) {
                intake.payloads.write(range, at, words, bytes);
            }
            intake.payloads.set_span(range, u16::try_from(self.span).unwrap_or(u16::MAX));
        }
    }
}

/// Carries out the one-sided operation at `position` and answers it; `false` if it is invalid.
#[inline(never)]
fn operate(one_sided: &mut OneSided, channel: &Channel, position: u32, slot: &SlotHeader) -> bool {
    let slots = channel.slots();
    let bytes = slot.rpc_bytes as usize;
    if slot.pkt_idx != 0 || slot.span != 1 || bytes > OPERATION_BYTES_MAX.min(slots.geometry().mtu_bytes as usize) {
        return false;
    }
    // Copied once, so the client cannot change it later.
    let mut message = [0; OPERATION_BYTES_MAX];
    slots.load(position, &mut message[..bytes]);
    let (answer, bytes) = one_sided.execute(Access::decode(&message[..bytes]));
    if bytes > slots.geometry().mtu_bytes as usize {
        return false;
    }
    slots.store(position, &answer[..bytes]);
    let rpc_bytes = u32::try_from(bytes).unwrap_or(0);
    slots.publish(position, SlotHeader { mark: Mark::Reply, pkt_idx: 0, span: 1, rpc_bytes, extra: 0 });
    true
}

/// The common properties of the RPCs of a burst.
#[derive(Clone, Copy)]
struct BurstKind {
    /// The shortest RPC of so many slots, and how much longer the longest one is.
    shortest: u32,
    longer: u32,
    /// Slots that each spans in its ring. A copy: the compiler does not see that writing places
    /// leaves the ring's own as it is.
    span: u32,
}

impl BurstKind {
    #[inline(always)]
    fn new(slots_each: u32, longest: u32, span: u32) -> Self {
        let shortest = if slots_each == 1 { 0 } else { (slots_each - 1) * SLOT_BYTES + 1 };
        Self { shortest, longer: longest.min(slots_each * SLOT_BYTES) - shortest, span }
    }

    /// The RPC at `position`, whose slot begins with `line`, if it belongs to the burst; otherwise
    /// whether the burst is the ring's last: nothing follows, or a packet that is no whole RPC of
    /// this span.
    #[inline(always)]
    fn next(self, line: &Line, position: u32) -> Result<BurstRpc, bool> {
        // Acquire: as in `Slots::header`.
        let found = line[0].load(Ordering::Acquire);
        if found != first_word(Mark::Request, position, self.span) {
            return Err(!is_request(found, position));
        }
        let rpc = BurstRpc(line[1].load(Ordering::Relaxed));
        if rpc.bytes().wrapping_sub(self.shortest) > self.longer { Err(false) } else { Ok(rpc) }
    }
}

struct TakenBurst {
    rpcs: usize,
    /// Whether nothing follows it, or nothing more may be taken in this turn.
    is_last: bool,
}

impl Transport for Rings {
    const MAKES_SYSTEM_CALLS: bool = false;
    const SERVES_RUNS: bool = true;

    #[inline(always)]
    fn poll(&mut self, now: Timestamp, intake: &mut Intake, at_once: &mut impl AtOnce) -> usize {
        self.now = now;
        if self.hot.len() < self.list.len() {
            self.attend_quiet();
        }
        let rings = self.hot.len();
        let looks = rings.min(RINGS_PER_TURN);
        // Another ring is first in each turn, because under overload the first one finds room.
        let first = if self.first < rings { self.first } else { 0 };
        self.first = first + if rings > looks { looks } else { 1 };
        let mut packets = 0;
        for look in 0..looks {
            let at = if first + look < rings { first + look } else { first + look - rings };
            // A ring may have left meanwhile.
            if let Some(&place) = self.hot.get(at) {
                packets += self.poll_ring(now, place as usize, intake, at_once);
            }
        }
        packets
    }

    #[inline(always)]
    fn ended(&mut self, snid: NodeId, _: Option<Box<Answer>>) {
        self.end(snid, 1);
    }

    #[inline]
    fn is_taken_back(&mut self, RpcKey { snid, tid }: RpcKey) -> bool {
        let Some(place) = self.place(snid) else { return false };
        let line = self.list[place].channel.slots().line(tid.0);
        let is_taken_back = Asked::new(line, tid.0).is_cancelled();
        self.cancelled += u64::from(is_taken_back);
        is_taken_back
    }

    /// Informs the client, unless it has left, and moves the cursor behind the RPC.
    fn abandoned(&mut self, _: Timestamp, rpc: RpcKey, _: Option<Box<Answer>>, _: &mut Option<Recorder>) {
        let Some(place) = self.place(rpc.snid) else { return };
        let ring = &mut self.list[place];
        ring.in_flight -= 1;
        if let Some(current) = ring.current.filter(|current| current.base == rpc.tid.0) {
            ring.cursor = current.base.wrapping_add(current.span);
            ring.look = ring.cursor;
            ring.current = None;
            ring.channel.nack(current.base, Abandoned::REASON);
            ring.channel.wake_sleeper();
        }
    }

    /// One load of a line that hardly ever changes.
    #[inline(always)]
    fn news(&mut self) -> Option<Vec<NodeId>> {
        self.events.collect().map(|events| self.read(events))
    }

    /// Those of the rings that are looked at in every turn.
    #[inline(always)]
    fn clients_active(&self) -> Option<u32> {
        Some(self.looks())
    }

    /// The ring stays until the last of its RPCs has ended.
    fn forget(&mut self, snid: NodeId) {
        let Some(place) = self.place(snid) else { return };
        let ring = &mut self.list[place];
        ring.is_gone = true;
        if ring.in_flight == 0 {
            self.remove(place);
        }
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) -> bool {
        self.sleep(timeout, parker)
    }

    fn counters(&self) -> Status {
        let OneSided { done: operations, refused: operations_refused, .. } = self.one_sided;
        let (clients, violations, cancelled) = (self.len().into(), self.violations, self.cancelled);
        Status { clients, violations, cancelled, operations, operations_refused, ..Status::default() }
    }
}

struct Reader {
    cursor: u32,
    current: Option<Current>,
}

impl Reader {
    /// The RPC of the packet in `slot`; `None` if the packet violates the protocol.
    #[inline(always)]
    fn current(&self, slot: &SlotHeader, slots: Slots<'_>) -> Option<Current> {
        match self.current {
            None => {
                let packets = slots.geometry().packets(slot.rpc_bytes);
                let is_sound = slot.pkt_idx == 0 && packets <= slot.span && slot.span <= slots.geometry().slots;
                is_sound.then_some(Current { base: self.cursor, span: slot.span, rpc_bytes: slot.rpc_bytes, packets })
            }
            Some(current) => {
                let expected = self.cursor.wrapping_sub(current.base);
                (slot.pkt_idx == expected && slot.rpc_bytes == current.rpc_bytes).then_some(current)
            }
        }
    }

    #[inline(always)]
    fn advance(&mut self, current: Current, next: u32) {
        if next == current.packets {
            self.skip(current);
        } else {
            self.cursor = self.cursor.wrapping_add(1);
            self.current = Some(current);
        }
    }

    #[inline(always)]
    fn skip(&mut self, current: Current) {
        self.cursor = current.base.wrapping_add(current.span);
        self.current = None;
    }
}
