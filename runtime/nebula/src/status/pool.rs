//! The counters of a server's pool of worker threads.

use nebula_nic::Span;

/// The counters of a server's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatus {
    /// Its threads.
    pub threads: u16,
    /// RPCs that it takes on at once, waiting and running: as many as keep the SLO.
    pub bound: u32,
    /// RPCs that wait or run.
    pub held: u32,
    /// RPCs whose handlers have returned.
    pub served: u64,
    /// RPCs that were refused because it had as many as it takes on.
    pub refused: u64,
    /// What an RPC takes of a thread: the mean, where enough were served.
    pub service: Option<Span>,
}

impl PoolStatus {
    pub(crate) fn to_words(self) -> [u64; 6] {
        let service_ps = self.service.map_or(0, Span::as_ps);
        [self.threads.into(), self.bound.into(), self.held.into(), self.served, self.refused, service_ps]
    }

    /// Back from the words of the status page; `None` where there is no pool.
    pub(crate) fn from_words(word: impl Fn(usize) -> u64) -> Option<Self> {
        let small = |at| u32::try_from(word(at)).unwrap_or(u32::MAX);
        let threads = u16::try_from(word(0)).ok().filter(|&threads| threads > 0)?;
        let service = Some(Span::from_ps(word(5))).filter(|service| *service > Span::ZERO);
        Some(Self { threads, bound: small(1), held: small(2), served: word(3), refused: word(4), service })
    }
}
