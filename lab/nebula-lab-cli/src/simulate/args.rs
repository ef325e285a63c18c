//! The command line of `nebula simulate`.

use std::path::PathBuf;

use nebula_lab::simulate::Question;

use nebula_ui::output::Format;

const EXAMPLES: &str = "Examples:
  nebula simulate                            jbsq:2 on 64 cores, exponential service of 1 µs
  nebula simulate --policy rss,single-queue,jbsq:2 --load 0.5..0.95:10
  nebula simulate --policy jbsq:2 --cores 16 --service trace:get.csv --find-slo --slo 50us
  nebula simulate --load 0.9,1.2 --queue-bound 100 --on-nack retry:10us,8
  nebula simulate --policy single-queue --queue-bound 0 --load 0.8       Erlang's loss system
  nebula simulate --servers 4 --cores 16 --load 0.95 --queue-bound 50 --on-nack another
  nebula simulate --policy rss,two-choices --cores 16 --flows 200 --load 0.5     a few heavy flows
  nebula simulate --policy key-hash,jbsq:2 --cores 16 --keys zipf:0.9 --load 0.3  hot keys
  nebula simulate --cores 16 --speeds 4x1,12x0.5 --policy jbsq:1,jbsq:2,random --load 0.5
  nebula simulate --load-over-time 0.5/2ms,1.5/100us --policy rss,jbsq:2 --cores 16   recovery from a burst
  nebula simulate --policy jbsq:2 --cores 16 --flows zipf:1.2,100 --load 1.5 --queue-bound 100 --fair-shares
  nebula simulate --clients 200 --think exp:10us --cores 16          a closed loop
  nebula simulate --clients 5000 --think exp:400us --cores 16 --policy rss,jbsq:2 --flows clients
  nebula simulate --clients 50 --outstanding 4 --think exp:10us --cores 16
  nebula simulate --servers 8 --cores 8 --balancer two-choices --distance 2us --load 0.9
  nebula simulate --servers 8 --cores 4 --policy jbsq:2 --hedge none,p95,0ns,tied:0ns --load 0.2,0.4,0.6
  nebula simulate --servers 16 --cores 4 --fan-out 16 --deadline 50us --load 0.5    each call asks all servers
  nebula simulate --tiers search --load 0.3,0.6              a front end and 40 leaves, 20 of them for each call
  nebula simulate --tenants noisy            a tenant at ten times its share, and one beside it
  nebula simulate --policy mcs-lock --lock-handoff 200ns --cores 16 --load 0.2
  nebula simulate --nic-cycles hardware/cycles.toml --nic-ghz 2 --load 0.9     the NIC in hardware, as counted in RTL
  nebula simulate --policy jbsq:1,altocumulus:16 --cores 256 --hop-latency 2ns --decision-time 20ns --per-core-time 1ns --find-slo
  nebula simulate --policy altocumulus:16 --cores 240 --thresholds exponential-15 --load 0.9
  nebula simulate --load 0.95 --precision 1% --format json
  nebula simulate --load 0.9 --policy jbsq:2 --rpcs 10k --trace rpcs.csv
  nebula simulate --load 0.9 --policy jbsq:2,rss --histogram --format csv > ccdf.csv
  nebula simulate --machine isca20           block level: six NIC designs, a key-value store, six rates
  nebula simulate --machine isca20 --design rpcvalet,nebula --rate 5..25MRPS:9 --report page.html
  nebula simulate --machine isca20 --design nebula --rate 22MRPS --breakdown
  nebula simulate --machine isca20 --design rpcvalet,rpcvalet-ddio,resq,one-sided --rate 5,10MRPS    baselines
  nebula simulate --machine isca20 --find-slo --mix get=95,set=5 --value-bytes 64
  nebula simulate --machine mine.toml --application network-function --rate 5MRPS --hog 10GB/s

Service times: fixed:1us, exp:1us, uniform:0ns-2us, bimodal:500ns@0.9,5500ns@0.1,
lognormal:mean=1us,sigma=1.5, gev:loc=181.5ns,scale=50ns,shape=0.65, pareto:min=500ns,alpha=1.5,
trace:FILE (nanoseconds, one per line), a sum such as fixed:300ns+exp:300ns, or
mix:get=0.995*exp:1us;scan=0.005*fixed:500us.
Arrivals: poisson, paced, packets:8, mmpp2:5x,0.1,100us, on-off:100us,300us, trace:FILE.
Policies: {policies}.
For published systems and their costs, see nebula compare.
Machines: isca20 (the 16 cores of NEBULA's evaluation), isca20-unfitted, server64.
Designs: rss, rpcvalet, srq-emu, nebula-base, nebula-swpref, nebula; rpcvalet-ddio, resq, one-sided, cachedirector.
Applications: kvs, kvs-one-sided, network-function, remote-memory, replication.
Custom files are TOML, like those in machines/, designs/ and applications/ of lab/nebula-sim/data.

Queueing level: latency is the time from arrival to the end of service, of the RPCs served. Queue
depth is the number of waiting RPCs that an arrival finds, without those dispatched to cores.
Default effort: 10 replications of 200k RPCs, or of up to 12M where a load takes long to settle.
Where that is not enough, or what --rpcs says, a point is unsettled and never counts as met.
With --hedge, --fan-out, --deadline or --tiers a load is a share of what the busiest tier can serve, second
copies not counted; busy is of all cores; wasted is the share of it that went to copies which did not
answer first. With --tiers 10x means ten times the sum of the tiers' mean service times. Tiers: search, chain.
With --tenants a load is a share of the time of all cores. share of cores is of the time that they were used, by weight
what a tenant has while all have work. Whether such a run has settled is not judged. Tenants: noisy.
Block level: latency is the time from the receipt of an RPC's first packet until its buffer is free,
and the time for which the link was busy with others before.
For all designs, 10x means ten times the unloaded mean service time under nebula-base. In JSON,
dram_blocks are 64-byte blocks per RPC that arrived. Default effort: 5 replications of 100k RPCs,
after a warm-up that fills the LLC.
A rate is not met either where the server falls behind what is offered.
Both levels: a load meets the SLO if the interval of the p99 of all RPCs is within it, misses it if
all of it is beyond, and is undecided otherwise. A NACK counts as infinite latency. Intervals are 95 % confidence intervals. The same arguments give the same output, on any
number of threads.";

fn after_help() -> String {
    EXAMPLES.replace("{policies}", &nebula_nic::Policy::SPELLINGS.join(", "))
}

/// Simulate a server: tail latency, throughput and queue depth of each policy or design at each
/// load
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// Write an HTML report with charts to this file
    #[arg(long, value_name = "FILE.html", conflicts_with = "tenants")]
    pub(super) report: Option<PathBuf>,
    /// Draw the p99 over the load, or the loads of --find-slo, to this SVG file
    #[arg(long, value_name = "FILE.svg", conflicts_with = "tenants")]
    pub(super) plot: Option<PathBuf>,
    /// Print a row for each replication instead of one for each point
    #[arg(long, conflicts_with_all = ["machine", "tenants", "histogram"])]
    pub(super) per_replication: bool,
    /// Print the distribution of the latency instead: a row for each cell, three digits wide, with
    /// the share that took longer
    #[arg(long, conflicts_with_all = ["machine", "tenants"])]
    pub(super) histogram: bool,
    /// Write each RPC of one run of each point to this file: its arrival, core, start and end, in
    /// CSV
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["machine", "tenants", "tiers", "find_slo"])]
    pub(super) trace: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) question: Question,
}
