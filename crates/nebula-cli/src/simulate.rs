//! `nebula simulate`: what a server would do, under each policy and load, with error bars.
//!
//! | file | what it holds |
//! |---|---|
//! | `words` | spellings that only this command has: loads, the SLO, reactions to a NACK |
//! | `plan` | the operating points that the arguments ask for, checked before the first one runs |
//! | `measure` | all points, side by side on all cores, in the order asked for |
//! | `rows` | what was found, described once for tables, JSON and CSV |

mod measure;
mod plan;
mod rows;
pub(crate) mod words;

use std::path::PathBuf;

use nebula_nic::{Policy, Span};
use nebula_sim::Effort;
use nebula_workload::{Arrivals, Seed, ServiceTime};

use crate::output::{self, Failure, Format, Row};
use crate::{cli, report};
pub(crate) use measure::{Ask, Figures, Found, Point, Pool, advance};
pub(crate) use plan::{check_saturation, lock_handoff};
pub(crate) use words::Slo;
use words::{Loads, Reaction};

const EXAMPLES: &str = "Examples:
  nebula simulate                                                    jbsq:2 on 64 cores, exponential service of 1 µs
  nebula simulate --policy rss,single-queue,jbsq:2 --load 0.5..0.95:10
  nebula simulate --policy jbsq:2 --cores 16 --service trace:get.csv --find-slo --slo 50us
  nebula simulate --load 0.9,1.2 --queue-bound 100 --on-nack retry:10us,8
  nebula simulate --servers 4 --cores 16 --load 0.95 --queue-bound 50 --on-nack another
  nebula simulate --clients 200 --think exp:10us --cores 16          a closed loop
  nebula simulate --policy mcs-lock --lock-handoff 200ns --cores 16 --load 0.2
  nebula simulate --load 0.95 --precision 1% --format json

Service times: fixed:1us, exp:1us, uniform:0ns-2us, bimodal:500ns@0.9,5500ns@0.1, lognormal:mean=1us,sigma=1.5,
gev:loc=181.5ns,scale=50ns,shape=0.65, pareto:min=500ns,alpha=1.5, trace:FILE (nanoseconds, one a line), a sum of them
such as fixed:300ns+exp:300ns, or mix:get=0.995*exp:1us;scan=0.005*fixed:500us.
Arrivals: poisson, paced, packets:8, mmpp2:5x,0.1,100us, on-off:100us,300us, trace:FILE.
Policies: rss, round-robin, random, key-hash, single-queue, jbsq:N, mcs-lock.

Latency runs from arrival to the end of service, of the RPCs served. A load meets the SLO when the p99 of all RPCs is within it,
one that was NACKed counting as infinitely late. Queue depth is what an arrival finds waiting, RPCs given to a core not counted.
Intervals hold the true value in 95 of 100 experiments. The same arguments give the same bytes, on any number of threads.";

/// Simulate a server: tail, throughput and queue depth of each policy at each load, with error bars
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How RPCs are given to cores; several give a row each
    #[arg(long, value_delimiter = ',', default_value = "jbsq:2")]
    policy: Vec<Policy>,
    /// Cores of a server
    #[arg(long, default_value_t = 64)]
    cores: u16,
    /// How long an RPC keeps its core
    #[arg(long, default_value = "exp:1us", value_parser = words::service)]
    service: ServiceTime,
    /// Shares of the cores' time that are offered: 0.5,0.9 or 0.5..0.99:20; 0.5,0.9 unless given
    #[arg(long, conflicts_with = "clients")]
    load: Option<Loads>,
    /// When RPCs arrive
    #[arg(long, default_value = "poisson", value_parser = words::arrivals, conflicts_with = "clients")]
    arrivals: Arrivals,
    /// Search for the highest load that keeps the SLO
    #[arg(long, conflicts_with_all = ["load", "clients"])]
    find_slo: bool,
    /// Closed loop: so many clients, each with one RPC at a time
    #[arg(long, value_name = "N")]
    clients: Option<u32>,
    /// How long a client waits between an answer and its next RPC; nothing unless given
    #[arg(long, value_name = "SERVICE", value_parser = words::service, requires = "clients")]
    think: Option<ServiceTime>,
    /// Bound that 99 % of RPCs are to keep: 10us, or 10x the mean service time
    #[arg(long, default_value = "10x")]
    slo: Slo,
    /// RPCs that may wait at a server; one more is NACKed
    #[arg(long, value_name = "N")]
    queue_bound: Option<u32>,
    /// What a client does after a NACK: drop, retry:FIRST or retry:FIRST,TRIES with back-off doubling from FIRST, or another server
    #[arg(long, default_value = "drop")]
    on_nack: Reaction,
    /// Servers that share the load, each RPC going to one by chance
    #[arg(long, default_value_t = 1)]
    servers: u16,
    /// From an RPC's dispatch until its core can begin it
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    dispatch_latency: Span,
    /// From an RPC's end until the NIC knows of it
    #[arg(long, value_name = "TIME", default_value = "0ns")]
    notify_latency: Span,
    /// How long a core of mcs-lock holds the lock for each RPC; 150ns unless given, an assumption
    #[arg(long, value_name = "TIME")]
    lock_handoff: Option<Span>,
    #[command(flatten)]
    effort: EffortArgs,
    /// Draw all charts into this HTML page
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Draw the p99 over the load, or the loads found, into this picture: SVG or PNG
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    plot: Option<PathBuf>,
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How much is simulated.
#[derive(Debug, clap::Args)]
pub(crate) struct EffortArgs {
    /// RPCs measured in each replication: 200k, or 1M where the load at the SLO is searched for, unless given
    #[arg(long, value_parser = cli::count)]
    rpcs: Option<u64>,
    /// RPCs before those, which fill the empty system: a tenth of them, or more near saturation, unless given
    #[arg(long, value_name = "RPCS", value_parser = cli::count)]
    warmup: Option<u64>,
    /// Independent replications, which the intervals are made of
    #[arg(long, default_value_t = 10)]
    replications: u32,
    /// Replicate until half the interval is within this share: 1%, 0.005
    #[arg(long, value_name = "SHARE", value_parser = words::share)]
    precision: Option<f64>,
    /// Same seed, same bytes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads to run replications on; as many as there are cores unless given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

/// RPCs of a replication unless told.
const RPCS: u64 = 200_000;

/// The same near saturation, where a search looks and short runs keep the SLO by luck.
const RPCS_OF_SEARCH: u64 = 1_000_000;

impl EffortArgs {
    pub(crate) fn effort(&self, searches: bool) -> Effort {
        let Self { warmup, replications, precision, seed, .. } = *self;
        let rpcs = self.rpcs.unwrap_or(if searches { RPCS_OF_SEARCH } else { RPCS });
        Effort { rpcs, warmup, replications, precision, seed: Seed(seed), ..Effort::default() }
    }

    pub(crate) fn pool(&self) -> Result<Pool, Failure> {
        Pool::try_new(self.threads)
    }
}

/// Runs all points, prints a row for each and draws what is to be drawn.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    check_files(args)?;
    let points = plan::points(args)?;
    let measured = args.effort.pool()?.measure(&points, &args.effort.effort(args.find_slo))?;
    let rows: Vec<Row> = measured.found.iter().map(rows::row).collect();
    if !rows.is_empty() {
        output::print(args.format, &rows)?;
        draw(args, &measured.found, &rows)?;
    }
    measured.found.iter().filter_map(rows::doubt).for_each(output::note);
    measured.failure.map_or(Ok(()), Err)
}

fn check_files(args: &Args) -> Result<(), Failure> {
    for (flag, path) in [("--report", &args.report), ("--plot", &args.plot)] {
        path.as_deref().map_or(Ok(()), |path| report::check_directory(flag, path))?;
    }
    args.plot.as_deref().map_or(Ok(()), |path| report::chart::plot_kind(path).map(drop))
}

fn draw(args: &Args, found: &[Found], rows: &[Row]) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        let footer = concat!("Made by nebula ", env!("CARGO_PKG_VERSION"), " simulate.");
        report::write(path, &report::simulation::render(found, rows, footer))?;
    }
    match &args.plot {
        Some(path) => report::write_plot(path, &report::simulation::plot(found)),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use nebula_sim::{Interval, Load, System};

    /// Two loads of each of two policies, as a short run shows them; the first policy's second has many NACKs.
    pub(crate) fn found(ask: Ask) -> Vec<Found> {
        let figures = |load: f64, accepted: f64, p99_ns: f64| Figures {
            load,
            offered_rps: load * 16e6,
            served_rps: load * accepted * 16e6,
            accepted,
            nacks: 0,
            meets_slo: accepted >= 0.99 && p99_ns <= 10e3,
            mean: 1.1e3,
            p50: 0.8e3,
            p90: 2.4e3,
            p99: Interval { value: p99_ns, lo: 0.8 * p99_ns, hi: 1.2 * p99_ns },
            p999: 2.0 * p99_ns,
            queued_mean: 0.1e3,
            queued_p99: 0.9e3,
            depth_mean: Interval { value: 3.0, lo: -1.0, hi: 7.0 },
            depth_p99: Interval { value: 70.0, lo: 50.0, hi: 90.0 },
            replications: 4,
            is_precise: None,
        };
        let one = |policy, load, accepted, p99_ns| {
            let load_of = Load::open("exp:1us".parse().unwrap(), load);
            let slo = load_of.slo(10.0);
            let interval = Interval { value: load, lo: load - 0.01, hi: load + 0.01 };
            let at_slo = measure::AtSlo { load: interval, served_rps: load * 16e6, is_lower_bound: false };
            Found {
                point: measure::Point { system: System::new(policy, 16), load: load_of, slo, ask },
                effort: Effort::default(),
                at_slo: (ask == Ask::FindLoad).then_some(at_slo),
                figures: Some(figures(load, accepted, p99_ns)),
            }
        };
        vec![
            one(Policy::Jbsq(2), 0.5, 1.0, 4.6e3),
            one(Policy::Jbsq(2), 0.9, 0.9, 6.2e3),
            one(Policy::Rss, 0.5, 1.0, 9.2e3),
            one(Policy::Rss, 0.9, 1.0, 44.0e3),
        ]
    }
}
