//! What happens on the server of NEBULA's evaluation? What figures 6a, 6b, 7 and 8 and Table III share: their runs and their words.
//!
//! One machine for all designs; each figure is a choice of designs, mixes, sizes and loads. Figures ask for many of the same runs, so what has
//! run is kept in a [`Memo`]: rows are the same with it and without it. Beside the machine of the paper, some of whose values are chosen after
//! results were seen, runs one with nothing fitted; its rows are notes, with `unfitted` at the end of their ids.
//!
//! Next: [`case`], what runs; [`point`], what it shows; [`bench`], how often; [`value`] and [`say`], what rows say of it; [`chart`], what is drawn.

mod memo;
mod case;
mod point;
mod bench;
mod value;
mod say;
mod brief;
mod chart;

pub use memo::Memo;

pub(super) use bench::Bench;
pub(super) use brief::compare_briefly;
pub(super) use case::Case;
pub(super) use chart::{Column, Published, bandwidth_chart, columns, tail_chart};
pub(super) use point::{mrps, over};
pub(super) use value::{Value, judged};
