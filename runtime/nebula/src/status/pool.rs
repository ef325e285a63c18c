//! The counters of a server's pool of threads.

use nebula_nic::Span;

/// The counters of a server's pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatus {
    /// Its threads.
    pub threads: u16,
    /// RPCs that it accepts at once, waiting and running: as many as keep the SLO.
    pub bound: u32,
    /// RPCs that wait or run.
    pub held: u32,
    /// RPCs whose handlers have returned.
    pub served: u64,
    /// RPCs refused because as many were held.
    pub refused: u64,
    /// Mean service time of an RPC, once enough were served.
    pub service: Option<Span>,
}

impl PoolStatus {
    pub(crate) fn to_words(self) -> [u64; 6] {
        let service_ps = self.service.map_or(0, Span::as_ps);
        [self.threads.into(), self.bound.into(), self.held.into(), self.served, self.refused, service_ps]
    }

    /// Reads the words of the status page; `None` without a pool.
    pub(crate) fn from_words(word: impl Fn(usize) -> u64) -> Option<Self> {
        let small = |at| u32::try_from(word(at)).unwrap_or(u32::MAX);
        let threads = u16::try_from(word(0)).ok().filter(|&threads| threads > 0)?;
        let service = Some(Span::from_ps(word(5))).filter(|service| *service > Span::ZERO);
        Some(Self { threads, bound: small(1), held: small(2), served: word(3), refused: word(4), service })
    }
}
