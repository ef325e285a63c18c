//! Trained thresholds that never fall as the load rises, without the noise of each training.
//!
//! If hardly any RPC is late, or RPCs are late for their service time and not for the queue, the
//! best threshold of a load is chance and predicts next to nothing. Such loads take the threshold
//! of the next load at which the queue predicts, or of the last such load. Neighbors that fall get
//! one value, weighted by the late RPCs that each was trained with.
//!
//! # Source
//!
//! Pool-adjacent-violators: M. Ayer et al., "An empirical distribution function for sampling with
//! incomplete information", Ann. Math. Stat. 26, 1955.

use super::judged::{Judged, LateByQueue};
use super::table::TrainedRow;
use super::training::{LATE_MIN, Training};
use crate::error::SimError;
use crate::executor::try_each;
use nebula_nic::schedule::ThresholdRow;

/// The threshold of one load in a table that never falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonotoneRow {
    /// The result of training for this load alone.
    pub alone: TrainedRow,
    /// RPCs that may wait.
    pub waiting: u32,
    /// The quality of that threshold at this load.
    pub judged: Judged,
}

impl From<&MonotoneRow> for ThresholdRow {
    fn from(&MonotoneRow { alone, waiting, .. }: &MonotoneRow) -> Self {
        Self { load_permille: alone.load_permille, waiting }
    }
}

impl Training {
    /// One row for each load; the loads must rise, and the thresholds never fall.
    ///
    /// # Errors
    ///
    /// Those of [`train`](Self::train).
    pub fn train_monotone(&self, progress: &(dyn Fn() + Sync)) -> Result<Vec<MonotoneRow>, SimError> {
        let watched: Vec<LateByQueue> = try_each(&self.loads_permille, |&load| self.watch(load, progress))?;
        let rows: Vec<TrainedRow> =
            self.loads_permille.iter().zip(&watched).map(|(&load, late)| self.row(load, late)).collect();
        let row = |((alone, late), waiting): ((&TrainedRow, &LateByQueue), u32)| MonotoneRow {
            alone: *alone,
            waiting,
            judged: late.judge(waiting),
        };
        Ok(rows.iter().zip(&watched).zip(monotone(&rows, self.naive())).map(row).collect())
    }
}

/// The harmonic mean from which a threshold counts as predicting anything: an assumption.
const PREDICTS_MIN: f64 = 0.1;

/// Thresholds of these rows that never fall; the naive one if none predicts anything.
fn monotone(rows: &[TrainedRow], naive: u32) -> Vec<u32> {
    /// Neighbors that share a threshold: the sum of thresholds times late RPCs, late RPCs, rows.
    struct Pool {
        sum: f64,
        late: f64,
        rows: usize,
    }
    let mut pools: Vec<Pool> = Vec::new();
    // Rows that predict nothing wait for the next one that does.
    let mut behind = 0;
    for row in rows {
        if row.late < LATE_MIN || row.trained_judged.both() < PREDICTS_MIN {
            behind += 1;
            continue;
        }
        let late = row.late as f64;
        let mut pool = Pool { sum: late * f64::from(row.trained), late, rows: 1 + behind };
        behind = 0;
        while let Some(before) = pools.pop_if(|before| before.sum / before.late > pool.sum / pool.late) {
            pool = Pool { sum: pool.sum + before.sum, late: pool.late + before.late, rows: pool.rows + before.rows };
        }
        pools.push(pool);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of thresholds")]
    let of_pool = |pool: &Pool| std::iter::repeat_n(libm::round(pool.sum / pool.late) as u32, pool.rows);
    let mut waiting: Vec<u32> = pools.iter().flat_map(of_pool).collect();
    waiting.resize(rows.len(), waiting.last().copied().unwrap_or(naive));
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[(u32, u64)]) -> Vec<TrainedRow> {
        let row = |(load, &(trained, late)): (u32, &(u32, u64))| TrainedRow {
            load_permille: load,
            queue_mean: 0.0,
            aggressive: 0,
            trained,
            late,
            trained_judged: Judged { accuracy: 1.0, effectiveness: 1.0 },
        };
        (1..).zip(of).map(row).collect()
    }

    #[test]
    fn what_rises_stays_and_what_falls_is_one_by_weight() {
        assert_eq!(monotone(&rows(&[(5, 100), (7, 200), (9, 300)]), 151), [5, 7, 9]);
        assert_eq!(monotone(&rows(&[(5, 100), (20, 100), (10, 300), (30, 100)]), 151), [5, 13, 13, 30]);
        assert_eq!(monotone(&rows(&[(30, 100), (20, 100), (10, 100)]), 151), [20, 20, 20]);
    }

    #[test]
    fn loads_that_teach_nothing_take_the_next_that_does() {
        assert_eq!(monotone(&rows(&[(151, 0), (151, 99), (12, 100), (15, 100)]), 151), [12, 12, 12, 15]);
        assert_eq!(monotone(&rows(&[(12, 100), (151, 3), (10, 100), (151, 0)]), 151), [11, 11, 11, 11]);
        assert_eq!(monotone(&rows(&[(151, 0), (151, 0)]), 151), [151, 151]);
        let mut chance = rows(&[(0, 5000), (40, 5000)]);
        chance[0].trained_judged.accuracy = 0.01;
        assert_eq!(monotone(&chance, 151), [40, 40]);
    }
}
