//! `nebula demo`: a key-value service in a child process, driven past saturation by clients in this process.
//!
//! The same loads are offered to two designs: NEBULA's, with NACKs and one buffer sized from the SLO, and the same server with
//! connection-sized queues and no NACKs. The tail is shown raw, and without the RPCs that met a pause of the machine.

mod agreement;
mod flight;
mod groups;
mod laboratory;
mod machine;
mod service;
mod scans;

use std::path::PathBuf;
use std::time::Duration;

use nebula_nic::Span;
use nebula_workload::Rate;

use crate::drive::{self, LoadOutcome, LoadPlan};
use crate::flags::Format;
use crate::report::finding::{Design, Laboratory, Point, Reading, Sweep, hiccups};
use crate::report::{self, sweep};
use crate::{flags, hiccup};
use machine::Machine;
use nebula_ui::output::{self, Failure, Row, RowStream, Value, note, units};
use nebula_ui::signal;
use service::{Kind, Service};

const EXAMPLES: &str = "Examples:
  nebula demo                              half a minute, first row within 5 s; writes nebula-report.html
  nebula demo --slo 50us --work 500ns      a tighter SLO for a shorter handler
  nebula demo --quick --no-report          a few seconds, with a small store
  nebula demo --format json                JSON lines, for scripts
  nebula demo --plot demo.svg              draw the p99 of both designs over the load
  nebula demo flight                       flight registration in eight tiers, after Dagger
  nebula demo groups                       one of two groups loaded more than the other, after Altocumulus
  nebula demo scans                        GETs and SCANs of one core, beside the laboratory, after RPCValet

Each RPC is a GET or a SET followed by --work of computation. Without that work, one client core could not saturate the store.";

/// Overload a service with and without NACKs, and compare their tail latency
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    scene: Option<Scene>,
    /// SLO on the p99 latency
    #[arg(long, default_value = "100us")]
    slo: Span,
    /// Computation time of each RPC, in addition to the store access
    #[arg(long, default_value = "1us")]
    work: Span,
    /// Key-value pairs to store [default: 200k, or as many as fit into free memory]
    #[arg(long, value_parser = flags::count)]
    items: Option<u64>,
    /// Size of each value, in bytes
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(8..=65_536))]
    value_bytes: u32,
    /// Duration of each load, in seconds
    #[arg(long, value_name = "SECONDS")]
    seconds_per_point: Option<f64>,
    /// Use a small store and short loads
    #[arg(long)]
    quick: bool,
    /// Write an HTML report with charts to this file
    #[arg(long, value_name = "FILE", default_value = "nebula-report.html")]
    report: PathBuf,
    /// Do not write a report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
    /// Draw the p99 of both designs over the offered load to this SVG file
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Another demo.
#[derive(Debug, clap::Subcommand)]
enum Scene {
    Flight(flight::Args),
    Groups(groups::Args),
    Scans(scans::Args),
}

/// Offered loads, as shares of the saturation rate.
const LOADS: [f64; 8] = [0.2, 0.4, 0.6, 0.8, 0.9, 1.05, 1.25, 1.5];
const LOADS_QUICK: [f64; 3] = [0.3, 0.8, 1.5];
/// Where the search for the saturation rate begins, and where it stops: no client core sends faster.
const FIRST_RPS: f64 = 200_000.0;
const LAST_RPS: f64 = 5e7;
/// Bytes of an RPC in addition to its value.
#[expect(clippy::cast_possible_truncation, reason = "two dozen bytes")]
const HEADER_AND_KEY_BYTES: u32 = (nebula_kvs::protocol::HEADER_BYTES + nebula_workload::KEY_BYTES) as u32;
/// Pairs of 512 B values: far more than a cache holds, yet stored within a second. NEBULA's evaluation has 1.6 million (§VI).
const ITEMS: u64 = 200_000;
const ITEMS_QUICK: u64 = 20_000;

/// Runs the demo.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    signal::catch()?;
    match &args.scene {
        Some(Scene::Flight(args)) => return flight::run(args),
        Some(Scene::Groups(args)) => return groups::run(args),
        Some(Scene::Scans(args)) => return scans::run(args),
        None => {}
    }
    let stage = Stage::set(args)?;
    note(format!("1/4 measuring the pauses of the machine; {}", stage.machine));
    let quiet = stage.watch_hiccups()?;
    note(format!("    {}", hiccups(&quiet)));
    let mut sweep = Sweep {
        slo: args.slo,
        machine: stage.machine.to_string(),
        workload: stage.workload(),
        hiccups: quiet,
        designs: Vec::new(),
        laboratory: None,
    };
    if let Some(warning) = sweep.disturbance() {
        note(format!("    {warning}"));
    }
    let mut rows = RowStream::new(args.format);
    let bounded = stage.show(Kind::SloBounded, "2/4", None, &mut rows)?;
    sweep.designs.push(bounded.design);
    let unbounded = stage.show(Kind::Unbounded, "3/4", Some(bounded.saturation), &mut rows)?;
    sweep.designs.push(unbounded.design);
    conclude(&sweep);
    let simulated = stage.simulate(bounded.times, &mut sweep)?;
    match args.format {
        // The simulated rows have other columns.
        Format::Table => output::print_line("").and_then(|()| output::print(args.format, &simulated))?,
        _ => simulated.into_iter().try_for_each(|row| rows.print(row))?,
    }
    rows.finish()?;
    draw(args, &sweep)
}

/// The results of one design.
struct Shown {
    design: Design,
    saturation: f64,
    times: Vec<Span>,
}

/// What both designs share.
struct Stage<'a> {
    args: &'a Args,
    machine: Machine,
    items: u64,
    point: Span,
}

impl<'a> Stage<'a> {
    fn set(args: &'a Args) -> Result<Self, Failure> {
        let wanted = args.items.unwrap_or(if args.quick { ITEMS_QUICK } else { ITEMS });
        let items = machine::items_that_fit(wanted, args.value_bytes);
        if items == 0 {
            return Err(Failure::fault("not enough free memory for even a small store"));
        }
        if items < wanted {
            let of = |pairs: u64| units::rate(pairs as f64);
            note(format!("free memory is low: storing {} pairs instead of {}", of(items), of(wanted)));
        }
        if !args.no_report {
            report::check_directory("--report", &args.report)?;
        }
        if let Some(path) = &args.plot {
            report::check_directory("--plot", path)?;
            report::plot::check_plot(path)?;
        }
        let seconds = args.seconds_per_point.unwrap_or(if args.quick { 0.25 } else { 1.0 });
        if !(0.05..=600.0).contains(&seconds) {
            return Err(Failure::bad_input("--seconds-per-point: give 0.05 to 600 seconds"));
        }
        Ok(Self { args, machine: Machine::look(), items, point: Span::from_us(micros(seconds)) })
    }

    fn loads(&self) -> &'static [f64] {
        if self.args.quick { &LOADS_QUICK } else { &LOADS }
    }

    fn workload(&self) -> String {
        let (value, work) = (self.args.value_bytes, units::span(self.args.work));
        format!(
            "{} pairs of 16 B/{value} B, half GETs, half SETs, uniform keys, Poisson arrivals, {work} of computation for each RPC",
            units::rate(self.items as f64)
        )
    }

    fn watch_hiccups(&self) -> Result<nebula_workload::GapSummary, Failure> {
        let time = Duration::from_millis(if self.args.quick { 200 } else { 500 });
        let cores = hiccup::watch(time)?;
        signal::check()?;
        let worst = cores.into_iter().map(|core| core.summary).max_by(|a, b| a.share_lost.total_cmp(&b.share_lost));
        worst.ok_or_else(|| Failure::fault("no core is available to measure"))
    }

    /// Starts a service, fills its store, finds its saturation rate unless it is known, and offers every load.
    fn show(&self, kind: Kind, step: &str, saturation: Option<f64>, rows: &mut RowStream) -> Result<Shown, Failure> {
        note(format!("{step} starting the service, {}: {}", kind.name(), kind.what()));
        let service = Service::start(kind, self.args, &self.machine, self.items)?;
        match self.fill(&service).and_then(|()| self.offer(&service, kind, saturation, rows)) {
            Ok((design, saturation)) => Ok(Shown { design, saturation, times: service.end()? }),
            // If the service has ended, its own error says why; the client's error does not.
            Err(failure) => Err(service.blame(failure)),
        }
    }

    /// The same service on more cores.
    fn simulate(&self, times: Vec<Span>, sweep: &mut Sweep) -> Result<Vec<Row>, Failure> {
        let measured = laboratory::Measured::of(times)?;
        note(format!("\n4/4 simulating the same service on more cores: {}:", measured.describe()));
        let rpc_bytes = HEADER_AND_KEY_BYTES + self.args.value_bytes;
        let servers = laboratory::simulate(&measured, rpc_bytes, self.args.quick)?;
        let rows: Vec<Row> = servers.iter().map(laboratory::SimulatedServer::row).collect();
        sweep.laboratory = Some(Laboratory { caption: measured.describe(), rows: rows.clone() });
        Ok(rows)
    }

    fn fill(&self, service: &Service) -> Result<(), Failure> {
        let bar = output::bar("    storing {bar:30} {pos}/{len} pairs", Some(self.items));
        let (endpoint, key_count, value_bytes) = (service.endpoint().into(), self.items, self.args.value_bytes);
        let plan = LoadPlan { endpoint, key_count, value_bytes, ..LoadPlan::default() };
        drive::preload(&plan, &mut |stored| bar.set_position(stored))?;
        bar.finish_and_clear();
        Ok(())
    }

    fn offer(
        &self,
        service: &Service,
        kind: Kind,
        saturation: Option<f64>,
        rows: &mut RowStream,
    ) -> Result<(Design, f64), Failure> {
        let saturation = match saturation {
            Some(rps) => rps,
            None => self.saturation(service)?,
        };
        let bar = output::bar("    offering {bar:30} load {pos} of {len}", Some(self.loads().len() as u64));
        let (mut points, mut buffer_bytes) = (Vec::new(), 0);
        for share in self.loads() {
            let outcome = self.load(service, share * saturation, self.point)?;
            buffer_bytes = outcome.server.buffer_bytes();
            let point = Point::of(&outcome);
            bar.suspend(|| rows.print(row(kind, &point, self.args.slo)))?;
            points.push(point);
            bar.inc(1);
        }
        bar.finish_and_clear();
        let (name, what) = (kind.name().to_owned(), kind.what().to_owned());
        Ok((Design { name, what, buffer_bytes, points }, saturation))
    }

    /// The saturation rate: the offered load grows until the service twice in a row serves no more than before. One load that is not
    /// served in full is not enough: on a busy machine that is true of every load, because RPCs that arrive during a pause are NACKed.
    fn saturation(&self, service: &Service) -> Result<f64, Failure> {
        const MORE: f64 = 1.1;
        let bar = output::bar("    finding the saturation rate: {msg} RPC/s", Some(0));
        let (mut offered, mut served_most, mut in_vain) = (FIRST_RPS, 0.0_f64, 0);
        while in_vain < 2 && offered < LAST_RPS {
            bar.set_message(units::rate(offered));
            let served = self.load(service, offered, self.point / 8)?.report.achieved_rps();
            in_vain = if served > MORE * served_most { 0 } else { in_vain + 1 };
            served_most = served_most.max(served);
            offered *= 1.5;
        }
        bar.finish_and_clear();
        note(format!("    saturates at {} RPC/s", units::rate(served_most)));
        Ok(served_most)
    }

    fn load(&self, service: &Service, rps: f64, duration: Span) -> Result<LoadOutcome, Failure> {
        let plan = LoadPlan {
            endpoint: service.endpoint().into(),
            rate: Rate::try_new(rps).map_err(Failure::fault)?,
            duration,
            warm_up: duration / 5,
            key_count: self.items,
            value_bytes: self.args.value_bytes,
            slots: 1024,
            // What an unbounded server makes of its queue is what is shown.
            patience: Span::MAX,
            clients: self.machine.clients(),
            pin: self.machine.client_cores(),
            ..LoadPlan::default()
        };
        let outcome = drive::run(&plan, &mut |_| ())?;
        signal::check()?;
        Ok(outcome)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to lie between 0.05 and 600 s")]
fn micros(seconds: f64) -> u64 {
    (seconds * 1e6) as u64
}

/// The row of one load.
fn row(kind: Kind, point: &Point, slo: Span) -> Row {
    let finite =
        |latency: nebula_workload::Latency| latency.finite().map_or(Value::Null, |span| Value::from(span.as_ns()));
    let excluded = point.gaps_excluded.map_or(Value::Null, |tail| finite(tail.p99));
    let met = |reading| point.meets(reading, slo).map_or(Value::Null, Value::from);
    let row = Row::new()
        .field("design", kind.name())
        .field("offered_rps", point.offered_rps)
        .field("served_rps", point.served_rps)
        .field("nack_share", point.nack_share)
        .field("unanswered_share", point.unanswered_share)
        .field("latency_ns_p50", finite(point.raw.p50))
        .field("latency_ns_p99", finite(point.raw.p99))
        .field("latency_ns_p99_gaps_excluded", excluded)
        .field("share_kept", point.share_kept.map_or(Value::Null, Value::from))
        .field("machine_share_lost", point.share_lost)
        .field("latency_ns_p99_answered", point.raw.p99_answered.map_or(Value::Null, |span| Value::from(span.as_ns())))
        .field("slo_ns", slo.as_ns())
        .field("meets_slo_raw", met(Reading::Raw))
        .field("meets_slo_gaps_excluded", met(Reading::GapsExcluded))
        .word("design", kind.name());
    point.shown(slo).into_iter().fold(row, |row, (heading, text)| row.shown(heading, text))
}

fn conclude(found: &Sweep) {
    note(format!("\n{}", found.designs.iter().map(|design| design.verdict(found.slo)).collect::<Vec<_>>().join("\n")));
    note(
        "A NACK counts as infinite latency (∞). Raw: all RPCs. Gaps excluded: without the RPCs that met a pause of the machine.",
    );
    found.disturbance().into_iter().for_each(note);
    sweep::late_senders(found).into_iter().for_each(note);
}

fn draw(args: &Args, found: &Sweep) -> Result<(), Failure> {
    if let Some(path) = &args.plot {
        report::write_plot(path, &sweep::plot(found))?;
    }
    if args.no_report {
        return Ok(());
    }
    report::write(&args.report, &sweep::render(found, &report::made_by_this_command()))?;
    note(format!("report: {}", args.report.display()));
    Ok(())
}
