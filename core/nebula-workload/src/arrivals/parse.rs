//! Parses a kind of arrivals.

use std::io::{self, BufReader, Read};
use std::str::FromStr;

use super::Arrivals;
use super::modulated::{Mmpp2, OnOff};
use super::recorded::ArrivalTrace;
use crate::column;
use crate::error::WorkloadError;
use crate::spelling::Spelled;

const EXPECTED: &str = "poisson, paced, packets:N, mmpp2:RATIO,SHARE,SOJOURN, on-off:ON,OFF or trace:FILE";

type Open<'a> = &'a mut dyn FnMut(&Spelled<'_>, &str) -> Result<ArrivalTrace, WorkloadError>;

impl Arrivals {
    /// Parses a spelling that may name a file; `open` opens the file with that name.
    ///
    /// # Errors
    ///
    /// The errors of parsing; [`WorkloadError::SampleFile`] for a file that cannot be opened or
    /// read, or has fewer than two times; [`WorkloadError::SampleLine`] for a line that is not a
    /// time or is earlier than the line before.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_workload::Arrivals;
    ///
    /// let arrivals = Arrivals::parse_with("trace:day.csv", |_| Ok("arrival_ns\n0\n100\n5000\n".as_bytes()))?;
    /// assert_eq!(arrivals.to_string(), "trace:day.csv");
    /// let error = Arrivals::parse_with("trace:day.csv", |_| Ok("0\n100\n99\n".as_bytes())).unwrap_err().to_string();
    /// assert_eq!(error, "\"day.csv\" line 3: \"99\": time goes back: sort the lines");
    /// # Ok::<(), nebula_workload::WorkloadError>(())
    /// ```
    pub fn parse_with<R: Read>(text: &str, mut open: impl FnMut(&str) -> io::Result<R>) -> Result<Self, WorkloadError> {
        arrivals(text, &mut |_, name| {
            let (file, _) = column::file_of(name)?;
            let source = open(file).map_err(|error| WorkloadError::sample_file(file, "opened", error.to_string()))?;
            ArrivalTrace::read(name, BufReader::new(source))
        })
    }
}

/// Parses every spelling except `trace:FILE`; for that, use [`Arrivals::parse_with`].
impl FromStr for Arrivals {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        arrivals(text, &mut |spelled, _| {
            let (what, text) = (spelled.what, spelled.text.to_owned());
            Err(WorkloadError::FileNotOpened { what, text, expected: "a law such as poisson" })
        })
    }
}

fn arrivals(text: &str, open: Open<'_>) -> Result<Arrivals, WorkloadError> {
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
