//! Counts the instructions of a program with valgrind's callgrind: the same number on every run and
//! machine load.

use std::path::Path;
use std::process::Stdio;

use nebula_shell::{Attempt, Failure, Shell};

/// The instructions that `program args` executes from its start to its end.
pub(crate) fn instructions(shell: &Shell, program: &Path, args: &[&str]) -> Result<u64, Failure> {
    collected(&said(shell, program, args, &[])?)
}

/// Those that it executes within the functions whose names match `pattern`, and in what they call.
pub(crate) fn instructions_within(shell: &Shell, program: &Path, args: &[&str], pattern: &str) -> Result<u64, Failure> {
    collected(&said(shell, program, args, &[&format!("--toggle-collect={pattern}")])?)
}

/// The cache lines that it fetches from memory, beyond caches of 8 MiB, within the functions whose
/// names match `pattern`, and in what they call.
pub(crate) fn lines_within(shell: &Shell, program: &Path, args: &[&str], pattern: &str) -> Result<u64, Failure> {
    let caches = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"];
    let within = format!("--toggle-collect={pattern}");
    number_behind("LLd misses:", &said(shell, program, args, &[&caches[..], &[&within]].concat())?)
}

/// The cost of one of `n` operations, where `total` is that of a program that does so many. The
/// cost of the program's beginning and end is left out.
pub(crate) fn each(n: u32, total: impl Fn(u32) -> Result<u64, Failure>) -> Result<f64, Failure> {
    let (once, twice) = (total(n)?, total(2 * n)?);
    Ok(share(twice.saturating_sub(once), n))
}

/// A part of a count.
#[expect(clippy::cast_precision_loss, reason = "a count is far below 2^53")]
pub(crate) fn share(total: u64, of: u32) -> f64 {
    total as f64 / f64::from(of)
}

/// What callgrind says when the program has ended.
fn said(shell: &Shell, program: &Path, args: &[&str], options: &[&str]) -> Result<String, Failure> {
    let line = format!("callgrind of `{} {}`", program.display(), args.join(" "));
    let mut valgrind = shell.command("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--fair-sched=try"]).args(options);
    valgrind.arg(program).args(args);
    let output = valgrind.stdout(Stdio::null()).output().attempt(format!("start {line}"))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        Ok(said)
    } else {
        Err(Failure::new(format!("{line} ended with {}: {said}", output.status)))
    }
}

/// The number in callgrind's closing line `==PID== Collected : N`.
fn collected(said: &str) -> Result<u64, Failure> {
    number_behind("Collected :", said)
}

/// The first number behind `label`, whose thousands may be apart.
fn number_behind(label: &str, said: &str) -> Result<u64, Failure> {
    let behind = said.lines().find_map(|line| line.split_once(label));
    let word = behind.and_then(|(_, behind)| behind.split_whitespace().next()).map(|word| word.replace(',', ""));
    let number = word.and_then(|word| word.parse().ok());
    number.ok_or_else(|| Failure::new(format!("callgrind says no `{label}`: {said}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_the_operations_is_not_in_the_figure() {
        let each = each(20_000, |n| Ok(7 + 100 * u64::from(n))).expect("it is counted");
        assert_eq!(each.to_bits(), 100.0_f64.to_bits());
    }

    #[test]
    fn the_count_is_read_from_the_closing_line() {
        let number = |label: &str, said: &str| number_behind(label, said).ok();
        assert_eq!(number("Collected :", "==7== Events    : Ir\n==7== Collected : 176301\n==7== \n"), Some(176_301));
        assert_eq!(number("LLd misses:", "==7== LLd misses:       1,791  (     58 rd +   1,733 wr)\n"), Some(1791));
        assert_eq!(number("Collected :", "==7== Process terminating\n"), None);
    }
}
