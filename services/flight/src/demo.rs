//! `nebula demo flight`: flight registration after Dagger, eight tiers of a process each, loaded
//! until they no longer keep the SLO.
//!
//! It runs this program's `compare`, which starts the tiers, loads them and prints what each sees;
//! it shows that, and draws it.

mod seen;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use nebula_nic::Span;

use nebula_ui::output::{self, Failure, Format, Row, RowStream, Value, note, units};
use nebula_ui::report;
use nebula_ui::signal;

use crate::page::{self, Load, Tiers};
use crate::show::Line;
use seen::Seen;

const EXAMPLES: &str = "Examples:
  nebula demo flight                                a minute or two; writes nebula-flight.html
  nebula demo flight --quick --no-report            a few seconds
  nebula demo flight --slo 2ms                      a tighter SLO
  nebula demo flight --transport udp                tiers over UDP

Shown for two ways to run handlers. dispatch: where the RPC arrives. worker: what takes long in a pool, what calls others replies later.";

/// Load flight registration in eight tiers, and show what each tier sees
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// SLO on the p99 latency, at the front and in each tier
    #[arg(long, default_value = "10ms")]
    slo: Span,
    /// Duration of each load
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,
    /// How tiers reach each other
    #[arg(long, value_enum, default_value_t)]
    transport: Transport,
    /// Short loads and a coarse search
    #[arg(long)]
    quick: bool,
    /// The program with the tiers [default: this one]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Write an HTML report to this file
    #[arg(long, value_name = "FILE", default_value = "nebula-flight.html")]
    report: PathBuf,
    /// Do not write a report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The transport between tiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    /// Shared memory
    #[default]
    Shm,
    /// UDP over the loopback interface
    Udp,
}

/// Runs the demo.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    signal::catch()?;
    if !args.no_report {
        report::check_directory("--report", &args.report)?;
    }
    let (mut program, out) = Program::start(args)?;
    let mut rows = RowStream::new(args.format);
    let mut seen = Seen::default();
    let bar = output::bar("{msg}", None);
    for line in BufReader::new(out).lines() {
        signal::check()?;
        let line = line.map_err(Failure::fault)?;
        match seen.take(serde_json::from_str::<Line>(&line).map_err(Failure::fault)?) {
            Some(load) => bar.suspend(|| rows.print(row(load, args.slo)))?,
            None => bar.set_message(seen.now()),
        }
    }
    bar.finish_and_clear();
    // Ctrl-C at a terminal reaches the tiers too, which are over then.
    signal::check()?;
    program.end()?;
    rows.finish()?;
    let tiers = seen.into_tiers(args.slo);
    note(format!("\n{}", tiers.verdict));
    draw(args, &tiers)
}

fn draw(args: &Args, found: &Tiers) -> Result<(), Failure> {
    if args.no_report {
        return Ok(());
    }
    report::write(&args.report, &page::render(found, &report::made_by_this_command()))?;
    note(format!("report: {}", args.report.display()));
    Ok(())
}

/// The row of one load.
fn row(load: &Load, slo: Span) -> Row {
    let ns = |span: Option<Span>| span.map_or(Value::Null, |span| Value::from(span.as_ns()));
    let or_infinite = |span: Option<Span>| span.map_or("∞".to_owned(), units::span);
    Row::new()
        .field("threads", load.threads.clone())
        .field("offered_rps", load.offered_rps)
        .field("replied_rps", load.replied_rps)
        .field("refused", load.refused)
        .field("failed", load.failed)
        .field("latency_ns_p50", ns(load.p50))
        .field("latency_ns_p99", ns(load.p99))
        .field("slo_ns", slo.as_ns())
        .field("meets_slo", load.meets_slo)
        .word("threads", format!("{:<8}", load.threads))
        .shown("offered\nRPC/s", units::rate(load.offered_rps))
        .shown("replied\nRPC/s", units::rate(load.replied_rps))
        .shown("refused", load.refused.to_string())
        .shown("failed", load.failed.to_string())
        .shown("p50", or_infinite(load.p50))
        .shown("p99", or_infinite(load.p99))
        .shown("SLO", if load.meets_slo { "met" } else { "missed" })
}

/// The program with the tiers; killed when dropped, and its tiers with it.
struct Program(Child);

impl Program {
    fn start(args: &Args) -> Result<(Self, ChildStdout), Failure> {
        let path = args.program.clone().map_or_else(this_one, Ok)?;
        let mut command = Command::new(&path);
        command.args(["compare", "--format", "json", "--interval", "250ms", "--slo", &flag(args.slo)]);
        command.args(["--transport", if args.transport == Transport::Udp { "udp" } else { "shm" }]);
        let (duration, precision) = if args.quick { (Span::from_ms(300), "0.5") } else { (Span::from_secs(1), "0.1") };
        command.args(["--duration", &flag(args.duration.unwrap_or(duration)), "--precision", precision]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| missing(&path, &error))?;
        let out = child.stdout.take().ok_or_else(|| Failure::fault("the program's output is no pipe"))?;
        Ok((Self(child), out))
    }

    /// Waits until it has ended.
    fn end(&mut self) -> Result<(), Failure> {
        let status = self.0.wait().map_err(Failure::fault)?;
        if status.success() { Ok(()) } else { Err(Failure::fault(format!("the tiers have ended early: {status}"))) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This program.
fn this_one() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::fault(format!("cannot find the path of this program: {error}")))
}

fn missing(path: &Path, error: &std::io::Error) -> Failure {
    let path = path.display();
    Failure::bad_input(format!("cannot start the tiers, {path}: {error}; say where they are with --program"))
}

/// A time in the syntax of flags.
fn flag(span: Span) -> String {
    format!("{}ns", span.as_ns())
}
