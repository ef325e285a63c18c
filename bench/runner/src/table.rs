//! The table on the terminal.

use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

use super::Measured;
use crate::row::{Against, Bound, Row};

/// All rows of all sections, each section's name at its first row.
pub(super) fn of(measured: &[Measured]) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(["section", "what", "value", "unit", "ratio", "against", "promised"]);
    for section in measured {
        for (index, row) in section.rows.iter().enumerate() {
            table.add_row(cells(if index == 0 { section.section } else { "" }, row));
        }
    }
    table
}

/// A row's cells, in the order of the headings.
pub(super) fn cells(section: &str, row: &Row) -> [String; 7] {
    let Row { what, value, unit, against } = row;
    let [ratio, yardstick, promised] = against.as_ref().map_or_else(Default::default, compared);
    [section.to_owned(), what.clone(), significant(*value), unit.clone(), ratio, yardstick, promised]
}

fn compared(against: &Against) -> [String; 3] {
    let promised = against.bound.map(|bound| {
        let kept = if bound.holds(against.ratio) { "yes" } else { "NO" };
        match bound {
            Bound::AtLeast(least) => format!("≥ {least}: {kept}"),
            Bound::AtMost(most) => format!("≤ {most}: {kept}"),
        }
    });
    [format!("{:.3}", against.ratio), against.what.clone(), promised.unwrap_or_default()]
}

/// About four significant digits: enough to compare, and no more than was measured.
fn significant(value: f64) -> String {
    match value.abs() {
        1000.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_whether_its_promise_is_kept() {
        let row = Row::plain("echo", 13.52, "M RPC/s").against("ring", 0.39, Bound::AtLeast(0.4));
        assert_eq!(cells("echo", &row), ["echo", "echo", "13.5", "M RPC/s", "0.390", "ring", "≥ 0.4: NO"]);
    }

    #[test]
    fn a_row_without_a_baseline_leaves_its_cells_empty() {
        let row = Row::plain("memory", 81920.0, "B");
        assert_eq!(cells("", &row), ["", "memory", "81920", "B", "", "", ""]);
    }
}
