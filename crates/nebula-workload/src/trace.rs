//! Recorded operations: the CSV `time_us,op,key,value_bytes`.
//!
//! ```text
//! time_us,op,key,value_bytes
//! 0,get,17,0
//! 12.5,set,user:4711,512
//! ```
//!
//! - The header is optional; a first line that begins with `time_us` must be the whole header.
//! - `time_us` counts from the start of the trace, in microseconds, with up to six decimals (picoseconds). Times
//!   may stand still and must not go back.
//! - `op` is `get`, `set` or `delete`.
//! - `key` is the index of a key in decimal, or any other text. Text becomes a stable hash with the top bit set,
//!   so that it never meets an index below 2⁶³.
//! - Empty lines, and lines that begin with `#`, are skipped.

use std::io::{Read, Write};

use csv::StringRecord;
use nebula_nic::Timestamp;

use crate::rng::fnv1a;
use crate::{Key, Op, Operation, WorkloadError};

const HEADER: [&str; 4] = ["time_us", "op", "key", "value_bytes"];
const PS_PER_US: u64 = 1_000_000;
/// Decimals of a microsecond that make picoseconds.
const DECIMALS: usize = 6;
/// Set in the keys that are hashes of text.
const TEXT_KEY: u64 = 1 << 63;

/// Reads a trace, one operation after the other.
///
/// An iterator: it holds one line at a time, and ends after its first error.
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
    reader: csv::Reader<R>,
    record: StringRecord,
    last: Timestamp,
    is_first: bool,
    has_ended: bool,
}

impl<R: Read> TraceReader<R> {
    /// Begins to read from `source`, which is buffered here.
    pub fn new(source: R) -> Self {
        let reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(source);
        Self { reader, record: StringRecord::new(), last: Timestamp::ZERO, is_first: true, has_ended: false }
    }

    fn try_next(&mut self) -> Result<Option<Operation>, WorkloadError> {
        while self.read_record()? {
            let is_first = std::mem::take(&mut self.is_first);
            if is_first && self.record.get(0) == Some(HEADER[0]) {
                self.check_header()?;
            } else {
                return self.operation().map(Some);
            }
        }
        Ok(None)
    }

    fn read_record(&mut self) -> Result<bool, WorkloadError> {
        self.reader.read_record(&mut self.record).map_err(|error| WorkloadError::TraceFile {
            attempt: "read",
            line: error.position().map_or(self.reader.position().line(), csv::Position::line),
            reason: error.to_string(),
        })
    }

    fn check_header(&self) -> Result<(), WorkloadError> {
        let is_right = self.record.iter().eq(HEADER);
        if is_right { Ok(()) } else { Err(self.wrong(format!("the header must be {}", HEADER.join(",")))) }
    }

    fn operation(&mut self) -> Result<Operation, WorkloadError> {
        let record = &self.record;
        let [Some(time), Some(op), Some(key), Some(value_bytes), None] = [0, 1, 2, 3, 4].map(|at| record.get(at))
        else {
            return Err(self.wrong(format!("has {} fields, write {}", record.len(), HEADER.join(","))));
        };
        let at = parse_time(time).ok_or_else(|| {
            self.wrong("time_us must be microseconds such as 12 or 12.5, at most six decimals".into())
        })?;
        let op: Op = op.parse().map_err(|_| self.wrong("op must be get, set or delete".into()))?;
        let key = parse_key(key).ok_or_else(|| self.wrong("key must not be empty".into()))?;
        let value_bytes =
            value_bytes.parse().map_err(|_| self.wrong("value_bytes must be a whole number below 2^32".into()))?;
        self.check_order(at)?;
        self.last = at;
        Ok(Operation { at, op, key, value_bytes })
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
        WorkloadError::TraceLine {
            line: self.record.position().map_or(0, csv::Position::line),
            text: self.record.iter().collect::<Vec<_>>().join(","),
            expected,
        }
    }
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
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) || decimals.len() > DECIMALS {
        return None;
    }
    let fraction_ps: u64 = format!("{decimals:0<DECIMALS$}").parse().ok()?;
    let whole_ps = whole.parse::<u64>().ok()?.checked_mul(PS_PER_US)?;
    whole_ps.checked_add(fraction_ps).map(Timestamp::from_ps)
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
    /// Lines written, header included.
    lines: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace with its header.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::TraceFile`] if the sink refuses the bytes.
    pub fn new(sink: W) -> Result<Self, WorkloadError> {
        let mut writer = Self { sink, lines: 0 };
        writer.write_line(format_args!("{}", HEADER.join(",")))?;
        Ok(writer)
    }

    /// Writes one operation as one line; the keys of text are written as the number they became.
    ///
    /// # Errors
    ///
    /// [`WorkloadError::TraceFile`] if the sink refuses the bytes.
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
