//! `nebula service-times`: the service times and the load of a running server, for
//! `nebula-lab size --from`.

use nebula_nic::Span;
use nebula_ui::output::{self, Failure, Row, Value};
use nebula_ui::signal;

use nebula_ops::observe::{Change, Place, Source};

const EXAMPLES: &str = "Examples:
  nebula service-times shm://kv --over 5s                what nebula size --from shm://kv asks";

/// Print the service times and the load of a running server, as JSON
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, hide = true)]
pub(crate) struct Args {
    /// The server, shm://NAME or http://ADDRESS:PORT of its --metrics
    server: Place,
    /// How long to measure it
    #[arg(long, value_name = "TIME", default_value = "5s")]
    over: Span,
}

/// The most times that the server's histogram is spread over.
const TIMES_MAX: usize = 1 << 16;
/// Fewer samples say little about a tail.
const SAMPLES_MIN: u64 = 100;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let Args { server: place, over } = args;
    signal::catch()?;
    let mut source = Source::connect(place)?;
    let first = source.snapshot()?;
    signal::sleep(std::time::Duration::from_nanos(over.as_ns()))?;
    let now = source.snapshot()?;
    let change = Change::between(&first, &now);
    if change.service.samples < SAMPLES_MIN {
        return Err(Failure::fault(format!(
            "{place} was sampled {} times in {over}, of one RPC in 64: give a longer --over, or more load",
            change.service.samples
        )));
    }
    let times = change.service.spread(TIMES_MAX).into_iter().map(|span| Value::from(span.as_ps())).collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; `as` saturates")]
    let ps = |ns: f64| (ns * 1e3) as u64;
    let row = Row::new()
        .field("name", place.to_string())
        .field("service_ps", Value::List(times))
        .field("rate_rps", change.offered_rps)
        .field("cores", u32::try_from(now.workers).unwrap_or(u32::MAX))
        .field("queue_bound", u32::try_from(now.queue_bound).ok().filter(|&bound| bound < u32::MAX).map(u64::from))
        .field("slo_ns", now.slo_ns)
        .field("latency_p99_ps", change.latency.quantile_ns(0.99).map(ps))
        .field("nack_share", change.nack_share());
    output::print(output::Format::Json, &[row])
}
