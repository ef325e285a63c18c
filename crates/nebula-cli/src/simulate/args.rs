//! The words of `nebula simulate`.

use std::path::PathBuf;

use nebula_workload::Arrivals;

use super::blocks::args::BlocksArgs;
use super::queueing::QueueingArgs;
use crate::flags::{self, EffortArgs, Format, Slo};

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
    pub(super) machine: Option<String>,
    /// When RPCs arrive
    #[arg(long, default_value = "poisson", value_parser = flags::arrivals, conflicts_with = "clients")]
    pub(super) arrivals: Arrivals,
    /// Search for the highest load or rate that keeps the SLO
    #[arg(long, conflicts_with_all = ["load", "clients", "rate"])]
    pub(super) find_slo: bool,
    /// Bound that 99 % of RPCs are to keep: 10us, or 10x the mean service time
    #[arg(long, default_value = "10x")]
    pub(super) slo: Slo,
    #[command(flatten)]
    pub(super) effort: EffortArgs,
    /// Draw all charts into this HTML page
    #[arg(long, value_name = "FILE.html")]
    pub(super) report: Option<PathBuf>,
    /// Draw the p99 over the load, or the loads found, into this SVG picture
    #[arg(long, value_name = "FILE.svg")]
    pub(super) plot: Option<PathBuf>,
    /// Form of the results
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) queueing: QueueingArgs,
    #[command(flatten)]
    pub(super) blocks: BlocksArgs,
}

/// Below every page.
pub(super) const FOOTER: &str = concat!("Made by nebula ", env!("CARGO_PKG_VERSION"), " simulate.");
