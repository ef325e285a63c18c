//! The service: a chain for each shard of flows, which a worker locks for each packet.

use std::hint::spin_loop;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nebula::net::{Side, packet_of};
use nebula::{Reply, Span};
use nebula_nf::counter::Count;
use nebula_nf::{Chain, ChainConfig, Direction, DropReason, Flow, Packet};
use nebula_nic::Timestamp;
use nebula_sys::clock::Clock;
use nebula_sys::xdp::FRAME_BYTES_MAX;

/// Two workers with packets of different flows seldom meet in one shard.
const SHARDS_PER_WORKER: u32 = 4;
const SHARDS_MAX: u32 = 64;

pub(super) struct NfService {
    config: ChainConfig,
    shards: Box<[Mutex<Chain>]>,
    clock: Clock,
    work_ticks: u64,
}

impl NfService {
    pub(super) fn new(config: ChainConfig, workers: u16, work: Span) -> Self {
        let shards = (u32::from(workers) * SHARDS_PER_WORKER).next_power_of_two().clamp(1, SHARDS_MAX);
        let clock = Clock::new();
        let work_ticks = clock.ticks_of(work.as_ps());
        let shards = (0..shards).map(|shard| Mutex::new(config.shard(shard, shards))).collect();
        Self { config, shards, clock, work_ticks }
    }

    /// Sends one packet through its chain; the reply is the rewritten packet, or empty.
    pub(super) fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        let Some((side, frame)) = packet_of(request) else { return };
        let mut room = [0; FRAME_BYTES_MAX];
        let Some(room) = room.get_mut(..frame.len()) else { return };
        room.copy_from_slice(frame);
        if let Ok(bytes) = self.handle(side, room) {
            reply.write(&room[..bytes]);
        }
        self.compute();
    }

    fn handle(&self, side: Side, frame: &mut [u8]) -> Result<usize, DropReason> {
        let direction = match side {
            Side::Inside => Direction::Outward,
            Side::Outside => Direction::Inward,
        };
        let now = Timestamp::from_ps(self.clock.now_ps());
        let shard = self.shard_of(direction, frame);
        lock(&self.shards[shard]).handle(now, direction, frame)
    }

    /// The shard of a packet; any for an invalid one.
    fn shard_of(&self, direction: Direction, frame: &mut [u8]) -> usize {
        let shards = u32::try_from(self.shards.len()).unwrap_or(1);
        Packet::parse(frame).map_or(0, |packet| self.config.shard_of(direction, &packet, shards) as usize)
    }

    fn compute(&self) {
        let from = self.clock.ticks();
        while self.work_ticks > 0 && self.clock.ticks().wrapping_sub(from) < self.work_ticks {
            spin_loop();
        }
    }

    pub(super) fn dropped(&self, reason: DropReason) -> u64 {
        self.shards.iter().map(|shard| lock(shard).dropped(reason)).sum()
    }

    pub(super) fn counted(&self) -> Option<(Count, Vec<(Flow, Count)>)> {
        let (mut total, mut flows) = (Count::default(), Vec::new());
        for shard in &self.shards {
            let chain = lock(shard);
            let counter = chain.counter()?;
            total = total.plus(counter.total());
            flows.extend(counter.flows());
        }
        Some((total, flows))
    }
}

/// A chain stays in use after a panic: at most that packet is counted in part.
fn lock(chain: &Mutex<Chain>) -> MutexGuard<'_, Chain> {
    chain.lock().unwrap_or_else(PoisonError::into_inner)
}
