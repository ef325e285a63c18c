//! How good is a threshold? Counts by queue length, and what any threshold makes of them.

/// How a threshold predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Of the RPCs predicted late, the share that were; 1 where none is predicted.
    pub accuracy: f64,
    /// Of the RPCs that were late, the share that was predicted; 1 where none was late.
    pub effectiveness: f64,
}

impl Judged {
    /// The harmonic mean of both: 0 if either is.
    #[must_use]
    pub fn both(&self) -> f64 {
        let sum = self.accuracy + self.effectiveness;
        if sum == 0.0 { 0.0 } else { 2.0 * self.accuracy * self.effectiveness / sum }
    }
}

/// RPCs by the length of the queue that they found: how many, and how many of them were late.
///
/// # Examples
///
/// ```
/// use nebula_sim::altocumulus::LateByQueue;
///
/// let late = LateByQueue::new(vec![[70, 0], [20, 1], [6, 5], [4, 4]]);
/// assert_eq!((late.aggressive(), late.best()), (Some(1), Some(2)));
/// let best = late.judge(2);
/// assert_eq!((best.accuracy, best.effectiveness), (0.9, 0.9));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LateByQueue(Vec<[u64; 2]>);

impl LateByQueue {
    /// For each length from 0 on: RPCs, and late ones among them.
    #[must_use]
    pub const fn new(counts: Vec<[u64; 2]>) -> Self {
        Self(counts)
    }

    /// All together.
    #[must_use]
    pub fn all(each: &[Self]) -> Self {
        each.iter().fold(Self::default(), Self::with)
    }

    /// Both together.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.0.resize(self.0.len().max(other.0.len()), [0, 0]);
        for (sum, &[all, late]) in self.0.iter_mut().zip(&other.0) {
            *sum = [sum[0] + all, sum[1] + late];
        }
        self
    }

    /// RPCs that were late.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.0.iter().map(|&[_, late]| late).sum()
    }

    /// RPCs in all.
    #[must_use]
    pub fn rpcs(&self) -> u64 {
        self.0.iter().map(|&[all, _]| all).sum()
    }

    /// The shortest queue that a late RPC found.
    #[must_use]
    pub fn aggressive(&self) -> Option<u32> {
        self.0.iter().position(|&[_, late]| late > 0).and_then(|depth| u32::try_from(depth).ok())
    }

    /// What predicting late from `threshold` on is worth.
    #[must_use]
    pub fn judge(&self, threshold: u32) -> Judged {
        let beyond = self.0.get(threshold as usize..).unwrap_or_default();
        let [all, late] = beyond.iter().fold([0, 0], |sum, [all, late]| [sum[0] + all, sum[1] + late]);
        let share = |part: u64, whole: u64| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
        Judged { accuracy: share(late, all), effectiveness: share(late, self.late()) }
    }

    /// The threshold whose accuracy and effectiveness have the highest harmonic mean, the lowest of several; nothing if none was late.
    ///
    /// # Cost
    ///
    /// O(length of the longest queue), squared.
    #[must_use]
    pub fn best(&self) -> Option<u32> {
        let lengths = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let judged = (0..lengths).map(|threshold| (threshold, self.judge(threshold).both()));
        let best = judged.reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.filter(|_| self.late() > 0).map(|(threshold, _)| threshold)
    }
}
