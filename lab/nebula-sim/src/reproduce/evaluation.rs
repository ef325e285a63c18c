//! The server of NEBULA's evaluation: the runs and the wording that figures 6a, 6b, 7 and 8 and
//! Table III share.
//!
//! All designs run on one machine. Each figure selects designs, mixes, sizes and loads. Figures
//! share many runs, so results are kept in a [`Memo`](memo::Memo), which does not change any row.
//! Some values of the paper's machine are fitted: they were chosen after results were seen. A
//! second machine has none of them; its rows are notes whose ids end with `unfitted`.
//!
//! Next: [`case`], what runs; [`point`], its results; [`bench`], the runs; [`value`] and [`say`],
//! values and reasons of rows; [`chart`], the charts.

pub(crate) mod depth;
pub(crate) mod memo;
pub(crate) mod case;
pub(crate) mod point;
pub(crate) mod bench;
pub(crate) mod value;
mod say;
mod brief;
pub(crate) mod chart;

pub(super) use brief::compare_briefly;
