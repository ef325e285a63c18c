//! The laboratory's questions in words.
//!
//! A question is what `nebula simulate`, `compare`, `size`, `incast` and `reproduce` ask, as flags.
//! The program, a study's file and Python read the same words by the same code.
//!
//! | question | module |
//! |---|---|
//! | how is a word read, and how is a wrong one reported? | [`words`] |
//! | a server under a policy or a design: how late, how much, how full? | [`simulate`] |
//! | the same of the published systems, side by side | [`compare`] |
//! | how much room does a server need? | [`size`] |
//! | what do many senders get of one receive buffer, under each flow control? | [`incast`] |
//! | are the papers' figures reproduced? | [`reproduce`] |
//! | one of these at every point of a grid? | [`sweep`] |
//! | which policy is simulated, if it is the caller's? | [`own`] |
//! | what does an answer hold? | [`Answer`], [`Failure`] |
//!
//! # Examples
//!
//! ```
//! use nebula_lab::{Failure, simulate};
//!
//! let words = ["--policy", "jbsq:2,rss", "--cores", "16", "--load", "0.8", "--rpcs", "20k"];
//! let simulated = simulate::Question::parse(words)?.ask(&())?;
//! assert_eq!(simulated.answer.rows.len(), 2);
//!
//! let wrong = simulate::Question::parse(["--policy", "fifo"]);
//! assert!(matches!(wrong, Err(Failure::BadInput(line)) if line.contains("fifo")));
//! # Ok::<(), Failure>(())
//! ```

#![forbid(unsafe_code)]

mod answer;
pub mod own;
pub mod words;
mod workers;
pub mod studies;
pub mod simulate;
pub mod compare;
pub mod size;
pub mod incast;
pub mod reproduce;
pub mod sweep;

pub use answer::Answer;
pub use nebula_sim::reproduce::Progress;
pub use nebula_ui::Failure;
pub use workers::Workers;
