//! What is measured: one load, or the highest load within the SLO under each way to run handlers.

use crate::app::{App, Plan};
use crate::load::{Fronts, Offer};
use crate::places::Transport;
use crate::show::{Format, Line, Show};
use crate::tier::{Threads, Tier};
use nebula::Span;
use nebula_workload::{Latency, LoadReport, Rate, SearchResult, SloSearch};
use std::error::Error;
use std::time::{Duration, Instant};

/// How the application is started.
#[derive(Clone, Debug, clap::Args)]
struct AppArgs {
    /// Latency that 99 % of the RPCs must keep, at the front and in each tier
    #[arg(long, default_value = "10ms")]
    slo: Span,
    /// Threads of the pool of flights, baggage and stores, where handlers run there
    #[arg(long, default_value_t = 16)]
    pool_threads: u16,
    /// How tiers reach each other
    #[arg(long, value_enum, default_value_t)]
    transport: Transport,
    /// What a tier's handlers wait for, such as flights=1ms; may be given several times [default:
    /// flights=200us]
    #[arg(long, value_name = "TIER=SPAN", value_parser = tier_wait)]
    wait: Vec<(Tier, Span)>,
    /// How often to show what each tier sees
    #[arg(long, default_value = "500ms")]
    interval: Span,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One load.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    app: AppArgs,
    /// Where handlers run that take long or call other tiers
    #[arg(long, value_enum, default_value = "worker")]
    threads: Threads,
    /// RPCs offered per second
    #[arg(long, default_value = "1k")]
    rate: Rate,
    /// How long
    #[arg(long, default_value = "5s")]
    duration: Span,
    /// Tiers whose processes are ended one after the other, as kill -9 does, and started again
    #[arg(long, value_name = "TIER", value_delimiter = ',')]
    kill: Vec<Tier>,
}

/// The highest loads.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    app: AppArgs,
    /// RPCs offered per second where latencies are compared
    #[arg(long, default_value = "200")]
    light: Rate,
    /// How long each load is offered
    #[arg(long, default_value = "1s")]
    duration: Span,
    /// The search ends when the bracket is this share of its lower end
    #[arg(long, default_value_t = 0.1)]
    precision: f64,
}

fn tier_wait(text: &str) -> Result<(Tier, Span), String> {
    let (tier, span) = text.split_once('=').ok_or("give a tier and a time, such as flights=1ms")?;
    let span = span.parse().map_err(|error| format!("{error}"))?;
    Ok((clap::ValueEnum::from_str(tier, false)?, span))
}

impl AppArgs {
    fn plan(&self, threads: Threads) -> Plan {
        let Self { slo, pool_threads, wait, interval, transport, .. } = self.clone();
        let app = format!("flight-{}-{}", std::process::id(), threads.name());
        Plan { app, transport, threads, pool_threads, slo, report_every: interval, waits: wait }
    }
}

/// Starts all tiers, and offers one load.
pub(crate) fn run(args: &RunArgs) -> Result<(), Box<dyn Error>> {
    let mut show = Show::new(args.app.format);
    let mut stage = Stage::start(&args.app, args.threads)?;
    stage.victims = Victims::new(&args.kill, args.duration);
    stage.offer(args.rate, args.duration, &mut show).map(drop)
}

/// Tiers that are killed and started again, one after the other.
#[derive(Default)]
struct Victims {
    /// The next one, or the one that is dead, comes last.
    tiers: Vec<Tier>,
    /// How long a tier is dead; twice that between two of them.
    pause: Duration,
    /// When the last one was killed or started, or the load began.
    since: Option<Instant>,
    is_dead: bool,
}

impl Victims {
    /// So that all have had their turn some time before a load of `duration` ends.
    fn new(tiers: &[Tier], duration: Span) -> Self {
        let pause = Duration::from_nanos(duration.as_ns() / (4 * tiers.len() as u64 + 4));
        Self { tiers: tiers.iter().rev().copied().collect(), pause, since: None, is_dead: false }
    }

    /// Kills a tier, or starts it again, if it is time.
    fn act(&mut self, app: &mut App, show: &mut Show) -> Result<(), Box<dyn Error>> {
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        let (threads, Some(&tier)) = (app.plan().threads, self.tiers.last()) else { return Ok(()) };
        if waited < if self.is_dead { self.pause } else { 2 * self.pause } {
            return Ok(());
        }
        if self.is_dead {
            app.start_tier(tier)?;
            self.tiers.pop();
            show.line(&Line::Restarted { threads, tier })?;
        } else {
            app.kill(tier)?;
            show.line(&Line::Killed { threads, tier })?;
        }
        (self.since, self.is_dead) = (Some(Instant::now()), !self.is_dead);
        Ok(())
    }
}

/// Starts all tiers twice, and finds the highest load each time.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), Box<dyn Error>> {
    let mut show = Show::new(args.app.format);
    let dispatch = find(args, Threads::Dispatch, &mut show)?;
    let worker = find(args, Threads::Worker, &mut show)?;
    let ratio = |of: fn(&Found) -> Option<f64>| Some(of(&worker)? / of(&dispatch)?);
    show.line(&Line::Ratio {
        load: ratio(|found| found.highest.throughput_under_slo_rps),
        latency_p50: ratio(|found| found.light_us_p50),
        latency_p99: ratio(|found| found.light_us_p99),
    })
}

/// What was found for one way to run handlers.
struct Found {
    highest: SearchResult,
    light_us_p50: Option<f64>,
    light_us_p99: Option<f64>,
}

fn find(args: &CompareArgs, threads: Threads, show: &mut Show) -> Result<Found, Box<dyn Error>> {
    let mut stage = Stage::start(&args.app, threads)?;
    let light = stage.offer(args.light, args.duration, show)?;
    let limits = Rate::try_new(50.0)?..=Rate::try_new(1e6)?;
    let mut search = SloSearch::new(args.app.slo, args.light, limits, args.precision);
    while let Some(rate) = search.next_rate() {
        let report = stage.offer(rate, args.duration, show)?;
        search.handle_result(rate, search.is_met_by(report.latency.raw()));
    }
    let highest = search.result();
    show.line(&Line::Highest {
        threads,
        rps: highest.throughput_under_slo_rps,
        missed_rps: highest.lowest_missed_rps,
    })?;
    let us = |quantile| light.latency.raw().quantile(quantile).and_then(us_of);
    Ok(Found { highest, light_us_p50: us(0.5), light_us_p99: us(0.99) })
}

/// The running application, and its clients.
struct Stage {
    app: App,
    fronts: Fronts,
    slo: Span,
    loads: u64,
    victims: Victims,
}

impl Stage {
    fn start(args: &AppArgs, threads: Threads) -> Result<Self, Box<dyn Error>> {
        let app = App::start(args.plan(threads))?;
        let fronts = Fronts::connect(app.places())?;
        Ok(Self { app, fronts, slo: args.slo, loads: 0, victims: Victims::default() })
    }

    /// Offers a load, and shows what each tier sees and what came of it.
    fn offer(&mut self, rate: Rate, duration: Span, show: &mut Show) -> Result<LoadReport, Box<dyn Error>> {
        let Self { app, fronts, slo, loads, victims } = self;
        *loads += 1;
        let offer = Offer { rate, duration, warm_up: duration / 5, seed: *loads };
        let (threads, every) = (app.plan().threads, app.plan().report_every);
        let mut shown = Ok(());
        let report = fronts.offer(&offer, Duration::from_nanos(every.as_ns()), &mut |edges| {
            if shown.is_ok() {
                shown = show.interval(threads, edges, app.reports());
            }
            if shown.is_ok() {
                shown = victims.act(app, show);
            }
        })?;
        shown?;
        let raw = report.latency.raw();
        let us = |quantile| raw.quantile(quantile).and_then(us_of);
        show.line(&Line::Load {
            threads,
            offered_rps: rate.as_rps(),
            replied_rps: report.achieved_rps(),
            offered: report.counts.offered,
            replied: report.counts.replied,
            refused: report.counts.nacked + report.counts.refused_by_client,
            failed: report.counts.lost + report.counts.never_sent,
            latency_us_p50: us(0.5),
            latency_us_p99: us(0.99),
            meets_slo: raw.meets(*slo),
        })?;
        Ok(report)
    }
}

/// In microseconds; none for what has never come.
fn us_of(latency: Latency) -> Option<f64> {
    latency.finite().map(|span| span.as_ns() as f64 / 1e3)
}
