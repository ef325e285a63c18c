//! What is printed: a table for people, a line of JSON each for programs.

use crate::edge::EdgeReport;
use crate::serving::TierReport;
use crate::tier::{Threads, Tier};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

/// Output format
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    Json,
}

/// A line of the output. Latencies are in microseconds, and missing where they are infinite: more
/// than that share had no reply.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Line {
    /// What the clients have seen of the front ends in an interval.
    Clients { threads: Threads, edges: Vec<EdgeReport> },
    /// What a tier has seen in an interval.
    Tier {
        threads: Threads,
        #[serde(flatten)]
        report: TierReport,
    },
    /// A tier's process was ended.
    Killed { threads: Threads, tier: Tier },
    /// It serves again.
    Restarted { threads: Threads, tier: Tier },
    /// What came of one load.
    Load {
        threads: Threads,
        offered_rps: f64,
        replied_rps: f64,
        offered: u64,
        replied: u64,
        refused: u64,
        failed: u64,
        latency_us_p50: Option<f64>,
        latency_us_p99: Option<f64>,
        meets_slo: bool,
    },
    /// The highest load within the SLO, and the lowest that missed it.
    Highest { threads: Threads, rps: Option<f64>, missed_rps: Option<f64> },
    /// Handlers elsewhere over handlers where RPCs arrive.
    Ratio { load: Option<f64>, latency_p50: Option<f64>, latency_p99: Option<f64> },
}

/// Prints what is measured.
#[derive(Debug)]
pub(crate) struct Show {
    format: Format,
    /// The latest report of each tier.
    tiers: BTreeMap<String, TierReport>,
}

impl Show {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, tiers: BTreeMap::new() }
    }

    /// An interval is over.
    pub(crate) fn interval(
        &mut self,
        threads: Threads,
        edges: Vec<EdgeReport>,
        reports: Vec<TierReport>,
    ) -> Result<(), Box<dyn Error>> {
        if self.format == Format::Json {
            self.line(&Line::Clients { threads, edges })?;
            return reports.into_iter().try_for_each(|report| self.line(&Line::Tier { threads, report }));
        }
        self.tiers.extend(reports.into_iter().map(|report| (report.tier.clone(), report)));
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{:<24}{:>10}{:>10}{:>10}{:>10}{:>10}",
            "call", "replied", "refused", "failed", "p50 µs", "p99 µs"
        )?;
        let seen = edges.iter().map(|edge| ("clients", edge));
        let between = self.tiers.values().flat_map(|report| report.edges.iter().map(|edge| (&*report.tier, edge)));
        for (from, EdgeReport { to, replied, refused, failed, latency_us_p50, latency_us_p99, .. }) in
            seen.chain(between)
        {
            let call = format!("{from} → {to}");
            writeln!(
                out,
                "{call:<24}{replied:>10}{refused:>10}{failed:>10}{latency_us_p50:>10.0}{latency_us_p99:>10.0}"
            )?;
        }
        Ok(())
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, line: &Line) -> Result<(), Box<dyn Error>> {
        let text = match self.format {
            Format::Json => serde_json::to_string(line)?,
            Format::Table => text(line),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}")?;
        Ok(out.flush()?)
    }
}

fn text(line: &Line) -> String {
    let or = |value: &Option<f64>, none: &str| value.map_or(none.to_owned(), |value| format!("{value:.0}"));
    let times = |value: &Option<f64>| value.map_or("unknown".to_owned(), |value| format!("{value:.1}×"));
    match line {
        Line::Clients { .. } | Line::Tier { .. } => String::new(),
        Line::Killed { tier, .. } => format!("killed: {}", tier.name()),
        Line::Restarted { tier, .. } => format!("started again: {}", tier.name()),
        Line::Load {
            threads,
            offered_rps,
            replied_rps,
            refused,
            failed,
            latency_us_p50,
            latency_us_p99,
            meets_slo,
            ..
        } => format!(
            "{}: {offered_rps:.0} RPC/s offered, {replied_rps:.0} replied to; {refused} refused, {failed} failed; p50 {} µs, p99 {} µs; \
             SLO {}",
            threads.name(),
            or(latency_us_p50, "∞"),
            or(latency_us_p99, "∞"),
            if *meets_slo { "met" } else { "missed" },
        ),
        Line::Highest { threads, rps, missed_rps } => format!(
            "{} threads: {} RPC/s within the SLO; {} missed it",
            threads.name(),
            or(rps, "no"),
            or(missed_rps, "none"),
        ),
        Line::Ratio { load, latency_p50, latency_p99 } => format!(
            "worker threads over dispatch threads: {} the load within the SLO; at a light load {} the median latency, {} the p99",
            times(load),
            times(latency_p50),
            times(latency_p99),
        ),
    }
}

/// Says why the program ends.
pub(crate) fn fault(error: &dyn Error) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "error: {error}");
    ExitCode::FAILURE
}
