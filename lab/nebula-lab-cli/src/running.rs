//! A running server: its service times and its load, as the program `nebula` measures them.

use std::process::{Command, Stdio};

use nebula_lab::size::Running;
use nebula_nic::Span;
use nebula_ui::Failure;
use nebula_workload::{Rate, ServiceTime};
use serde::Deserialize;

/// The output of `nebula service-times`.
#[derive(Deserialize)]
struct Measured {
    name: String,
    service_ps: Vec<u64>,
    rate_rps: f64,
    cores: u32,
    queue_bound: Option<u32>,
    slo_ns: u64,
    latency_p99_ps: Option<u64>,
    nack_share: f64,
}

/// Measures the server at `place` for a time.
pub(crate) fn measured(place: &str, over: Span) -> Result<Running, Failure> {
    let program = nebula_ui::program::path_of("nebula").ok_or_else(|| {
        Failure::bad_input("--from: nebula measures a server that runs: cargo build --release -p nebula-cli")
    })?;
    let mut command = Command::new(program);
    command.args(["service-times", place, "--over", &over.to_string()]).stdin(Stdio::null());
    let output = command.output().map_err(|error| Failure::fault(format!("--from: cannot run nebula: {error}")))?;
    if !output.status.success() {
        return Err(failure(output.status.code(), &String::from_utf8_lossy(&output.stderr)));
    }
    let read = serde_json::from_slice(&output.stdout);
    let measured: Measured =
        read.map_err(|error| Failure::fault(format!("--from: nebula is of another version: {error}")))?;
    let spans: Vec<Span> = measured.service_ps.into_iter().map(Span::from_ps).collect();
    Ok(Running {
        service: ServiceTime::from_spans(&measured.name, spans)?,
        name: measured.name,
        rate: Rate::try_new(measured.rate_rps)?,
        cores: measured.cores,
        queue_bound: measured.queue_bound,
        slo: Span::from_ns(measured.slo_ns),
        latency_p99: measured.latency_p99_ps.map(Span::from_ps),
        nack_share: measured.nack_share,
    })
}

fn failure(code: Option<i32>, said: &str) -> Failure {
    let line = said.trim().lines().next_back().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line).to_owned();
    match code {
        Some(2) => Failure::BadInput(line),
        Some(130) => Failure::Interrupted,
        _ => Failure::Fault(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_that_failed_is_said_as_nebula_said_it() {
        let of = |code| failure(Some(code), "error: nobody serves shm://kv\n");
        assert_eq!(of(1).line().as_deref(), Some("error: nobody serves shm://kv"));
        assert!(matches!(of(2), Failure::BadInput(line) if line == "nobody serves shm://kv"));
        assert!(of(130).line().is_none());
    }
}
