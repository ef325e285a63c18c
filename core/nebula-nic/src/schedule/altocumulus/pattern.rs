//! Classifies the queue lengths of all groups.

/// The class of a vector of queue lengths.
///
/// Source: Altocumulus: the three classes. The meaning of "far" is not published; here it is a
/// whole bulk of migrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One queue is far longer than every other: it sends to many.
    Hill,
    /// One queue is far shorter than every other: the others send to it.
    Valley,
    /// Neither: the longest sends to the shortest, the second to the second shortest, and so on.
    Pairing,
}

/// Decisions that had RPCs handed over, by pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternCounts {
    /// Under [`Pattern::Hill`].
    pub hill: u64,
    /// Under [`Pattern::Valley`].
    pub valley: u64,
    /// Under [`Pattern::Pairing`].
    pub pairing: u64,
}

impl PatternCounts {
    pub(super) fn count(&mut self, pattern: Pattern) {
        let count = match pattern {
            Pattern::Hill => &mut self.hill,
            Pattern::Valley => &mut self.valley,
            Pattern::Pairing => &mut self.pairing,
        };
        *count += 1;
    }
}

impl Pattern {
    /// The class of `lengths`, where `far` more waiting RPCs are far longer; `None` with fewer than
    /// two queues. Of two queues, the longer one is a hill. O(queues), no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_nic::schedule::Pattern;
    ///
    /// assert_eq!(Pattern::of(&[40, 3, 5, 4], 16), Some(Pattern::Hill));
    /// assert_eq!(Pattern::of(&[40, 42, 5, 44], 16), Some(Pattern::Valley));
    /// assert_eq!(Pattern::of(&[40, 42, 5, 4], 16), Some(Pattern::Pairing));
    /// assert_eq!(Pattern::of(&[40], 16), None);
    /// ```
    #[must_use]
    pub fn of(lengths: &[u32], far: u32) -> Option<Self> {
        if lengths.len() < 2 {
            return None;
        }
        let [longest, second_longest] = two_extremes(lengths, |left, right| left > right);
        let [shortest, second_shortest] = two_extremes(lengths, |left, right| left < right);
        Some(if longest - second_longest >= far {
            Self::Hill
        } else if second_shortest - shortest >= far {
            Self::Valley
        } else {
            Self::Pairing
        })
    }
}

fn two_extremes(lengths: &[u32], is_beyond: impl Fn(u32, u32) -> bool) -> [u32; 2] {
    let (mut first, mut second) = (lengths[0], lengths[1]);
    if is_beyond(second, first) {
        (first, second) = (second, first);
    }
    for &length in &lengths[2..] {
        if is_beyond(length, first) {
            (first, second) = (length, first);
        } else if is_beyond(length, second) {
            second = length;
        }
    }
    [first, second]
}
