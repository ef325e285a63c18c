//! `nebula simulate`: what a server would do, under each policy or design and load, with error bars.
//!
//! Two levels: queueing, where an RPC takes a given time, and the server, where each block that an RPC touches goes through the
//! memory of a `--machine` and the time is a result.
//!
//! | file | what it holds |
//! |---|---|
//! | `level` | which flags belong to which level |
//! | `words` | spellings that only this command has: reactions to a NACK |
//! | `queueing` | the flags of the queueing level |
//! | `plan` | its operating points, checked before the first one runs |
//! | `measure` | all points, side by side on all cores, in the order asked for |
//! | `rows` | what was found, described once for tables, JSON and CSV |
//! | `blocks` | the block level, with files of the same names |

mod level;
mod measure;
mod plan;
mod queueing;
pub(crate) mod rows;
pub(crate) mod blocks;
mod words;

use std::path::PathBuf;

use clap::ArgMatches;
use nebula_workload::Arrivals;

use crate::flags::{self, EffortArgs, Format, Slo};
use crate::output::{self, Failure, Row};
use crate::report;
pub(crate) use measure::{Ask, Figures, Found, Point, Pool, advance};
pub(crate) use plan::{check_saturation, lock_handoff};

const EXAMPLES: &str = "Examples:
  nebula simulate                            jbsq:2 on 64 cores, exponential service of 1 µs
  nebula simulate --policy rss,single-queue,jbsq:2 --load 0.5..0.95:10
  nebula simulate --policy jbsq:2 --cores 16 --service trace:get.csv --find-slo --slo 50us
  nebula simulate --load 0.9,1.2 --queue-bound 100 --on-nack retry:10us,8
  nebula simulate --servers 4 --cores 16 --load 0.95 --queue-bound 50 --on-nack another
  nebula simulate --clients 200 --think exp:10us --cores 16          a closed loop
  nebula simulate --policy mcs-lock --lock-handoff 200ns --cores 16 --load 0.2
  nebula simulate --load 0.95 --precision 1% --format json
  nebula simulate --machine isca20           the block level: six designs of NIC, a store, six rates
  nebula simulate --machine isca20 --design rpcvalet,nebula --rate 5..25MRPS:9 --report page.html
  nebula simulate --machine isca20 --design nebula --rate 22MRPS --breakdown
  nebula simulate --machine isca20 --find-slo --mix get=95,set=5 --value-bytes 64
  nebula simulate --machine mine.toml --application network-function --rate 5MRPS --hog 10GB/s

Service times: fixed:1us, exp:1us, uniform:0ns-2us, bimodal:500ns@0.9,5500ns@0.1,
lognormal:mean=1us,sigma=1.5, gev:loc=181.5ns,scale=50ns,shape=0.65, pareto:min=500ns,alpha=1.5,
trace:FILE (nanoseconds, one a line), a sum of them such as fixed:300ns+exp:300ns, or
mix:get=0.995*exp:1us;scan=0.005*fixed:500us.
Arrivals: poisson, paced, packets:8, mmpp2:5x,0.1,100us, on-off:100us,300us, trace:FILE.
Policies: {policies}.
What published systems make of them, with their costs: nebula compare.
Machines: isca20 (the 16 cores of NEBULA's evaluation), isca20-unfitted, server64.
Designs: rss, rpcvalet, srq-emu, nebula-base, nebula-swpref, nebula.
Applications: kvs, network-function, replication.
Files of one's own are TOML, like those in machines/, designs/ and applications/ of crates/nebula-sim/data.

Queueing level: latency runs from arrival to the end of service, of the RPCs served. Queue depth is
what an arrival finds waiting, RPCs given to a core not counted. Unless told, 10 replications of
200k RPCs, or of 1M to find the SLO.
Block level: latency runs from the receipt of an RPC's first packet until its buffer is free. 10x
is ten times the mean service time of an RPC alone under nebula-base, for all designs. In JSON,
dram_blocks are blocks of 64 bytes for each RPC that came. Unless told, 5 replications of 100k RPCs,
after as many as fill the LLC.
Either: a load meets the SLO when the p99 of all RPCs is within it, one that was NACKed counting as
infinitely late. Intervals hold the true value in 95 of 100 experiments. The same arguments give the
same bytes, on any number of threads.";

fn after_help() -> String {
    EXAMPLES.replace("{policies}", &nebula_nic::Policy::SPELLINGS.join(", "))
}

/// Simulate a server: tail, throughput and queue depth of each policy or design at each load, with error bars
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// Simulate each block that an RPC touches, on this machine: one that ships with Nebula, or a file; the block level
    #[arg(long, value_name = "NAME|FILE.toml")]
    machine: Option<String>,
    /// When RPCs arrive
    #[arg(long, default_value = "poisson", value_parser = flags::arrivals, conflicts_with = "clients")]
    arrivals: Arrivals,
    /// Search for the highest load or rate that keeps the SLO
    #[arg(long, conflicts_with_all = ["load", "clients", "rate"])]
    find_slo: bool,
    /// Bound that 99 % of RPCs are to keep: 10us, or 10x the mean service time
    #[arg(long, default_value = "10x")]
    slo: Slo,
    #[command(flatten)]
    effort: EffortArgs,
    /// Draw all charts into this HTML page
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Draw the p99 over the load, or the loads found, into this SVG picture
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    queueing: queueing::QueueingArgs,
    #[command(flatten)]
    blocks: blocks::BlocksArgs,
}

/// Runs all points, prints a row for each and draws what is to be drawn; `given` are the arguments as they were written.
pub(crate) fn run(args: &Args, given: &ArgMatches) -> Result<(), Failure> {
    level::check(args.machine.is_some(), given)?;
    check_files(args)?;
    match &args.machine {
        Some(machine) => blocks::run(args, machine),
        None => run_queueing(args),
    }
}

fn run_queueing(args: &Args) -> Result<(), Failure> {
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
    args.plot.as_deref().map_or(Ok(()), report::chart::check_plot)
}

fn draw(args: &Args, found: &[Found], rows: &[Row]) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        report::write(path, &report::simulation::render(found, rows, FOOTER))?;
    }
    match &args.plot {
        Some(path) => report::write_plot(path, &report::simulation::plot(found)),
        None => Ok(()),
    }
}

/// Below every page.
const FOOTER: &str = concat!("Made by nebula ", env!("CARGO_PKG_VERSION"), " simulate.");

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use nebula_nic::Policy;
    use nebula_sim::{Effort, Interval, Load, System};

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
            core_time: nebula_sim::CoreTime { service: load, idle: 1.0 - load, ..Default::default() },
            replications: 4,
            is_precise: None,
        };
        let one = |policy: Policy, load, accepted, p99_ns| {
            let load_of = Load::open("exp:1us".parse().unwrap(), load);
            let slo = load_of.slo(10.0);
            let interval = Interval { value: load, lo: load - 0.01, hi: load + 0.01 };
            let at_slo = measure::AtSlo { load: interval, served_rps: load * 16e6, is_lower_bound: false };
            Found {
                point: measure::Point {
                    name: policy.to_string(),
                    system: System::new(policy, 16),
                    load: load_of,
                    slo,
                    ask,
                },
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
