//! `nebula demo`: clients in this process drive a key-value service in a child process past
//! saturation.
//!
//! Two designs get the same loads: NEBULA's, with NACKs and one buffer sized from the SLO, and the
//! same server with connection-sized queues and no NACKs. The SLO is what this machine can promise,
//! and the verdict is how many of all RPCs were answered within it.

mod machine;
mod measure;
mod options;
mod pair;
mod promise;
mod rows;
mod service;
mod simulated;

use nebula_nic::Span;

use crate::drive::LoadOutcome;
use crate::report::finding::{Design, Point, Sweep};
use crate::report::{self, sweep};
use nebula_ui::output::{Failure, RowStream, note, units};
use nebula_ui::signal;
use options::{LOADS, Options};
use pair::{Load, Setting};
use promise::{Promise, UnderLoad};
use service::{Kind, Terms};
use simulated::Simulated;

const EXAMPLES: &str = "Examples:
  nebula demo                              40 seconds; writes nebula-report.html
  nebula demo --slo 10ms                   your own SLO, in place of what this machine can promise
  nebula demo --quick --no-report          a few seconds, with a small store
  nebula demo --format json                JSON lines, for scripts
  nebula demo --plot demo.svg              draw the p99 of both designs over the load
  nebula demo flight                       flight registration in eight tiers, after Dagger
  nebula demo groups                       one of two groups loaded more than the other, after Altocumulus
  nebula demo scans                        GETs and SCANs of one core, beside the laboratory, after RPCValet

Each RPC is a GET or a SET followed by --work of computation. Without that work, one client core could not saturate the store.";

/// Overload a service with and without NACKs, and compare their tail latency
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    #[command(flatten)]
    options: Options,
}

#[expect(clippy::cast_possible_truncation, reason = "two dozen bytes")]
const HEADER_AND_KEY_BYTES: u32 = (nebula_kvs::protocol::HEADER_BYTES + nebula_workload::KEY_BYTES) as u32;
/// An RPC counts as sent late after this part of the SLO.
const LATE: u64 = 10;
/// Clients have room for this multiple of the RPCs that are served within the SLO. The server's
/// bound is at most 0.7 of those.
const ROOM: f64 = 1.5;
/// Above this share, a note reports the load generator's own delays.
const LATE_SHARE: f64 = 0.01;

fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", rows::FIELDS)
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    signal::catch()?;
    let setting = Setting::set(&args.options)?;
    let (measured, times) = measure::under_load(&setting)?;
    let promise = Promise::of(args.options.slo, &measured);
    let mut stage = Stage::begin(&setting, promise.sentence(&measured), &measured);
    match promise.slo() {
        Some(slo) => stage.measure(slo, &measured)?,
        None => {
            let rpc_bytes = HEADER_AND_KEY_BYTES + args.options.value_bytes;
            stage.simulate(&Simulated::of(times, setting.machine.serving(), rpc_bytes)?)?;
        }
    }
    let found = stage.finish()?;
    conclude(&found);
    draw(&args.options, &found)
}

struct Stage<'a> {
    setting: &'a Setting<'a>,
    found: Sweep,
    rows: RowStream,
}

impl<'a> Stage<'a> {
    fn begin(setting: &'a Setting<'a>, promise: String, measured: &UnderLoad) -> Self {
        let found = Sweep {
            slo: Span::ZERO,
            promise,
            machine: format!("{}.", setting.machine),
            workload: setting.workload(),
            simulated: None,
            saturation_rps: measured.saturation_rps,
            share_lost: measured.client_share_lost,
            designs: Vec::new(),
        };
        setting.print(|| note(format!("{}\n{} {}.", found.promise, found.machine, found.workload)));
        Self { setting, found, rows: RowStream::new(setting.options.format) }
    }

    fn measure(&mut self, slo: Span, measured: &UnderLoad) -> Result<(), Failure> {
        self.found.slo = slo;
        for kind in Kind::ALL {
            let terms = Terms { kind, slo: measured.server_slo(slo) };
            self.setting.with_pair(terms, |pair| {
                self.setting.end();
                self.show(kind, &|rps, duration| pair.load(kind.load(rps, duration, slo, measured.saturation_rps)))
            })?;
        }
        Ok(())
    }

    fn simulate(&mut self, simulated: &Simulated) -> Result<(), Failure> {
        let saturation = simulated.saturation_rps();
        let alone = simulated.offer(Kind::Unbounded, Span::ZERO, LOADS[1] * saturation, self.setting.point)?;
        let slo = promise::in_simulated_time(alone.report.latency.raw());
        (self.found.slo, self.found.saturation_rps) = (slo, saturation);
        self.found.simulated = Some(simulated.describe());
        self.setting.print(|| {
            note(format!("The rows below, with an SLO of {}, are {}.", units::span(slo), simulated.describe()))
        });
        for kind in Kind::ALL {
            self.setting.end();
            self.show(kind, &|rps, duration| simulated.offer(kind, slo, rps, duration))?;
        }
        Ok(())
    }

    fn show(&mut self, kind: Kind, offer: &dyn Fn(f64, Span) -> Result<LoadOutcome, Failure>) -> Result<(), Failure> {
        let (name, what) = (kind.name().to_owned(), kind.what().to_owned());
        let mut design = Design { name, what, buffer_bytes: 0, points: Vec::new() };
        for load in LOADS {
            self.setting.begin(format!("offering {load} of saturation, {}", kind.name()));
            let outcome = offer(load * self.found.saturation_rps, self.setting.point)?;
            design.buffer_bytes = outcome.server.buffer_bytes();
            let point = Point::of(&outcome, load, self.found.slo);
            self.setting.print(|| self.rows.print(rows::row(kind, &point, &self.found)))?;
            design.points.push(point);
            self.setting.end();
        }
        self.found.designs.push(design);
        Ok(())
    }

    fn finish(self) -> Result<Sweep, Failure> {
        self.setting.finish();
        self.rows.finish()?;
        Ok(self.found)
    }
}

impl Kind {
    const ALL: [Self; 2] = [Self::SloBounded, Self::Unbounded];

    /// The clients have room for more RPCs than the server's bound lets wait: the server decides
    /// which to refuse.
    fn load(self, rps: f64, duration: Span, slo: Span, saturation_rps: f64) -> Load {
        let outstanding = ROOM * slo.as_secs_f64() * saturation_rps;
        // The unbounded design shows the whole queue: its clients wait without limit.
        let patience = if self == Self::SloBounded { slo } else { Span::MAX };
        Load { rps, duration, outstanding, patience, late_after: slo / LATE }
    }
}

fn conclude(found: &Sweep) {
    note(format!("\n{}", found.headline()));
    note("Kept: at least 99 % of all offered RPCs were answered within the SLO; nothing is left out.");
    let late = found.designs.iter().flat_map(|design| &design.points).map(|point| point.generator_late);
    let late = late.fold(0.0, f64::max);
    if late > LATE_SHARE {
        let late = units::percent(late);
        note(format!(
            "The load generator itself sent up to {late} of the RPCs late: that delay is its own, not the server's."
        ));
    }
    found.disturbance().into_iter().for_each(note);
}

fn draw(options: &Options, found: &Sweep) -> Result<(), Failure> {
    if let Some(path) = &options.plot {
        report::write_plot(path, &sweep::plot(found))?;
    }
    if options.no_report {
        return Ok(());
    }
    report::write(&options.report, &sweep::render(found, &report::made_by_this_command()))?;
    note(format!("report: {}", options.report.display()));
    Ok(())
}
