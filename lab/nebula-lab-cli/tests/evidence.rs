//! Results that cannot be written: the program says so, and does not end as if they had been.

use nebula_testing::evidence;

use crate::program::PROGRAM;

/// Commands whose results are quick to have.
const QUICK: &[&[&str]] = &[
    &["--version"],
    &["simulate", "--help"],
    &["size"],
    &["size", "--format", "json"],
    &["size", "--format", "csv"],
    &["simulate", "--rpcs", "1000", "--load", "0.5"],
    &["simulate", "--rpcs", "1000", "--load", "0.5,0.6", "--format", "json"],
    &["simulate", "--rpcs", "1000", "--load", "0.5,0.6", "--format", "csv"],
    &["reproduce", "--list"],
];

#[test]
fn results_that_cannot_be_written_are_an_error_of_one_line_or_an_end_without_a_word() {
    QUICK.iter().for_each(|args| evidence::is_missing(PROGRAM, args));
}
