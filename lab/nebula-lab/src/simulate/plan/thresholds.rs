//! Trained thresholds of `altocumulus:G`, from a name or file, for the points of that policy.

use nebula_nic::Policy;
use nebula_sim::Altocumulus;
use nebula_sim::altocumulus::ThresholdTable;
use nebula_sim::study::Point;
use nebula_workload::thresholds::ThresholdFile;

use crate::Failure;

pub(super) fn with(points: Vec<Point>, text: &str) -> Result<Vec<Point>, Failure> {
    let table = ThresholdTable::from(ThresholdFile::find(text).map_err(Failure::bad_input)?);
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
