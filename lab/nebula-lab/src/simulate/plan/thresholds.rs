//! Trained thresholds of `altocumulus:G`: found by name or file, and given to the points of that
//! policy.

use std::path::Path;

use nebula_nic::Policy;
use nebula_sim::Altocumulus;
use nebula_sim::altocumulus::ThresholdTable;
use nebula_sim::study::Point;

use crate::Failure;

/// The groups of `altocumulus:G` look up this table.
pub(super) fn with(points: Vec<Point>, text: &str) -> Result<Vec<Point>, Failure> {
    let table = find(text)?;
    let options = Altocumulus { bound: table.training.bound, ..Altocumulus::new(table.thresholds()?) };
    let trained = table.training.workers;
    let with = |point: Point| match point.system.policy {
        Policy::Altocumulus(groups) if point.system.cores.div_ceil(groups.get()) == trained => {
            Ok(Point { system: point.system.altocumulus(options.clone()), ..point })
        }
        Policy::Altocumulus(groups) => Err(Failure::bad_input(format!(
            "--thresholds: {text} is for groups of {trained} cores, and {} have {}: train with nebula thresholds --workers {}",
            groups.get(),
            point.system.cores,
            point.system.cores.div_ceil(groups.get())
        ))),
        _ => Ok(point),
    };
    if !points.iter().any(|point| matches!(point.system.policy, Policy::Altocumulus(_))) {
        return Err(Failure::bad_input("--thresholds applies to the policy altocumulus:G only: add it to --policy"));
    }
    points.into_iter().map(with).collect()
}

/// The table of this name or in this file, as the flag `--thresholds` says it.
///
/// # Errors
///
/// Bad input: neither a name that ships nor a file, or a file that is no table.
pub fn find(text: &str) -> Result<ThresholdTable, Failure> {
    if let Some(shipped) = ThresholdTable::named(text) {
        return Ok(shipped);
    }
    let path = Path::new(text);
    if !path.is_file() {
        let shipped: Vec<&str> = ThresholdTable::names().collect();
        return Err(Failure::bad_input(format!(
            "--thresholds: {text:?} is neither a file nor a name that ships with Nebula: write one with nebula thresholds --write, or give one of {}",
            shipped.join(", ")
        )));
    }
    let read = std::fs::read_to_string(path)
        .map_err(|error| Failure::bad_input(format!("--thresholds: cannot read {}: {error}", path.display())))?;
    ThresholdTable::parse(&read).map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
}
