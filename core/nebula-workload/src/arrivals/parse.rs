//! Parses a kind of arrivals.

use super::{ArrivalTrace, Arrivals, Mmpp2, OnOff};
use crate::WorkloadError;
use crate::spelling::Spelled;

const EXPECTED: &str = "poisson, paced, packets:N, mmpp2:RATIO,SHARE,SOJOURN, on-off:ON,OFF or trace:FILE";

/// Reads the file with this name.
type Open<'a> = &'a mut dyn FnMut(&Spelled<'_>, &str) -> Result<ArrivalTrace, WorkloadError>;

pub(super) fn arrivals(text: &str, open: Open<'_>) -> Result<Arrivals, WorkloadError> {
    let spelled = Spelled { what: "arrivals", text: text.trim(), expected: EXPECTED };
    match spelled.text.split_once(':') {
        None => plain(&spelled),
        Some(("packets", rest)) => packets(&Spelled { expected: "packets:N such as packets:8", ..spelled }, rest),
        Some(("mmpp2", rest)) => mmpp2(&Spelled { expected: EXPECTED_MMPP2, ..spelled }, rest),
        Some(("on-off", rest)) => on_off(&Spelled { expected: EXPECTED_ON_OFF, ..spelled }, rest),
        Some(("trace", file)) if !file.trim().is_empty() => open(&spelled, file.trim()).map(Arrivals::Trace),
        Some(_) => Err(spelled.wrong()),
    }
}

fn plain(spelled: &Spelled<'_>) -> Result<Arrivals, WorkloadError> {
    match spelled.text {
        "poisson" => Ok(Arrivals::Poisson),
        "paced" | "deterministic" => Ok(Arrivals::Paced),
        _ => Err(spelled.wrong()),
    }
}

fn packets(spelled: &Spelled<'_>, text: &str) -> Result<Arrivals, WorkloadError> {
    text.trim().parse().map(Arrivals::Packets).map_err(|_| spelled.wrong())
}

const EXPECTED_MMPP2: &str = "mmpp2:RATIO,SHARE,SOJOURN such as mmpp2:5x,0.1,100us";

fn mmpp2(spelled: &Spelled<'_>, text: &str) -> Result<Arrivals, WorkloadError> {
    let (ratio, rest) = spelled.pair(text, ',')?;
    let (share, sojourn) = spelled.pair(rest, ',')?;
    let ratio = spelled.number(ratio.strip_suffix('x').unwrap_or(ratio))?;
    Mmpp2::try_new(ratio, spelled.number(share)?, spelled.time(sojourn)?).map(Arrivals::Mmpp2)
}

const EXPECTED_ON_OFF: &str = "on-off:ON,OFF such as on-off:100us,300us";

fn on_off(spelled: &Spelled<'_>, text: &str) -> Result<Arrivals, WorkloadError> {
    let (on, off) = spelled.pair(text, ',')?;
    OnOff::try_new(spelled.time(on)?, spelled.time(off)?).map(Arrivals::OnOff)
}
