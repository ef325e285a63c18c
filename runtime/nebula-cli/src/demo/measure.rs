//! Measures server and client under load, before the demo promises anything.

use nebula_nic::Span;
use nebula_workload::Latency;

use super::pair::{Load, Pair, Setting};
use super::promise::{self, Promise, UnderLoad};
use super::service::{Kind, Terms};
use crate::drive::LoadOutcome;
use nebula_ui::output::{Failure, units};

/// The search for the saturation rate begins at the first; no client core sends as fast as the
/// last.
const FIRST_RPS: f64 = 200_000.0;
const LAST_RPS: f64 = 5e7;
/// On a busy machine a short load may end without a reply: the pair still counts as serving this.
const LEAST_RPS: f64 = 1_000.0;
/// A load is past saturation if a smaller share of it is served.
const SERVED: f64 = 0.95;
/// The saturation rate is measured at this multiple of it.
const PAST: f64 = 1.3;
/// Pauses are measured under the highest load that is to keep the SLO.
const LOAD: f64 = 0.7;
/// In loads of a second.
const PAUSES_POINTS: u64 = 2;
/// The most outstanding RPCs: those of the longest SLO at some hundred thousand RPCs a second.
const OUTSTANDING: f64 = 16_384.0;

/// Measures the pair without a bound, which shows every pause; returns its handler times too.
///
/// If the first measurement promises nothing, a second one follows: other work may have begun after
/// saturation was found, which makes the load too high.
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
/// The load grows until it is not served in full, and that holds for half a second: one pause of
/// the machine makes a short load look too high.
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

fn look(setting: &Setting<'_>) -> Span {
    setting.point.min(Span::from_secs(1))
}
