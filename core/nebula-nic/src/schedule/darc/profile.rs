//! The service time and frequency of each type, window by window.

use crate::schedule::typed_queues::RpcType;
use crate::time::Span;
use alloc::boxed::Box;
use alloc::vec;

/// 1 as a share: shares are fractions of 2^32.
const ONE: u64 = 1 << 32;

#[derive(Clone, Copy, Debug, Default)]
struct Kind {
    // The window.
    rpcs: u32,
    sum_ps: u64,
    // All windows, weighted.
    mean_ps: u64,
    share: u64,
    /// Share of all work in the current plan.
    planned: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Profile {
    kinds: Box<[Kind]>,
    samples: u32,
    is_first: bool,
}

impl Profile {
    pub(super) fn new(types: u8) -> Self {
        Self { kinds: vec![Kind::default(); usize::from(types)].into(), samples: 0, is_first: true }
    }

    #[inline]
    pub(super) fn note(&mut self, kind: RpcType, service: Span) {
        let kind = &mut self.kinds[usize::from(kind.0)];
        kind.rpcs += 1;
        kind.sum_ps = kind.sum_ps.saturating_add(service.as_ps());
        self.samples += 1;
    }

    #[inline]
    pub(super) const fn samples(&self) -> u32 {
        self.samples
    }

    /// The mean service time; `None` for a type that has not been seen in a completed window.
    #[inline]
    pub(super) fn mean(&self, kind: RpcType) -> Option<Span> {
        let mean_ps = self.kinds.get(usize::from(kind.0))?.mean_ps;
        (mean_ps > 0).then(|| Span::from_ps(mean_ps))
    }

    /// Adds the window to the means, and begins the next.
    pub(super) fn end_window(&mut self, weight_percent: u8) {
        let samples = u64::from(self.samples.max(1));
        for kind in &mut self.kinds {
            let share = u64::from(kind.rpcs) * ONE / samples;
            let weight = if self.is_first { 100 } else { weight_percent };
            kind.share = weighted(kind.share, share, weight);
            if kind.rpcs > 0 {
                // A mean of zero would leave a type out of the plan.
                let mean_ps = (kind.sum_ps / u64::from(kind.rpcs)).max(1);
                let weight = if kind.mean_ps == 0 { 100 } else { weight };
                kind.mean_ps = weighted(kind.mean_ps, mean_ps, weight).max(1);
            }
            (kind.rpcs, kind.sum_ps) = (0, 0);
        }
        (self.samples, self.is_first) = (0, false);
    }

    pub(super) fn work(&self, kind: RpcType) -> u128 {
        let Kind { mean_ps, share, .. } = self.kinds[usize::from(kind.0)];
        u128::from(mean_ps) * u128::from(share)
    }

    pub(super) fn work_total(&self) -> u128 {
        self.types().map(|kind| self.work(kind)).sum()
    }

    /// Whether a type's share of all work is off the last plan's by more than `percent` percent.
    pub(super) fn has_moved(&self, percent: u8) -> bool {
        self.types().any(|kind| {
            let planned = self.kinds[usize::from(kind.0)].planned;
            self.work_share(kind).abs_diff(planned) * 100 > planned * u64::from(percent)
        })
    }

    pub(super) fn note_planned(&mut self) {
        for kind in self.types() {
            self.kinds[usize::from(kind.0)].planned = self.work_share(kind);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most 2^32")]
    fn work_share(&self, kind: RpcType) -> u64 {
        (self.work(kind) * u128::from(ONE) / self.work_total().max(1)) as u64
    }

    pub(super) fn types(&self) -> impl Iterator<Item = RpcType> + use<> {
        #[expect(clippy::cast_possible_truncation, reason = "there are at most 64")]
        let types = self.kinds.len() as u8;
        (0..types).map(RpcType)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "between two u64")]
fn weighted(old: u64, new: u64, weight_percent: u8) -> u64 {
    let weight = u128::from(weight_percent.min(100));
    ((u128::from(old) * (100 - weight) + u128::from(new) * weight) / 100) as u64
}
