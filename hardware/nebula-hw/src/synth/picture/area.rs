//! The gates of each module at each core count, on a logarithmic scale: a row a module, a mark a
//! core count.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::{BLUE, Drawn, GREEN, GRID, INK, MUTED, ORANGE, PURPLE, Surface, sheet, text};
use crate::synth::page::{rounded, thousands};
use crate::synth::result::{Results, Row};
use nebula_shell::Failure;

const CORES: [(u32, RGBColor); 4] = [(16, BLUE), (64, ORANGE), (256, GREEN), (1_024, PURPLE)];

const WIDTH: u32 = 800;
const LEFT: i32 = 210;
const RIGHT: i32 = 740;
const TOP: i32 = 64;
const ROW: i32 = 34;
/// Powers of ten at the edges.
const DECADES: std::ops::RangeInclusive<i32> = 1..=6;

pub(in super::super) fn draw(results: &Results) -> Result<String, Failure> {
    let modules = modules(results);
    let bottom = TOP + ROW * i32::try_from(modules.len()).unwrap_or(0);
    let height = u32::try_from(bottom + 44).unwrap_or(0);
    sheet("Gates of each module by core count", (WIDTH, height), |surface| {
        legend(surface)?;
        axis(surface, bottom)?;
        (0..).zip(&modules).try_for_each(|(index, module)| marks(surface, TOP + ROW * index + ROW / 2, module, results))
    })
}

fn modules(results: &Results) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in results.rows.iter().map(name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn name(row: &Row) -> String {
    if row.what.is_empty() { row.module.clone() } else { format!("{}, {}", row.module, row.what) }
}

fn legend<'a>(surface: &Surface<'a>) -> Drawn<'a> {
    text(surface, "gates (NAND2 equivalents, without memories)", (LEFT, 14), 15, INK, HPos::Left)?;
    (0..).zip(CORES).try_for_each(|(index, (cores, color))| {
        let x = LEFT + 8 + 110 * index;
        surface.draw(&Circle::new((x, 40), 5, color.filled()))?;
        text(surface, &format!("{} cores", thousands(u64::from(cores))), (x + 10, 40), 14, INK, HPos::Left)
    })
}

fn axis<'a>(surface: &Surface<'a>, bottom: i32) -> Drawn<'a> {
    DECADES.into_iter().try_for_each(|decade| {
        let x = across(10f64.powi(decade));
        surface.draw(&PathElement::new(vec![(x, TOP), (x, bottom)], GRID))?;
        text(surface, &thousands(10u64.pow(decade.unsigned_abs())), (x, bottom + 16), 13, MUTED, HPos::Center)
    })
}

fn marks<'a>(surface: &Surface<'a>, y: i32, module: &str, results: &Results) -> Drawn<'a> {
    text(surface, module, (LEFT - 10, y), 14, INK, HPos::Right)?;
    surface.draw(&PathElement::new(vec![(LEFT, y), (RIGHT, y)], GRID))?;
    let rows: Vec<&Row> = results.rows.iter().filter(|row| name(row) == module).collect();
    rows.iter().try_for_each(|row| {
        let color = CORES.iter().find(|(cores, _)| *cores == row.cores).map_or(MUTED, |(_, color)| *color);
        surface.draw(&Circle::new((across(row.mapped.gates), y), 6, color.filled()))
    })?;
    let most = rows.iter().map(|row| row.mapped.gates).fold(0.0, f64::max);
    text(surface, &thousands(rounded(most)), (across(most) + 11, y - 9), 12, MUTED, HPos::Left)
}

#[expect(clippy::cast_possible_truncation, reason = "a place in a picture of some hundred pixels")]
fn across(gates: f64) -> i32 {
    let (from, to) = (f64::from(*DECADES.start()), f64::from(*DECADES.end()));
    let share = (gates.max(10.0).log10() - from) / (to - from);
    LEFT + (share * f64::from(RIGHT - LEFT)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::result::tests::row;

    #[test]
    fn each_module_has_a_row_and_each_core_count_a_mark() {
        let rows = vec![row("jbsq", 16, 100.0), row("jbsq", 64, 1_000.0), row("nack", 16, 50.0)];
        let svg = draw(&Results { tools: Vec::new(), rows }).expect("it is drawn");
        assert_eq!(svg.matches("<circle").count(), CORES.len() + 3);
        assert!(svg.contains("jbsq") && svg.contains("nack") && svg.contains("1,000"), "{svg}");
    }

    #[test]
    fn ten_times_the_gates_is_a_decade_to_the_right() {
        assert_eq!((across(10.0), across(1e6)), (LEFT, RIGHT));
        assert_eq!(across(100.0) - across(10.0), across(1e6) - across(1e5));
    }
}
