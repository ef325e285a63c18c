//! The progress of a running load: counters that each client writes without waiting.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nebula_nic::Span;

const LATEST: usize = 1024;

/// Of one client, which alone writes them.
#[derive(Debug)]
pub(super) struct Live {
    replied: AtomicU64,
    nacked: AtomicU64,
    refused: AtomicU64,
    /// In nanoseconds; 0 for an unused entry.
    latest_ns: Box<[AtomicU32]>,
}

impl Live {
    pub(super) fn new() -> Self {
        let latest_ns = (0..LATEST).map(|_| AtomicU32::new(0)).collect();
        Self { replied: AtomicU64::new(0), nacked: AtomicU64::new(0), refused: AtomicU64::new(0), latest_ns }
    }

    #[inline]
    pub(super) fn count_reply(&self, latency: Span) {
        let replied = self.replied.load(Ordering::Relaxed);
        self.replied.store(replied + 1, Ordering::Relaxed);
        let ns = u32::try_from(latency.as_ns()).unwrap_or(u32::MAX).max(1);
        self.latest_ns[index(replied)].store(ns, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn count_nack(&self) {
        self.nacked.store(self.nacked.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn count_refused(&self) {
        self.refused.store(self.refused.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "below LATEST")]
#[inline]
fn index(replied: u64) -> usize {
    (replied % LATEST as u64) as usize
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    pub(crate) elapsed: Span,
    pub(crate) total: Span,
    pub(crate) replied: u64,
    pub(crate) nacked: u64,
    /// By the clients.
    pub(crate) refused: u64,
    pub(crate) replied_rps: f64,
    /// Of the latest latencies.
    pub(crate) p50: Option<Span>,
    pub(crate) p99: Option<Span>,
}

impl Progress {
    pub(super) fn look(clients: &[std::sync::Arc<Live>], before: &Self, elapsed: Span, total: Span) -> Self {
        let sum = |of: fn(&Live) -> &AtomicU64| clients.iter().map(|live| of(live).load(Ordering::Relaxed)).sum();
        let replied: u64 = sum(|live| &live.replied);
        let seconds = (elapsed.saturating_sub(before.elapsed)).as_secs_f64();
        let fresh = replied.saturating_sub(before.replied) as f64;
        let mut latest = latest_ns(clients);
        latest.sort_unstable();
        let at = |share: f64| quantile(&latest, share);
        Self {
            elapsed,
            total,
            replied,
            nacked: sum(|live| &live.nacked),
            refused: sum(|live| &live.refused),
            replied_rps: if seconds > 0.0 { fresh / seconds } else { 0.0 },
            p50: at(0.5),
            p99: at(0.99),
        }
    }
}

fn latest_ns(clients: &[std::sync::Arc<Live>]) -> Vec<u32> {
    let all = clients.iter().flat_map(|live| live.latest_ns.iter());
    all.map(|ns| ns.load(Ordering::Relaxed)).filter(|&ns| ns > 0).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index below the length")]
fn quantile(sorted_ns: &[u32], share: f64) -> Option<Span> {
    let at = (share * sorted_ns.len() as f64) as usize;
    sorted_ns.get(at).map(|&ns| Span::from_ns(ns.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_look_sees_the_latest_thousand_of_every_client() {
        let clients = [Arc::new(Live::new()), Arc::new(Live::new())];
        (0..5000).for_each(|_| clients[0].count_reply(Span::from_us(1)));
        (0..1024).for_each(|_| clients[0].count_reply(Span::from_us(3)));
        (0..1024).for_each(|_| clients[1].count_reply(Span::from_us(5)));
        clients[1].count_nack();
        (0..2).for_each(|_| clients[0].count_refused());
        let before = Progress { replied: 2048, ..Progress::default() };
        let seen = Progress::look(&clients, &before, Span::from_secs(1), Span::from_secs(2));
        assert_eq!((seen.replied, seen.nacked, seen.refused, seen.replied_rps), (7048, 1, 2, 5000.0));
        assert_eq!((seen.p50, seen.p99), (Some(Span::from_us(5)), Some(Span::from_us(5))));
    }

    #[test]
    fn nothing_answered_is_no_latency() {
        let seen = Progress::look(&[Arc::new(Live::new())], &Progress::default(), Span::ZERO, Span::ZERO);
        assert_eq!((seen.p50, seen.replied_rps), (None, 0.0));
    }
}
