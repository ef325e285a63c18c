//! The chain of a home bucket: extra buckets of the index, then lines that a cache's log has given.

use super::Store;
use crate::bucket::{self, Bucket, Held};
use crate::mode::Mode;
use crate::probe::Probe;

/// The longest chain of a cache, with its home: keys that collide make no GET slower than this.
const CHAIN_MAX: usize = 8;

impl<P: Probe> Store<P> {
    #[inline(always)]
    pub(super) fn chain<'a>(&'a self, home: &'a Bucket) -> impl Iterator<Item = &'a Bucket> {
        std::iter::successors(Some(home), |bucket| bucket::next_extra(bucket).and_then(|extra| self.extra(extra)))
    }

    pub(super) fn extra(&self, extra: usize) -> Option<&Bucket> {
        match self.index.extra(extra) {
            Ok(bucket) => Some(bucket),
            Err(line) if self.mode == Mode::Cache => self.log.line(line),
            Err(_) => None,
        }
    }

    /// Chains an unused bucket to the held one, if there is one.
    pub(super) fn extend<'a>(&'a self, held: &mut Held<'a>) -> Option<&'a Bucket> {
        let (length, last) = self.chain(held.home()).enumerate().last()?;
        if self.mode == Mode::Cache && length + 1 >= CHAIN_MAX {
            return None;
        }
        let (used, all) = (self.index.extra_buckets_used(), self.index.extra_buckets());
        if self.mode == Mode::Cache && used >= all / 4 * 3 {
            self.log.ask_for_lines(all - used);
        }
        let of_log = || Some(all + self.log.take_line()?);
        let extra = self.index.take_extra().or_else(|| if self.mode == Mode::Cache { of_log() } else { None })?;
        // A link has 32 bits, of which 0 is none.
        let bucket = self.extra(extra).filter(|_| extra < u32::MAX as usize)?;
        bucket::clear(bucket);
        held.link(last, extra);
        Some(bucket)
    }
}
