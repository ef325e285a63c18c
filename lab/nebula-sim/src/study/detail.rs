//! What the figures of a point were made from: each replication, and the distribution of the
//! latency.

use super::found::Found;
use super::outcome::PS_PER_NS;
use super::text::{digits, load, time};
use crate::experiment::Estimate;
use nebula_ui::Row;

/// What the figures of a point were made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// Each replication, in its order.
    pub replications: Vec<Replication>,
    /// How many RPCs of all replications were served within which latency, from low to high; the
    /// cells without RPCs are left out.
    pub latency: Vec<Bin>,
}

/// The results of one replication; times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replication {
    /// Mean latency of the RPCs served.
    pub mean: f64,
    /// p99 of their latency.
    pub p99: f64,
    /// p99 of all RPCs, a NACK counted as infinite.
    pub p99_with_nacks: f64,
    /// Mean number of waiting RPCs that an arrival finds.
    pub depth_mean: f64,
    /// p99 of that number.
    pub depth_p99: f64,
}

/// A cell of a distribution of times in nanoseconds. Cells are as wide as three significant digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The lowest time in it.
    pub from: f64,
    /// The highest.
    pub to: f64,
    /// RPCs in it.
    pub count: u64,
}

impl Detail {
    pub(super) fn of(shown: &Estimate) -> Self {
        let at = |index: usize| Replication {
            mean: shown.mean_ps[index] / PS_PER_NS,
            p99: shown.p99_ps[index] / PS_PER_NS,
            p99_with_nacks: shown.p99_ps_with_nacks[index] / PS_PER_NS,
            depth_mean: shown.depth_mean[index],
            depth_p99: shown.depth_p99[index],
        };
        let bin = |(from, to, count): (u64, u64, u64)| Bin {
            from: from as f64 / PS_PER_NS,
            to: to as f64 / PS_PER_NS,
            count,
        };
        Self {
            replications: (0..shown.replications()).map(at).collect(),
            latency: shown.tally.latency.cells().map(bin).collect(),
        }
    }
}

impl Found {
    /// A row for each replication.
    #[must_use]
    pub fn replication_rows(&self) -> Vec<Row> {
        let row = |(index, one): (u32, &Replication)| {
            self.named()
                .field("replication", index)
                .field("latency_ns_mean", digits(one.mean))
                .field("latency_ns_p99", digits(one.p99))
                .field("latency_ns_p99_with_nacks", digits(one.p99_with_nacks))
                .field("queue_depth_mean", digits(one.depth_mean))
                .field("queue_depth_p99", digits(one.depth_p99))
                .shown("replication", index.to_string())
                .shown("mean", time(one.mean))
                .shown("p99", time(one.p99))
                .shown("p99 with NACKs", time(one.p99_with_nacks))
                .shown("queue mean", format!("{:.2}", one.depth_mean))
        };
        (0..).zip(&self.detail.replications).map(row).collect()
    }

    /// A row for each cell of the latency's distribution, with the share of the RPCs served that
    /// took longer.
    #[must_use]
    pub fn histogram_rows(&self) -> Vec<Row> {
        let total: u64 = self.detail.latency.iter().map(|bin| bin.count).sum();
        let mut left = total;
        let row = |bin: &Bin| {
            left -= bin.count;
            let longer = left as f64 / total as f64;
            self.named()
                .field("latency_ns_lo", bin.from)
                .field("latency_ns_hi", bin.to)
                .field("count", bin.count)
                .field("ccdf", digits(longer))
                .shown("latency", time(bin.to))
                .shown("RPCs", bin.count.to_string())
                .shown("longer", format!("{longer:.3e}"))
        };
        self.detail.latency.iter().map(row).collect()
    }

    /// A row with the name of the point only.
    fn named(&self) -> Row {
        let at = self.figures.as_ref().map(|figures| figures.load);
        Row::new()
            .field("policy", self.point.name.as_str())
            .field("load", at.map(digits))
            .word("policy", self.point.name.as_str())
            .shown("load", at.map_or("–".to_owned(), load))
    }
}
