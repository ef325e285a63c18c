//! The server of NEBULA's evaluation, for figures 6a, 6b, 7, 8 and Table III.
//!
//! All designs run on one machine. Figures share many runs, so a [`Memo`](memo::Memo) keeps
//! results; it changes no row. Some values of the machine are fitted, chosen after results were
//! seen. A second machine has none of them; its rows are notes with ids that end in `unfitted`.
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
