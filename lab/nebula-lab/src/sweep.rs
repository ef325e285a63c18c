//! `sweep`: a question at every point of a grid.
//!
//! A [`Study`] names a question, its fixed words, and the words that vary. One thread asks each of
//! its [`Point`]s, unless a [`Cache`] has the result. A point that fails keeps its row, with the
//! error. Rows are in the order of the points, and the workers do not change a byte.
//!
//! # Examples
//!
//! ```
//! use nebula_lab::sweep::{Cache, Study, run};
//!
//! let study = Study::parse(
//!     r#"
//!     question = "simulate"
//!     [fixed]
//!     cores = 4
//!     rpcs = "5k"
//!     [grid]
//!     policy = ["jbsq:2", "rss"]
//!     load = "0.5..0.9:3"
//!     "#,
//! )?;
//! let results = run(&study.points()?, &Cache::none(), None, &())?;
//! assert_eq!(results.iter().flat_map(|result| result.rows()).count(), 6);
//! # Ok::<(), nebula_lab::Failure>(())
//! ```

mod cache;
mod kind;
mod point;
mod result;
mod study;

use std::sync::atomic::{AtomicBool, Ordering};

use nebula_sim::study::{Executor, Threads};

use crate::{Failure, Progress};
pub use cache::Cache;
pub use kind::Kind;
pub use point::Point;
pub use result::PointResult;
pub use study::Study;

/// The results of all points, in order, from the cache or asked on `threads` threads (one a core if
/// `None`). A point that fails is a result.
///
/// # Errors
///
/// Threads cannot be started, or the cache cannot be written.
pub fn run(
    points: &[Point],
    cache: &Cache,
    threads: Option<u16>,
    progress: &dyn Progress,
) -> Result<Vec<PointResult>, Failure> {
    progress.expect(points.len() as u64);
    let is_kept = AtomicBool::new(true);
    let one = |point: &Point| {
        let result = cache.find(point).unwrap_or_else(|| {
            let result = point.ask();
            if cache.keep(point, &result).is_err() {
                is_kept.store(false, Ordering::Relaxed);
            }
            result
        });
        progress.step();
        result
    };
    let results = Threads::try_new(threads)?.map(points, one);
    match is_kept.into_inner() {
        true => Ok(results),
        false => Err(Failure::fault(format!("cannot write to the cache {}", cache.folder()))),
    }
}
