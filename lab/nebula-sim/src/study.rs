//! Experiments: points, their results, and the names of their fields.
//!
//! A [`Point`] is data: a system, a load, an SLO, and an effort. [`Point::run`] is a pure function
//! of the point and a seed; an [`Executor`] runs many points. [`fields`] declares each result's
//! name, unit and description once, for tables, JSON, CSV and `docs/data/fields.tsv`.
//!
//! | question | module |
//! |---|---|
//! | what is simulated? | `point` |
//! | what is the result, and which warnings apply? | `found`, `outcome` |
//! | which data is behind the figures? | `detail` |
//! | the same, block by block | [`blocks`] |
//! | how are many points run? | `run` |
//! | what are the names and units of fields? | [`fields`] |
//! | how are figures formatted? | [`text`] |
//!
//! `nebula-ui` has the rows, values and units, which the other programs print too.
//!
//! # Examples
//!
//! Two points, the p99 of each with its interval, and the headings of the program's rows:
//!
//! ```
//! use nebula_nic::Span;
//! use nebula_sim::study::{Ask, OneThread, Point, fields, run};
//! use nebula_sim::{Effort, Load, System};
//! use nebula_workload::Seed;
//!
//! let point = |policy: &str| -> Result<Point, Box<dyn std::error::Error>> {
//!     Ok(Point {
//!         name: policy.to_owned(),
//!         system: System::new(policy.parse()?, 16),
//!         load: Load::open("exp:1us".parse()?, 0.8),
//!         slo: Span::from_us(10),
//!         ask: Ask::Measure,
//!         effort: Effort::default().rpcs(20_000).replications(5),
//!     })
//! };
//! let mut p99 = Vec::new();
//! for found in run(&[point("jbsq:2")?, point("rss")?], Seed(1), &OneThread, &|| ()) {
//!     let found = found?;
//!     let figures = found.figures.as_ref().expect("a point that is measured has figures");
//!     p99.push(figures.outcome.p99);
//!     assert_eq!(fields::queueing().row(&found).headings()[0], "policy");
//! }
//! assert!(p99[0].hi < 7_000.0 && p99[1].lo > 15_000.0, "nanoseconds: {p99:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod by_replication;
pub mod blocks;
mod detail;
pub mod fields;
mod found;
mod outcome;
mod over_time;
mod point;
mod run;
pub mod text;

#[cfg(feature = "rayon")]
pub use crate::executor::Threads;
pub use crate::executor::{Executor, OneThread};
pub use detail::{Bin, Detail, Replication};
pub use found::{AtSlo, AtTier, Figures, Found};
pub use nebula_ui::{Align, Cell, Name, Row, Value, units};
pub use outcome::Outcome;
pub use over_time::{OverTime, Slot};
pub use point::{Ask, Point};
pub use run::{replications, run};
