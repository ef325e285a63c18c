//! Two points, run side by side: the p99 of each with its interval.
//!
//! ```console
//! $ cargo run --release -p nebula-sim --example study
//! ```

#![allow(clippy::print_stdout, reason = "an example prints")]

use nebula_nic::Span;
use nebula_sim::study::{Ask, Point, Threads, run, text};
use nebula_sim::{Effort, Load, System};
use nebula_workload::Seed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let points = [point("jbsq:2")?, point("rss")?];
    for found in run(&points, Seed(1), &Threads::try_new(None)?, &|| ()) {
        let found = found?;
        let p99 = found.figures.as_ref().map(|figures| figures.outcome.p99);
        println!("{:8} {}", found.point.name, p99.map_or("none".to_owned(), |p99| text::with_half(p99, text::time)));
    }
    Ok(())
}

/// A policy on 16 cores at 80 % load.
fn point(policy: &str) -> Result<Point, Box<dyn std::error::Error>> {
    Ok(Point {
        name: policy.to_owned(),
        system: System::new(policy.parse()?, 16),
        load: Load::open("exp:1us".parse()?, 0.8),
        slo: Span::from_us(10),
        ask: Ask::Measure,
        effort: Effort::default().rpcs(50_000).replications(5),
    })
}
