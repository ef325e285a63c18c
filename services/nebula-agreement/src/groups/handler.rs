//! The handler: sleeps for the time in the request, and answers with its worker, begin and
//! duration.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nebula::Reply;
use nebula_nic::{Span, Timestamp};
use nebula_sys::clock::Clock;

thread_local! {
    /// The worker's number, in the order of their first RPCs.
    static WORKER: Cell<Option<u32>> = const { Cell::new(None) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) worker: u32,
    pub(super) begun: Timestamp,
    pub(super) took: Span,
}

impl Served {
    pub(super) fn end(&self) -> Timestamp {
        self.begun + self.took
    }

    fn encode(&self) -> [[u8; 8]; 3] {
        [u64::from(self.worker), self.begun.as_ps(), self.took.as_ps()].map(u64::to_le_bytes)
    }

    pub(super) fn decode(reply: &[u8]) -> Option<Self> {
        let (words, []) = reply.as_chunks::<8>() else { return None };
        let &[worker, begun, took] = words else { return None };
        let [begun, took] = [begun, took].map(u64::from_le_bytes);
        let worker = u32::try_from(u64::from_le_bytes(worker)).ok()?;
        Some(Self { worker, begun: Timestamp::from_ps(begun), took: Span::from_ps(took) })
    }
}

pub(super) fn sleeping(clock: Clock) -> impl Fn(&[u8], &mut Reply<'_>) + Send + Sync + 'static {
    let workers = Arc::new(AtomicU32::new(0));
    move |request, reply| {
        let begun = Timestamp::from_ps(clock.now_ps());
        let worker = WORKER.get().unwrap_or_else(|| workers.fetch_add(1, Ordering::Relaxed));
        WORKER.set(Some(worker));
        let ns = request.try_into().map_or(0, u64::from_le_bytes);
        if ns > 0 {
            std::thread::sleep(Duration::from_nanos(ns));
        }
        let took = Timestamp::from_ps(clock.now_ps()) - begun;
        Served { worker, begun, took }.encode().iter().for_each(|word| reply.write(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_says_what_it_was_told_and_one_of_another_length_nothing() {
        let served = Served { worker: 7, begun: Timestamp::from_ps(1 << 40), took: Span::from_ms(5) };
        let reply = served.encode().concat();
        assert_eq!(Served::decode(&reply), Some(served));
        assert!(Served::decode(&reply[..23]).is_none() && Served::decode(&reply[..16]).is_none());
        assert!(Served::decode(&u64::MAX.to_le_bytes().repeat(3)).is_none());
    }
}
