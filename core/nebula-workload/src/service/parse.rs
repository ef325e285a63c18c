//! Parses a service time.
//!
//! ```text
//! service = "mix:" type (";" type)* | sum
//! type    = NAME "=" SHARE "*" sum
//! sum     = part ("+" part)*
//! part    = WORD ":" syntax of that kind
//! ```

use std::io::{self, BufReader, Read};
use std::str::FromStr;

use super::empirical::{self, Empirical};
use super::law::Kind;
use super::part::Part;
use super::request_mix::{RequestMix, RequestType};
use super::{ServiceTime, gev, lognormal, pareto, points, steady, uniform};
use crate::column;
use crate::error::WorkloadError;
use crate::spelling::Spelled;

type Open<'a> = &'a mut dyn FnMut(&Spelled<'_>) -> Result<Empirical, WorkloadError>;

const WHAT: &str = "service time";
const EXPECTED: &str = "one of fixed, exp, uniform, bimodal, lognormal, gev, pareto, trace, mix, such as exp:1us";
const EXPECTED_MIX: &str =
    "each type once, as NAME=SHARE*SERVICE, such as mix:get=0.995*exp:1us;scan=0.005*fixed:500us";

impl ServiceTime {
    /// Parses a spelling that may name files; `open` opens the file with that name.
    ///
    /// # Errors
    ///
    /// The errors of parsing; [`WorkloadError::SampleFile`] for a file that cannot be opened or
    /// read; [`WorkloadError::SampleLine`] for a line that is not a time.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_workload::ServiceTime;
    ///
    /// let open = |name: &str| match name {
    ///     "get.csv" => Ok("service_ns\n500\n1500\n".as_bytes()),
    ///     _ => Err(std::io::ErrorKind::NotFound.into()),
    /// };
    /// assert_eq!(ServiceTime::parse_with("trace:get.csv", open)?.mean_ps(), 1e6);
    /// let error = ServiceTime::parse_with("trace:put.csv", open).unwrap_err().to_string();
    /// assert_eq!(error, "\"put.csv\" could not be opened: entity not found");
    /// # Ok::<(), nebula_workload::WorkloadError>(())
    /// ```
    pub fn parse_with<R: Read>(text: &str, mut open: impl FnMut(&str) -> io::Result<R>) -> Result<Self, WorkloadError> {
        service(text, &mut |spelled| {
            let (file, _) = column::file_of(spelled.text)?;
            let source = open(file).map_err(|error| WorkloadError::sample_file(file, "opened", error.to_string()))?;
            Empirical::read(spelled.text, BufReader::new(source))
        })
    }
}

/// Parses every spelling except `trace:FILE`; for that, use [`ServiceTime::parse_with`].
impl FromStr for ServiceTime {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        service(text, &mut |spelled| {
            let text = format!("trace:{}", spelled.text);
            Err(WorkloadError::FileNotOpened { what: spelled.what, text, expected: "a law such as exp:1us" })
        })
    }
}

fn service(text: &str, open: Open<'_>) -> Result<ServiceTime, WorkloadError> {
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
    without_file(&Words { unknown, word, rest }).unwrap_or_else(|| Err(unknown.wrong()))
}

/// A part by its word, of all kinds that need no file; `None` for another word.
fn without_file(words: &Words<'_>) -> Option<Result<Part, WorkloadError>> {
    (words.as_a(&steady::FIXED, Part::Fixed))
        .or_else(|| words.as_a(&steady::EXPONENTIAL, Part::Exponential))
        .or_else(|| words.as_a(&uniform::KIND, Part::Uniform))
        .or_else(|| words.as_a(&points::KIND, Part::Points))
        .or_else(|| words.as_a(&lognormal::KIND, Part::Lognormal))
        .or_else(|| words.as_a(&gev::KIND, Part::Gev))
        .or_else(|| words.as_a(&pareto::KIND, Part::Pareto))
}

struct Words<'a> {
    unknown: Spelled<'a>,
    word: &'a str,
    rest: &'a str,
}

impl Words<'_> {
    /// Parses the rest as that kind; `None` if the word before the colon is of another.
    fn as_a<L>(&self, kind: &Kind<L>, part: fn(L) -> Part) -> Option<Result<Part, WorkloadError>> {
        let spelled = Spelled { expected: kind.expected, ..self.unknown };
        (self.word == kind.word).then(|| (kind.parse)(&spelled, self.rest).map(part))
    }
}

fn trace(spelled: &Spelled<'_>, file: &str, open: Open<'_>) -> Result<Part, WorkloadError> {
    if file.is_empty() {
        return Err(spelled.wrong());
    }
    open(&Spelled { text: file, ..*spelled }).map(Part::Empirical)
}
