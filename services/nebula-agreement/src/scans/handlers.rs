//! The store's handler, timed.

use std::sync::Arc;

use nebula::{Reply, Service};
use nebula_kvs::protocol::scan::Request;
use nebula_nic::{Span, Timestamp};
use nebula_ordered::OrderedService;
use nebula_sys::clock::Clock;
use nebula_sys::sync::{AtomicU64, Ordering};

/// The most RPCs recorded.
pub(super) const HANDLED_MAX: usize = 1 << 23;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handled {
    pub(super) begun: Timestamp,
    pub(super) took: Span,
    pub(super) is_scan: bool,
}

impl Handled {
    pub(super) fn end(&self) -> Timestamp {
        self.begun + self.took
    }
}

/// Handlers' times in order, in ticks, with the type in the lowest bit of the second word. One
/// worker writes them.
pub(super) struct Notes {
    all: Box<[[AtomicU64; 2]]>,
    taken: AtomicU64,
}

impl Notes {
    pub(super) fn new() -> Self {
        Self { all: (0..HANDLED_MAX).map(|_| [const { AtomicU64::new(0) }; 2]).collect(), taken: AtomicU64::new(0) }
    }

    fn note(&self, begun: u64, ticks: u64, is_scan: bool) {
        let taken = self.taken.load(Ordering::Relaxed);
        if let Some([first, second]) = usize::try_from(taken).ok().and_then(|taken| self.all.get(taken)) {
            first.store(begun, Ordering::Relaxed);
            second.store(ticks << 1 | u64::from(is_scan), Ordering::Relaxed);
        }
        // Release: a thread that reads the count reads the times too.
        self.taken.store(taken + 1, Ordering::Release);
    }

    pub(super) fn take(&self, clock: Clock) -> Vec<Handled> {
        let taken = usize::try_from(self.taken.swap(0, Ordering::Acquire)).unwrap_or(HANDLED_MAX).min(HANDLED_MAX);
        let noted = self.all[..taken].iter().map(|words| {
            let [begun, ticks] = [&words[0], &words[1]].map(|word| word.load(Ordering::Relaxed));
            Handled {
                begun: Timestamp::from_ps(clock.at_ps(begun)),
                took: Span::from_ps(clock.ps(ticks >> 1)),
                is_scan: ticks & 1 == 1,
            }
        });
        noted.collect()
    }
}

pub(super) struct Timed {
    pub(super) service: OrderedService,
    pub(super) notes: Arc<Notes>,
    pub(super) clock: Clock,
}

impl Service for Timed {
    fn serve(&self, request: &[u8], reply: &mut Reply<'_>) {
        let begun = self.clock.ticks();
        self.service.serve(request, reply);
        let is_scan = matches!(Request::decode(request), Ok(Request::Scan { .. }));
        self.notes.note(begun, self.clock.ticks().saturating_sub(begun), is_scan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_handlers_did_is_taken_in_order_once() {
        let (notes, clock) = (Notes::new(), Clock::new());
        let begun = clock.ticks();
        for (ticks, is_scan) in [(100, false), (9000, true), (300, false)] {
            notes.note(begun, ticks, is_scan);
        }
        let taken = notes.take(clock);
        assert_eq!(taken.iter().map(|one| one.is_scan).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(
            taken.iter().map(|one| one.took).collect::<Vec<_>>(),
            [100, 9000, 300].map(|ticks| Span::from_ps(clock.ps(ticks)))
        );
        assert_eq!(taken[1].begun, Timestamp::from_ps(clock.at_ps(begun)));
        assert!(notes.take(clock).is_empty());
    }
}
