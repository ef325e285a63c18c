//! `nebula size`: sizes receive buffer and tables.

use std::path::PathBuf;

use nebula_lab::size::Question;
use nebula_nic::Span;

use crate::{report, running};
use nebula_ui::output::Format;
use nebula_ui::output::{self, Failure};

const EXAMPLES: &str = "Examples:
  nebula size                                              the papers' server: 64 cores at E[Nq] = 54
  nebula size --cores 16 --load 0.9,0.95,0.98 --rpc-bytes 576
  nebula size --cores 2 --load 0.9 --format json
  nebula size --service exp:630ns --cores 16 --policy single-queue           at the highest load with p99 within 10x
  nebula size --service trace:get.csv --slo 50us --cores 4,16,64 --rpc-bytes 528
  nebula size --rate 80k --peak 200k --slo 500us --trace prod.csv --column duration=us     how many cores?
  nebula size --rate 80k --slo 500us --trace prod.csv --report capacity.html
  nebula size --rate 6M --servers 3 --service exp:1us --slo 10us               and with one server down?
  nebula size --service lognormal:mean=1us,scv=4 --load 0.8 --precision 5%
  nebula size --from shm://kv                                                  a server that runs, by its own times and load
  nebula size --from http://192.0.2.7:9464 --over 1m --rate 300k               the same server, at another rate

The buffer has room for ten times the mean number of waiting RPCs, E[Nq], independent of the number of clients. Without --service, E[Nq] is that of exponential service times (Erlang C). With --service, it is that of the service under --policy, at --load or at the highest load that meets the SLO: from a formula if one is exact (exp under single-queue or jbsq:1), otherwise simulated, with confidence intervals. The buffer then also has room for at least the RPCs that the cores hold. The queue bound is the longest queue at which an arriving RPC meets the SLO with a probability of 99 %, if service times are exponential. Pass it to nebula simulate --queue-bound.\n\nWith --rate, cores are the answer: the fewest of each server that keep the SLO at the rate, and at the peak. A log has a header, one RPC a line, the time that it kept a core, and where there is a column endpoint, method, operation, op, rpc, route, path or type, a row for each of them.";

/// Size receive buffer, bitvector and reassembler, for a load or for a service and its SLO
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    question: Question,
    /// A running server, shm://NAME or http://ADDRESS:PORT of its --metrics: its service times and
    /// its load are measured [default rate: what it gets]
    #[arg(long, value_name = "ENDPOINT", conflicts_with_all = ["cores", "load", "service", "trace", "servers"])]
    from: Option<String>,
    /// How long to measure it
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "from")]
    over: Span,
    /// Write an HTML report that says how the answer was found to this file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(path) = &args.report {
        report::check_directory("--report", path)?;
    }
    let running = args.from.as_ref().map(|place| running::measured(place, args.over)).transpose()?;
    let bar = crate::progress::Bar::of_replications();
    let answer = match &running {
        Some(running) => args.question.ask_of(running, &bar)?,
        None => args.question.ask(&bar)?,
    };
    bar.finish();
    output::print(args.format, &answer.rows)?;
    if args.format == Format::Table && !answer.said.is_empty() {
        output::print_line(&format!("\n{}", answer.said.join("\n")))?;
    }
    if let Some(path) = &args.report {
        report::write(path, &report::size::render(&answer, &report::made_by_this_command()))?;
    }
    answer.notes.iter().for_each(output::note);
    Ok(())
}
