//! A column of recorded times in CSV: a trace of service times or arrivals, or part of a log.
//!
//! ```text
//! # anything
//! service_ns                     endpoint,duration_us,status
//! 512                            get,12.5,200
//! 1033.25                        "put, batched",1033.25,200
//! ```
//!
//! - One time per line in its column, with any number of decimals (those finer than a picosecond
//!   are truncated), or as `5.12e2`.
//! - A first line that begins with a letter is a header. The ending of a column's name is its unit:
//!   `_ps`, `_ns`, `_us`, `_ms`, `_s`. Without a unit or a header, times are nanoseconds.
//! - With several columns, name one, `trace:FILE#duration_us`, and its unit if the name does not
//!   end in it, `trace:FILE#duration=us`. The default is the only column that ends in a unit.
//! - Empty lines, lines with `#` first, and spaces around a field are skipped. Fields may be
//!   quoted.

use std::fmt;
use std::io::{BufRead, Read};
use std::str::FromStr;

use csv::{ByteRecord, ReaderBuilder};

use crate::error::WorkloadError;

/// The unit of recorded times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Picoseconds.
    Ps,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl Unit {
    const ALL: [(&str, Self); 6] =
        [("ps", Self::Ps), ("ns", Self::Ns), ("us", Self::Us), ("ms", Self::Ms), ("s", Self::S), ("sec", Self::S)];

    /// The unit at the end of a column's name: `duration_us`.
    fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('_')?;
        ending.parse().ok()
    }

    const fn decimals(self) -> usize {
        match self {
            Self::Ps => 0,
            Self::Ns => 3,
            Self::Us => 6,
            Self::Ms => 9,
            Self::S => 12,
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Ns => "write one time in nanoseconds, such as 512 or 1033.25",
            Self::Ps => "write one time in picoseconds, such as 512000",
            Self::Us => "write one time in microseconds, such as 512 or 1033.25",
            Self::Ms => "write one time in milliseconds, such as 0.512 or 10.25",
            Self::S => "write one time in seconds, such as 0.000512",
        }
    }

    pub(crate) fn parse_ps(self, text: &str) -> Result<u128, &'static str> {
        self.parse_decimal(text).or_else(|| self.parse_float(text)).ok_or(self.expected())
    }

    /// Exact, unlike a float: a time since 1970 in nanoseconds has nineteen digits.
    pub(crate) fn parse_decimal(self, text: &str) -> Option<u128> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !are_digits(whole) || !are_digits(decimals) {
            return None;
        }
        let count = self.decimals();
        let fraction: u128 = match format!("{decimals:0<count$}").get(..count)? {
            "" => 0,
            digits => digits.parse().ok()?,
        };
        Some(u128::from(whole.parse::<u64>().ok()?) * 10_u128.pow(u32::try_from(count).ok()?) + fraction)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0 and below 2^64 units")]
    fn parse_float(self, text: &str) -> Option<u128> {
        let value: f64 = text.parse().ok()?;
        (0.0..1.8e19).contains(&value).then(|| libm::round(value * libm::pow(10.0, self.decimals() as f64)) as u128)
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text).map(|&(_, unit)| unit);
        found.ok_or_else(|| format!("expected a unit, one of ps, ns, us, ms and s, not {text:?}"))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ps => "picoseconds",
            Self::Ns => "nanoseconds",
            Self::Us => "microseconds",
            Self::Ms => "milliseconds",
            Self::S => "seconds",
        })
    }
}

/// A column by name, and unit unless the name ends in it: `duration_us`, `duration=us`.
///
/// # Examples
///
/// ```
/// use nebula_workload::Column;
///
/// assert_eq!("duration=us".parse::<Column>()?.to_string(), "duration=us");
/// assert!("duration=fortnights".parse::<Column>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    name: String,
    unit: Option<Unit>,
    text: String,
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, unit) = match text.rsplit_once('=') {
            Some((name, unit)) => (name, Some(unit.parse()?)),
            None => (text, None),
        };
        match name.trim() {
            "" => Err(format!("expected a column such as duration_us or duration=us, not {text:?}")),
            name => Ok(Self { name: name.to_owned(), unit, text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `FILE#COLUMN` as the file's name and its column.
pub(crate) fn file_of(text: &str) -> Result<(&str, Option<Column>), WorkloadError> {
    match text.split_once('#') {
        None => Ok((text, None)),
        Some((file, column)) => {
            let column = column.parse().map_err(|reason: String| WorkloadError::sample_file(file, "used", reason))?;
            Ok((file, Some(column)))
        }
    }
}

/// The place of a line's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) index: usize,
    /// The column's name; empty without a header.
    pub(crate) name: String,
    pub(crate) unit: Unit,
}

impl Place {
    /// Without a header a line is one time.
    const ONLY: Self = Self { index: 0, name: String::new(), unit: Unit::Ns };

    pub(crate) fn of_header(header: &[String], column: Option<&Column>) -> Result<Self, String> {
        let at = |index: usize, unit: Option<Unit>| {
            let name = header[index].clone();
            let unit = unit.or_else(|| Unit::of_name(&name)).unwrap_or(Unit::Ns);
            Self { index, name, unit }
        };
        let listed = || header.join(", ");
        if let Some(column) = column {
            let index = header.iter().position(|name| *name == column.name);
            return index
                .map(|index| at(index, column.unit))
                .ok_or_else(|| format!("it has no column {:?}: there are {}", column.name, listed()));
        }
        let with_unit: Vec<usize> =
            (0..header.len()).filter(|&index| Unit::of_name(&header[index]).is_some()).collect();
        match (header.len(), &with_unit[..]) {
            (1, _) => Ok(at(0, None)),
            (_, &[index]) => Ok(at(index, None)),
            _ => Err(format!("it has the columns {}: name the one with the times, and its unit", listed())),
        }
    }
}

/// Reads the times of this column of the file called `file`, one line in memory at a time, and
/// passes each to `take`, in picoseconds, with its line. An error from `take` is reported with its
/// line.
pub(crate) fn read_lines(
    file: &str,
    column: Option<&Column>,
    source: impl Read,
    mut begin: impl FnMut(&Place, &[String]),
    mut take: impl FnMut(u128, &ByteRecord) -> Result<(), &'static str>,
) -> Result<(), WorkloadError> {
    let mut lines = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(source);
    let (mut line, mut place) = (ByteRecord::new(), None);
    while lines.read_byte_record(&mut line).map_err(|error| unread(file, error))? {
        let at = line.position().map_or(0, csv::Position::line);
        let text = text_of(&line);
        let wrong = |expected| WorkloadError::sample_line(file, at, &text, expected);
        let Some(place) = &place else {
            let fields: Vec<String> = line.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect();
            let is_header = fields[0].starts_with(char::is_alphabetic);
            let found = if is_header { Place::of_header(&fields, column) } else { only(&fields, column) };
            let found = found.map_err(|reason| WorkloadError::sample_file(file, "used", reason))?;
            begin(&found, if is_header { &fields } else { &[] });
            if !is_header {
                found.unit.parse_ps(&text).and_then(|ps| take(ps, &line)).map_err(wrong)?;
            }
            place = Some(found);
            continue;
        };
        let field = if place.name.is_empty() { Some(text.as_str()) } else { line.get(place.index).and_then(utf8) };
        let field = field.ok_or(place.unit.expected());
        field.and_then(|field| place.unit.parse_ps(field)).and_then(|ps| take(ps, &line)).map_err(wrong)?;
    }
    Ok(())
}

fn only(fields: &[String], column: Option<&Column>) -> Result<Place, String> {
    match column {
        Some(column) => {
            Err(format!("its first line, {}, names no columns: there is no {:?}", fields.join(","), column.name))
        }
        None => Ok(Place::ONLY),
    }
}

fn utf8(field: &[u8]) -> Option<&str> {
    std::str::from_utf8(field).ok()
}

fn text_of(line: &ByteRecord) -> String {
    line.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(",")
}

fn unread(file: &str, error: csv::Error) -> WorkloadError {
    let reason = match error.into_kind() {
        csv::ErrorKind::Io(error) => error.to_string(),
        other => format!("{other:?}"),
    };
    WorkloadError::sample_file(file, "read", reason)
}

/// Reads the times of `FILE` or `FILE#COLUMN`, and passes each to `take`, in picoseconds.
pub(crate) fn read(
    name: &str,
    source: impl BufRead,
    mut take: impl FnMut(u128) -> Result<(), &'static str>,
) -> Result<(), WorkloadError> {
    let (file, column) = file_of(name)?;
    read_lines(file, column.as_ref(), source, |_, _| (), |ps, _| take(ps))
}
