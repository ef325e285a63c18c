//! Service times, arrivals and mixes of operations.

use std::path::Path;

use nebula_workload::{Arrivals, Mix, ServiceTime, WorkloadError};

/// Parses a service time; opens the trace file that it names.
///
/// # Errors
///
/// The text or the file is invalid.
pub fn service(text: &str) -> Result<ServiceTime, WorkloadError> {
    ServiceTime::parse_with(text, |name| nebula_files::lines(Path::new(name)))
}

/// Parses an arrival process; opens the trace file that it names.
pub fn arrivals(text: &str) -> Result<Arrivals, WorkloadError> {
    Arrivals::parse_with(text, |name| nebula_files::lines(Path::new(name)))
}

/// Parses the weights of operations. A total above 100 is an error: percentages that do not add up.
pub fn mix(text: &str) -> Result<Mix, String> {
    let mix: Mix = text.parse().map_err(|error: WorkloadError| error.to_string())?;
    match mix.total() {
        0..=100 => Ok(mix),
        total => Err(format!("the weights add up to {total}: give percentages that add up to 100, or smaller numbers")),
    }
}
