//! Finds golden values that a run no longer reproduces.

use nebula_lab::reproduce::{self, Comparison, Effort, REPRODUCED};
use nebula_sim::reproduce::{Entry, GOLDEN_FULL, GOLDEN_QUICK};

use nebula_ui::output::Failure;

/// Compares the verdicts of `entries` with the golden rows; fails with the values that are no
/// longer reproduced.
pub(super) fn check(effort: Effort, entries: &[Entry], found: &[Comparison]) -> Result<(), Failure> {
    let text = if effort == Effort::Quick { GOLDEN_QUICK } else { GOLDEN_FULL };
    let golden = reproduce::parse(text).map_err(|error| Failure::fault(format!("the golden rows: {error}")))?;
    let of_entries = golden.iter().filter(|one| entries.iter().any(|entry| one.is_of(entry)));
    let lost = lost(of_entries, found);
    if lost.is_empty() {
        return Ok(());
    }
    Err(Failure::fault(format!("no longer reproduced, but reproduced in the golden rows: {}", lost.join(", "))))
}

fn lost<'a>(golden: impl Iterator<Item = &'a Comparison>, found: &[Comparison]) -> Vec<&'a str> {
    let is_kept = |id: &str| found.iter().any(|one| one.id == id && one.verdict == REPRODUCED);
    golden.filter(|one| one.verdict == REPRODUCED && !is_kept(&one.id)).map(|one| one.id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_gone_or_has_another_verdict_is_lost() {
        let golden = reproduce::parse(GOLDEN_QUICK).unwrap();
        let reproduced = golden.iter().filter(|one| one.verdict == REPRODUCED).count();
        assert!(reproduced > 5 && lost(golden.iter(), &golden).is_empty());
        let mut found = golden.clone();
        let index = found.iter().position(|one| one.verdict == REPRODUCED).unwrap();
        let id = found[index].id.clone();
        "differs".clone_into(&mut found[index].verdict);
        assert_eq!(lost(golden.iter(), &found), [id.as_str()]);
        found.remove(index);
        assert_eq!(lost(golden.iter(), &found), [id.as_str()]);
    }

    #[test]
    fn the_golden_rows_of_full_effort_are_rows_too() {
        assert!(reproduce::parse(GOLDEN_FULL).unwrap().len() > 100);
    }
}
