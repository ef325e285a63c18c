//! Trains a table of thresholds and prints it as it stands in `data/thresholds/*.toml`.
//!
//! ```text
//! thresholds WORKERS BOUND SERVICE SLO          cargo run --release -p nebula-sim --example thresholds -- 15 2 exp:1us 10us
//! ```

use nebula_sim::altocumulus::{ThresholdTable, Training};

#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [workers, bound, service, slo] = args.as_slice() else {
        return Err("usage: thresholds WORKERS BOUND SERVICE SLO".to_owned());
    };
    let service = service.parse().map_err(|error| format!("{error}"))?;
    let slo = slo.parse().map_err(|error| format!("{error}"))?;
    let workers = workers.parse().map_err(|error| format!("{workers:?} workers: {error}"))?;
    let bound = bound.parse().map_err(|error| format!("a bound of {bound:?}: {error}"))?;
    let training = Training { bound, ..Training::new(workers, service, slo) };
    let table = ThresholdTable::train(training, &|| ()).map_err(|error| error.to_string())?;
    print!("{}", table.to_toml());
    Ok(())
}
