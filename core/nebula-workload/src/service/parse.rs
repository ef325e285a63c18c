//! Parses a service time.
//!
//! ```text
//! service = "mix:" type (";" type)* | sum
//! type    = NAME "=" SHARE "*" sum
//! sum     = part ("+" part)*
//! part    = WORD ":" syntax of that kind
//! ```

use super::empirical::{self, Empirical};
use super::part::{Kind, Part};
use super::request_mix::{RequestMix, RequestType};
use super::{ServiceTime, gev, lognormal, pareto, points, steady, uniform};
use crate::WorkloadError;
use crate::spelling::Spelled;

/// All kinds that need no file.
const KINDS: [Kind; 7] =
    [steady::FIXED, steady::EXPONENTIAL, uniform::KIND, points::KIND, lognormal::KIND, gev::KIND, pareto::KIND];

/// Reads the file named by the text.
pub(super) type Open<'a> = &'a mut dyn FnMut(&Spelled<'_>) -> Result<Empirical, WorkloadError>;

const WHAT: &str = "service time";
const EXPECTED: &str = "one of fixed, exp, uniform, bimodal, lognormal, gev, pareto, trace, mix, such as exp:1us";
const EXPECTED_MIX: &str =
    "each type once, as NAME=SHARE*SERVICE, such as mix:get=0.995*exp:1us;scan=0.005*fixed:500us";

pub(super) fn service(text: &str, open: Open<'_>) -> Result<ServiceTime, WorkloadError> {
    let text = text.trim();
    match text.strip_prefix("mix:") {
        Some(types) => mix(&Spelled { what: WHAT, text, expected: EXPECTED_MIX }, types, open),
        None => sum(text, open),
    }
}

fn mix(spelled: &Spelled<'_>, types: &str, open: Open<'_>) -> Result<ServiceTime, WorkloadError> {
    let mut read: Vec<RequestType> = Vec::new();
    for text in types.split(';') {
        let kind = request_type(spelled, text, open)?;
        if read.iter().any(|other| other.name == kind.name) {
            return Err(spelled.wrong());
        }
        read.push(kind);
    }
    ServiceTime::from_mix(RequestMix::new(read)?)
}

fn request_type(spelled: &Spelled<'_>, text: &str, open: Open<'_>) -> Result<RequestType, WorkloadError> {
    let (name, rest) = spelled.pair(text, '=')?;
    let (share, service) = spelled.pair(rest, '*')?;
    if name.is_empty() {
        return Err(spelled.wrong());
    }
    Ok(RequestType { name: name.into(), share: spelled.number(share)?, service: sum(service, open)? })
}

fn sum(text: &str, open: Open<'_>) -> Result<ServiceTime, WorkloadError> {
    let mut parts = text.split('+').map(|text| part(text.trim(), open)).collect::<Result<Vec<_>, _>>()?;
    match (parts.pop(), parts.is_empty()) {
        (Some(only), true) => ServiceTime::from_part(only),
        (last, _) => ServiceTime::from_sum(parts.into_iter().chain(last).collect()),
    }
}

fn part(text: &str, open: Open<'_>) -> Result<Part, WorkloadError> {
    let unknown = Spelled { what: WHAT, text, expected: EXPECTED };
    let (word, rest) = unknown.pair(text, ':')?;
    if word == "trace" {
        return trace(&Spelled { expected: empirical::EXPECTED, ..unknown }, rest, open);
    }
    let kind = KINDS.iter().find(|kind| kind.word == word).ok_or_else(|| unknown.wrong())?;
    (kind.parse)(&Spelled { expected: kind.expected, ..unknown }, rest)
}

fn trace(spelled: &Spelled<'_>, file: &str, open: Open<'_>) -> Result<Part, WorkloadError> {
    if file.is_empty() {
        return Err(spelled.wrong());
    }
    open(&Spelled { text: file, ..*spelled }).map(Part::Empirical)
}
