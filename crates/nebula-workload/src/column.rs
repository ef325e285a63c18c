//! Parses one column of recorded times in nanoseconds: the CSV of a trace of service times or of arrivals.
//!
//! ```text
//! # anything
//! service_ns
//! 512
//! 1033.25
//! ```
//!
//! - One time per line, with any number of decimals (those finer than a picosecond are truncated), or as `5.12e2`.
//! - A first line that begins with a letter or a quote is a header. A header that names another unit (`service_us`) is
//!   refused: every figure would be wrong by a factor of a thousand.
//! - Empty lines, and lines that begin with `#`, are skipped, and so are spaces around a time.

use std::io::BufRead;

use crate::WorkloadError;

/// Reads the column of the file called `file` and passes each time to `take`, in picoseconds.
///
/// An error from `take` is reported with its line. Only one line is in memory at a time.
pub(crate) fn read(
    file: &str,
    mut source: impl BufRead,
    mut take: impl FnMut(u128) -> Result<(), &'static str>,
) -> Result<(), WorkloadError> {
    let mut bytes = Vec::new();
    let mut may_be_header = true;
    for line in 1.. {
        bytes.clear();
        let failed = |error: std::io::Error| WorkloadError::sample_file(file, "read", error.to_string());
        if source.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let is_first = std::mem::take(&mut may_be_header);
        let taken = if is_first && is_header(text) { check_unit(text) } else { parse_ps(text).and_then(&mut take) };
        taken.map_err(|expected| WorkloadError::sample_line(file, line, text, expected))?;
    }
    Ok(())
}

fn is_header(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '"' || first == '\'')
}

fn check_unit(header: &str) -> Result<(), &'static str> {
    let name = header.trim_matches(['"', '\'']);
    let is_other = ["_ps", "_us", "_ms", "_s", "_sec"].iter().any(|unit| name.ends_with(unit));
    if is_other { Err("times must be in nanoseconds: convert them and name the column _ns") } else { Ok(()) }
}

const EXPECTED: &str = "write one time in nanoseconds, such as 512 or 1033.25";

fn parse_ps(text: &str) -> Result<u128, &'static str> {
    parse_decimal(text).or_else(|| parse_float(text)).ok_or(EXPECTED)
}

/// Exact where a float is not: a time since 1970 in nanoseconds has nineteen digits.
fn parse_decimal(text: &str) -> Option<u128> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) {
        return None;
    }
    let thousandths: u64 = format!("{decimals:0<3}").get(..3)?.parse().ok()?;
    Some(u128::from(whole.parse::<u64>().ok()?) * 1000 + u128::from(thousandths))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0 and below 2^64 ns")]
fn parse_float(text: &str) -> Option<u128> {
    let ns: f64 = text.parse().ok()?;
    (0.0..1.8e19).contains(&ns).then(|| libm::round(ns * 1000.0) as u128)
}
