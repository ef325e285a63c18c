//! What the pair of server and client does under load on this machine, before anything is promised.

use nebula_nic::Span;
use nebula_workload::Latency;

use super::pair::{Load, Pair, Setting};
use super::promise::{self, Promise, UnderLoad};
use super::service::{Kind, Terms};
use crate::drive::LoadOutcome;
use nebula_ui::output::{Failure, units};

/// Where the search for the saturation rate begins, and where it stops: no client core sends
/// faster.
const FIRST_RPS: f64 = 200_000.0;
const LAST_RPS: f64 = 5e7;
/// A pair is never taken to serve less: on a busy machine a short load may end without a reply.
const LEAST_RPS: f64 = 1_000.0;
/// A load of which a smaller share is served is past saturation.
const SERVED: f64 = 0.95;
/// How far past saturation a load is under which the rate is measured.
const PAST: f64 = 1.3;
/// The load under which pauses are measured: the highest that is to keep the SLO.
const LOAD: f64 = 0.7;
/// For how long, in loads of a second.
const PAUSES_POINTS: u64 = 2;
/// RPCs under way at most: those of the longest SLO at some hundred thousand RPCs a second.
const OUTSTANDING: f64 = 16_384.0;

/// Measures the pair without a bound, in which every pause shows; returns its handler times too.
///
/// Other work may begin between the two measurements, and the load is then too high for what is
/// left. So it is measured once more before it is said that nothing can be promised.
pub(super) fn under_load(setting: &Setting<'_>) -> Result<(UnderLoad, Vec<Span>), Failure> {
    let terms = Terms { kind: Kind::Unbounded, slo: promise::longest() };
    setting.with_pair(terms, |pair| {
        let first = measure(setting, pair)?;
        let is_enough = setting.options.slo.is_some() || Promise::of(None, &first).slo().is_some();
        let measured = if is_enough { first } else { measure(setting, pair)? };
        setting.end();
        Ok(measured)
    })
}

fn measure(setting: &Setting<'_>, pair: &Pair<'_>) -> Result<UnderLoad, Failure> {
    let saturation_rps = saturation(setting, pair)?;
    let time = look(setting) * PAUSES_POINTS;
    setting.begin(format!("measuring pauses at {} RPC/s", units::rate(LOAD * saturation_rps)));
    let outcome = offer(pair, LOAD * saturation_rps, time)?;
    Ok(UnderLoad {
        saturation_rps,
        load: LOAD,
        time,
        p999: outcome.report.latency.raw().quantile(0.999).unwrap_or(Latency::Infinite),
        server_share_lost: outcome.server_share_lost,
        client_share_lost: outcome.gaps.share_lost,
    })
}

/// The rate that the pair serves while it is offered more.
///
/// The load grows until it is not served in full, and then until that holds for half a second: a
/// pause of the machine makes any short load look so.
fn saturation(setting: &Setting<'_>, pair: &Pair<'_>) -> Result<f64, Failure> {
    let (mut offered, mut time, mut growth) = (FIRST_RPS, look(setting) / 8, 2.0);
    loop {
        setting.begin(format!("finding saturation, {} RPC/s", units::rate(offered)));
        let served = offer(pair, offered, time)?.report.achieved_rps();
        let is_past = served < SERVED * offered;
        match is_past {
            _ if offered > LAST_RPS => return Ok(served),
            true if time == look(setting) / 2 => return Ok(served.max(LEAST_RPS)),
            true => (offered, time, growth) = (PAST * served.max(LEAST_RPS), look(setting) / 2, PAST),
            false => offered *= growth,
        }
    }
}

fn offer(pair: &Pair<'_>, rps: f64, duration: Span) -> Result<LoadOutcome, Failure> {
    let late_after = Span::from_us(10);
    pair.load(Load { rps, duration, outstanding: OUTSTANDING, patience: Span::MAX, late_after })
}

/// As long as a load takes, and no longer than what a look at the machine needs.
fn look(setting: &Setting<'_>) -> Span {
    setting.point.min(Span::from_secs(1))
}
