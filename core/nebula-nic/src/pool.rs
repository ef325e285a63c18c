//! Which long RPCs the threads of a pool accept, and in which order they serve them.
//!
//! A worker hands a long RPC to a pool of threads, so that no other RPC waits behind it. As many
//! may wait there as keep the SLO, by their measured service time; further ones are refused at
//! once. As at the NIC, [`FairShare`] decides which ones, and which are served first.

use crate::fair_share::{FairShare, Judged, Sources, Tenants};
use crate::id::NodeId;
use crate::sizing::pool_bound;
use crate::time::{Span, Timestamp};
use crate::turn::median::Median;

/// A shorter mean is not trusted: handing an RPC over takes longer, so too few were measured.
const KNOWN: Span = Span::from_ns(100);

/// The bounds of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfig {
    /// The latency target.
    pub slo: Span,
    /// The number of threads.
    pub threads: u16,
    /// The most RPCs at once; it accepts as many until service times are measured.
    pub most: u16,
    /// The bits of a client's number that identify its share of the room.
    pub sources: Sources,
    /// The tenants of the sources, with their weights.
    pub tenants: Tenants,
}

/// The RPCs of a pool, counted.
#[derive(Clone, Debug)]
pub struct Pool {
    config: PoolConfig,
    share: FairShare,
    /// RPCs that wait and are served first: those of sources that have had little.
    first: u32,
    last: u32,
    running: u32,
    bound: u32,
    service: Median,
    served: u64,
    refused: u64,
}

impl Pool {
    /// An empty pool.
    ///
    /// # Panics
    ///
    /// If sources or tenants are impossible: see [`FairShare`].
    #[must_use]
    pub fn new(config: PoolConfig) -> Self {
        let share = FairShare::new(config.sources).with_tenants(config.tenants);
        let (bound, service) = (config.most.into(), Median::new(Span::ZERO));
        Self { config, share, first: 0, last: 0, running: 0, bound, service, served: 0, refused: 0 }
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Whether an RPC of `client` is accepted, and where it waits.
    pub fn judge(&mut self, now: Timestamp, client: NodeId) -> Judged {
        let judged = self.share.judge(now, client, (self.held(), self.bound));
        self.refused += u64::from(judged == Judged::Refused);
        judged
    }

    /// An RPC waits where [`judge`](Self::judge) has put it.
    pub fn handle_queued(&mut self, judged: Judged) {
        match judged {
            Judged::Refused => {}
            Judged::First => self.first += 1,
            Judged::Last => self.last += 1,
        }
    }

    /// A thread is free: the queue whose oldest RPC it serves, [`First`](Judged::First) or
    /// [`Last`](Judged::Last); `None` if nothing waits.
    pub fn poll_next(&mut self) -> Option<Judged> {
        let (waiting, next) =
            if self.first > 0 { (&mut self.first, Judged::First) } else { (&mut self.last, Judged::Last) };
        *waiting = waiting.checked_sub(1)?;
        self.running += 1;
        Some(next)
    }

    /// A thread has served an RPC, in the time `took`.
    pub fn handle_end(&mut self, took: Span) {
        self.running = self.running.saturating_sub(1);
        self.served += 1;
        self.service.add(took, 1);
        let PoolConfig { slo, threads, most, .. } = self.config;
        self.bound = self.service().map_or(most.into(), |service| pool_bound(slo, service, threads, most));
    }

    /// RPCs that wait.
    #[must_use]
    pub const fn waiting(&self) -> u32 {
        self.first + self.last
    }

    /// RPCs that wait or are served.
    #[must_use]
    pub const fn held(&self) -> u32 {
        self.waiting() + self.running
    }

    /// The most RPCs at once.
    #[must_use]
    pub const fn bound(&self) -> u32 {
        self.bound
    }

    /// The mean service time, if it is known.
    #[must_use]
    pub fn service(&self) -> Option<Span> {
        Some(self.service.mean()).filter(|&mean| mean >= KNOWN)
    }

    /// RPCs served so far.
    #[must_use]
    pub const fn served(&self) -> u64 {
        self.served
    }

    /// RPCs refused so far.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn pool(most: u16) -> Pool {
        Pool::new(PoolConfig { slo: Span::from_ms(1), threads: 1, most, sources: Sources::ONE, tenants: Tenants::ONE })
    }

    /// Whether an RPC was accepted.
    fn takes(pool: &mut Pool) -> bool {
        let judged = pool.judge(Timestamp::ZERO, NodeId(1));
        pool.handle_queued(judged);
        judged != Judged::Refused
    }

    #[test]
    fn as_many_as_configured_are_accepted_until_the_service_is_known() {
        let mut pool = pool(20);
        let accepted = (0..40).filter(|_| takes(&mut pool)).count();
        assert!((17..=20).contains(&accepted), "{accepted}");
        assert_eq!((pool.waiting() as usize, pool.refused()), (accepted, 40 - accepted as u64));
    }

    #[test]
    fn a_long_service_leaves_room_for_few_and_an_end_frees_a_place() {
        let mut pool = pool(1000);
        for _ in 0..1000 {
            assert!(takes(&mut pool));
            assert_eq!(pool.poll_next(), Some(Judged::Last));
            pool.handle_end(Span::from_us(300));
        }
        assert_eq!((pool.bound(), pool.held(), pool.poll_next()), (2, 0, None));
        assert!(pool.service().is_some_and(|mean| mean.as_ns().abs_diff(300_000) < 1000));
        assert!(takes(&mut pool));
        assert_eq!((pool.poll_next(), pool.held()), (Some(Judged::Last), 1));
    }
}
