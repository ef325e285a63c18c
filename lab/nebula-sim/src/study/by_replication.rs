//! Results by replication.

use crate::study::detail::{Bin, Replication};
use crate::study::found::Found;
use nebula_ui::Row;
use nebula_ui::text::{digits, load, time};

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

    /// A row per cell of the latency's distribution, with the share of RPCs that took longer.
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

    pub(crate) fn named(&self) -> Row {
        let at = self.figures.as_ref().map(|figures| figures.load);
        Row::new()
            .field("policy", self.point.name.as_str())
            .field("load", at.map(digits))
            .word("policy", self.point.name.as_str())
            .shown("load", at.map_or("–".to_owned(), load))
    }
}
