//! Recorded operations: the CSV `time_us,op,key,value_bytes`.
//!
//! ```text
//! time_us,op,key,value_bytes
//! 0,get,17,0
//! 12.5,set,user:4711,512
//! ```
//!
//! - The header is optional; a first line that begins with `time_us` must be the whole header, or
//!   that of a log.
//! - A log has a header with other columns too, in any order: `key`, the operation in `op`,
//!   `operation`, `method` or `endpoint`, and the time in the only column whose name ends in a
//!   unit, or in the one that [`TraceReader::column`] names. Its times count from the first.
//!   Without a set, `value_bytes` may be missing.
//! - `time_us` counts from the start of the trace, in microseconds, with up to six decimals
//!   (picoseconds). Times may repeat but must not decrease.
//! - `op` is `get`, `set`, `delete` or `scan`.
//! - `key` is the index of a key in decimal, or any other text. Text becomes a stable hash with the
//!   top bit set, so that it never equals an index below 2⁶³.
//! - Empty lines, lines that begin with `#`, and spaces around a field are skipped.
//! - Fields are not quoted: a key cannot contain a comma.

use std::io::{BufRead, BufReader, Read, Write};

use nebula_nic::Timestamp;

use crate::column::{Column, Place, Unit};
use crate::error::WorkloadError;
use crate::keys::Key;
use crate::operation::{Op, Operation};
use crate::rng::fnv1a;

const HEADER: [&str; 4] = ["time_us", "op", "key", "value_bytes"];
const PS_PER_US: u64 = 1_000_000;
const DECIMALS: usize = 6;
/// Set in the keys that are hashes of text.
const TEXT_KEY: u64 = 1 << 63;

/// Reads a trace as an iterator over its operations, a line at a time; ends after its first error.
///
/// # Examples
///
/// ```
/// use nebula_workload::{Op, TraceReader};
///
/// let trace = "time_us,op,key,value_bytes\n0,get,17,0\n12.5,set,17,512\n";
/// let operations: Vec<_> = TraceReader::new(trace.as_bytes()).collect::<Result<_, _>>()?;
/// assert_eq!(operations[1].op, Op::Set);
/// assert_eq!(operations[1].at.as_ps(), 12_500_000);
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Debug)]
pub struct TraceReader<R> {
    source: BufReader<R>,
    text: String,
    line: u64,
    last: Timestamp,
    layout: Layout,
    /// The column with the times, if it was named.
    column: Option<Column>,
    is_first: bool,
    has_ended: bool,
}

#[derive(Debug)]
struct Layout {
    time: usize,
    op: usize,
    key: usize,
    value_bytes: Option<usize>,
    count: usize,
    /// In a log: the unit of its times, and the first of them in picoseconds once it is known.
    log: Option<(Unit, Option<u128>)>,
}

impl Layout {
    /// The layout of `time_us,op,key,value_bytes`.
    const PLAIN: Self = Self { time: 0, op: 1, key: 2, value_bytes: Some(3), count: 4, log: None };

    /// The layout of a log; `None` if this is no header of one.
    fn of_log(header: &str, column: Option<&Column>) -> Option<Result<Self, String>> {
        let names: Vec<String> = fields(header).map(|name| name.trim_matches('"').to_owned()).collect();
        let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.to_ascii_lowercase().as_str()));
        let (op, key) = (at(&["op", "operation", "method", "endpoint"])?, at(&["key"])?);
        let place = Place::of_header(&names, column);
        Some(place.map(|place| Self {
            time: place.index,
            op,
            key,
            value_bytes: at(&["value_bytes"]),
            count: names.len(),
            log: Some((place.unit, None)),
        }))
    }
}

impl<R: Read> TraceReader<R> {
    /// Starts reading from `source`, which is buffered here.
    pub fn new(source: R) -> Self {
        let source = BufReader::new(source);
        Self {
            source,
            text: String::new(),
            line: 0,
            last: Timestamp::ZERO,
            layout: Layout::PLAIN,
            column: None,
            is_first: true,
            has_ended: false,
        }
    }

    /// Takes the times of a log from this column.
    #[must_use]
    pub fn column(self, column: Column) -> Self {
        Self { column: Some(column), ..self }
    }

    fn try_next(&mut self) -> Result<Option<Operation>, WorkloadError> {
        while self.read_line()? {
            let is_first = std::mem::take(&mut self.is_first);
            if !is_first || !self.takes_header()? {
                return self.operation().map(Some);
            }
        }
        Ok(None)
    }

    /// Reads the next line that is neither empty nor a comment; false at the end.
    fn read_line(&mut self) -> Result<bool, WorkloadError> {
        loop {
            self.text.clear();
            self.line += 1;
            if self.source.read_line(&mut self.text).map_err(|error| self.failed(&error))? == 0 {
                return Ok(false);
            }
            self.text.truncate(self.text.trim_end().len());
            if !self.text.is_empty() && !self.text.starts_with('#') {
                return Ok(true);
            }
        }
    }

    /// Whether this first line is a header.
    fn takes_header(&mut self) -> Result<bool, WorkloadError> {
        if self.column.is_none() && fields(&self.text).eq(HEADER) {
            return Ok(true);
        }
        match Layout::of_log(&self.text, self.column.as_ref()) {
            Some(layout) => self.layout = layout.map_err(|reason| self.wrong(reason))?,
            None if fields(&self.text).next() == Some(HEADER[0]) => {
                return Err(self.wrong(format!("the header must be {}", HEADER.join(","))));
            }
            None => return Ok(false),
        }
        Ok(true)
    }

    fn operation(&mut self) -> Result<Operation, WorkloadError> {
        let (time, op, key, value_bytes) = self.four_fields()?;
        let (at, first) = self.time(time)?;
        let op: Op = op.parse().map_err(|_| self.wrong("op must be get, set, delete or scan".into()))?;
        let key = parse_key(key).ok_or_else(|| self.wrong("key must not be empty".into()))?;
        let value_bytes = match value_bytes {
            Some(bytes) => bytes.parse().map_err(|_| self.wrong(EXPECTED_BYTES.into()))?,
            None if op == Op::Set => return Err(self.wrong("a set needs a column value_bytes".into())),
            None => 0,
        };
        if let Some((_, known)) = &mut self.layout.log {
            *known = first;
        }
        let operation = Operation { at, op, key, value_bytes };
        self.check_order(operation.at)?;
        self.last = operation.at;
        Ok(operation)
    }

    /// The time of an operation; in a log since its first time, which is returned too.
    fn time(&self, text: &str) -> Result<(Timestamp, Option<u128>), WorkloadError> {
        let Some((unit, first)) = self.layout.log else {
            return parse_time(text).map(|at| (at, None)).ok_or_else(|| self.wrong(EXPECTED_TIME.into()));
        };
        let ps = unit.parse_ps(text).map_err(|expected| self.wrong(expected.into()))?;
        let first = first.unwrap_or(ps);
        let since = ps.checked_sub(first).and_then(|ps| u64::try_from(ps).ok());
        let at = since.ok_or_else(|| self.wrong("time goes back: sort the lines".into()))?;
        Ok((Timestamp::from_ps(at), Some(first)))
    }

    /// Time, operation, key, and the bytes of the value if there is such a column.
    fn four_fields(&self) -> Result<(&str, &str, &str, Option<&str>), WorkloadError> {
        let Layout { time, op, key, value_bytes, count, log } = &self.layout;
        let found = fields(&self.text).count();
        if found != *count {
            let write = if log.is_some() { format!("{count}, as the header has") } else { HEADER.join(",") };
            return Err(self.wrong(format!("has {found} fields, write {write}")));
        }
        let at = |index: usize| fields(&self.text).nth(index).unwrap_or_default();
        Ok((at(*time), at(*op), at(*key), value_bytes.map(at)))
    }

    fn check_order(&self, at: Timestamp) -> Result<(), WorkloadError> {
        let last = TimeUs(self.last);
        if at >= self.last {
            Ok(())
        } else {
            Err(self.wrong(format!("time goes back: write {last} or later, or sort")))
        }
    }

    fn wrong(&self, expected: String) -> WorkloadError {
        WorkloadError::TraceLine { line: self.line, text: self.text.clone(), expected }
    }

    fn failed(&self, error: &std::io::Error) -> WorkloadError {
        WorkloadError::TraceFile { attempt: "read", line: self.line, reason: error.to_string() }
    }
}

const EXPECTED_TIME: &str = "time_us must be microseconds such as 12 or 12.5, at most six decimals";
const EXPECTED_BYTES: &str = "value_bytes must be a whole number below 2^32";

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(str::trim)
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<Operation, WorkloadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let next = self.try_next().transpose();
        self.has_ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn parse_time(text: &str) -> Option<Timestamp> {
    let has_few = text.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= DECIMALS);
    let ps = Unit::Us.parse_decimal(text).filter(|_| has_few)?;
    u64::try_from(ps).ok().map(Timestamp::from_ps)
}

fn parse_key(text: &str) -> Option<Key> {
    let index = text.parse().unwrap_or_else(|_| fnv1a(text.as_bytes()) | TEXT_KEY);
    (!text.is_empty()).then_some(Key(index))
}

/// Writes a trace that [`TraceReader`] reads back.
///
/// # Examples
///
/// ```
/// use nebula_nic::Timestamp;
/// use nebula_workload::{Key, Op, Operation, TraceWriter};
///
/// let mut trace = TraceWriter::new(Vec::new())?;
/// trace.write(&Operation { at: Timestamp::from_ps(1_500_000), op: Op::Get, key: Key(3), value_bytes: 0 })?;
/// assert_eq!(trace.finish()?, b"time_us,op,key,value_bytes\n1.5,get,3,0\n");
/// # Ok::<(), nebula_workload::WorkloadError>(())
/// ```
#[derive(Debug)]
pub struct TraceWriter<W> {
    sink: W,
    lines: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace with its header.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::TraceFile`] if writing to the sink fails.
    pub fn new(sink: W) -> Result<Self, WorkloadError> {
        let mut writer = Self { sink, lines: 0 };
        writer.write_line(format_args!("{}", HEADER.join(",")))?;
        Ok(writer)
    }

    /// Writes one operation as one line; text keys are written as the number they became.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::TraceFile`] if writing to the sink fails.
    pub fn write(&mut self, operation: &Operation) -> Result<(), WorkloadError> {
        let Operation { at, op, key: Key(key), value_bytes } = *operation;
        self.write_line(format_args!("{},{op},{key},{value_bytes}", TimeUs(at)))
    }

    /// Flushes and returns the sink.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::TraceFile`] if the sink cannot be flushed.
    pub fn finish(mut self) -> Result<W, WorkloadError> {
        self.sink.flush().map_err(|error| self.failed(&error))?;
        Ok(self.sink)
    }

    fn write_line(&mut self, line: std::fmt::Arguments<'_>) -> Result<(), WorkloadError> {
        self.lines += 1;
        writeln!(self.sink, "{line}").map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> WorkloadError {
        WorkloadError::TraceFile { attempt: "written", line: self.lines, reason: error.to_string() }
    }
}

/// A time in microseconds with as many decimals as it needs.
struct TimeUs(Timestamp);

impl std::fmt::Display for TimeUs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, fraction_ps) = (self.0.as_ps() / PS_PER_US, self.0.as_ps() % PS_PER_US);
        if fraction_ps == 0 {
            return write!(f, "{whole}");
        }
        let decimals = format!("{fraction_ps:0DECIMALS$}");
        write!(f, "{whole}.{}", decimals.trim_end_matches('0'))
    }
}
