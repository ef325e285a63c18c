//! The quality of thresholds: how well they predict late RPCs from the queue length.

/// The quality of a threshold's predictions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Precision: the share of RPCs predicted late that were late; 1 if none is predicted.
    pub accuracy: f64,
    /// Recall: the share of late RPCs that were predicted late; 1 if none was late.
    pub effectiveness: f64,
}

impl Judged {
    /// The harmonic mean of both; 0 if either is 0.
    #[must_use]
    pub fn both(&self) -> f64 {
        let sum = self.accuracy + self.effectiveness;
        if sum == 0.0 { 0.0 } else { 2.0 * self.accuracy * self.effectiveness / sum }
    }
}

/// RPCs by the queue length that they found on arrival: their number, and that of late ones.
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
    /// For each length from 0: RPCs, and late RPCs among them.
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

    /// The quality of predicting an RPC late from `threshold` on.
    #[must_use]
    pub fn judge(&self, threshold: u32) -> Judged {
        let beyond = self.0.get(threshold as usize..).unwrap_or_default();
        let [all, late] = beyond.iter().fold([0, 0], |sum, [all, late]| [sum[0] + all, sum[1] + late]);
        let share = |part: u64, whole: u64| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
        Judged { accuracy: share(late, all), effectiveness: share(late, self.late()) }
    }

    /// The threshold with the highest harmonic mean of accuracy and effectiveness; the lowest if
    /// several tie; `None` if no RPC was late. Takes O(longest queue²).
    #[must_use]
    pub fn best(&self) -> Option<u32> {
        let lengths = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let judged = (0..lengths).map(|threshold| (threshold, self.judge(threshold).both()));
        let best = judged.reduce(|best, next| if next.1 > best.1 { next } else { best });
        best.filter(|_| self.late() > 0).map(|(threshold, _)| threshold)
    }
}
