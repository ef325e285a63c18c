//! The page of `nebula compare`: the load that each system sustains under the SLO, and its use of
//! core time there.

use nebula_sim::CoreTime;

use super::chart::Unit;
use super::page::{Figure, Page};
use super::simulation;
use super::stacked::{NUMERALS, Piece, Stack, bars};
use super::table;
use nebula_sim::study::{Ask, Figures, Found};
use nebula_ui::output::text::load as load_text;
use nebula_ui::output::{Row, units};

const _: () = assert!(CoreTime::NAMES.len() <= NUMERALS.len());

/// `rows` are those of the table on the terminal, `sources` describes each system.
pub(crate) fn render(found: &[Found], rows: &[Row], setting: &str, sources: &[String], footer: &str) -> String {
    let caption = "± is half the 95 % confidence interval, relative to the figure. Shares are of the \
        time of all cores, at the load of the row.";
    Page::new("Schedulers side by side", &verdict(found), setting)
        .charts(&figures(found))
        .table(&table(caption, rows))
        .data(rows)
        .remarks("What was compared", sources)
        .remarks("How to read this", &remarks())
        .finish(footer)
}

/// The systems that sustain the most and the least; for given loads, the result of each point.
fn verdict(found: &[Found]) -> String {
    let load = |one: &Found| one.at_slo.map_or(0.0, |at| at.load.value);
    let by_load = |one: &&Found, other: &&Found| load(one).total_cmp(&load(other));
    let (most, least) = (found.iter().max_by(by_load), found.iter().min_by(by_load));
    let (Some(most), Some(least), true) = (most, least, found.iter().all(|one| one.point.ask == Ask::FindLoad)) else {
        return simulation::verdict(found);
    };
    let slo = units::span(most.point.slo);
    let share = |one: &Found| one.at_slo.map_or("at no load".to_owned(), |at| load_text(at.load.value));
    let said = |one: &Found| format!("{} {}", one.point.name, share(one));
    format!("Share of core time with p99 within {slo}: highest {}, lowest {}.", said(most), said(least))
}

fn figures(found: &[Found]) -> Vec<Figure> {
    let mut figures = simulation::figures(found);
    figures.push(time_figure(found));
    figures
}

/// At the load that the search found, or at the highest load common to all systems.
fn time_figure(found: &[Found]) -> Figure {
    let searched = found.iter().any(|one| one.point.ask == Ask::FindLoad);
    let common = found.iter().filter_map(|one| one.figures).map(|figures| figures.load).fold(0.0, f64::max);
    let is_shown = |figures: &Figures| searched || (figures.load - common).abs() < 1e-9;
    let shown: Vec<_> = found
        .iter()
        .filter_map(|one| Some((one, one.figures.as_ref().filter(|figures| is_shown(figures))?)))
        .map(|(one, figures)| (one.point.name.clone(), figures))
        .collect();
    let is_anywhere = |index: usize| shown.iter().any(|(_, figures)| figures.core_time.shares()[index] > 0.0);
    let piece = |index: usize| Piece {
        look: index,
        name: CoreTime::NAMES[index],
        size: Box::new(move |figures: &Figures| 100.0 * figures.core_time.shares()[index]),
    };
    let at = if searched {
        "at each system's highest load".to_owned()
    } else {
        format!("at a load of {}", load_text(common))
    };
    let stack = Stack {
        unit: Unit::Number,
        title: format!("Core time {at}"),
        axis: "share of core time, %",
        of: "system",
        tick: |percent| format!("{percent:.0}"),
        show: |percent| units::percent(percent / 100.0),
        pieces: (0..CoreTime::NAMES.len()).filter(|&index| is_anywhere(index)).map(piece).collect(),
    };
    stack.figure(&bars(shown.into_iter()), "Service, scheduling overhead and idle time.")
}

fn remarks() -> Vec<String> {
    [
        "A load meets the SLO if the p99 of all RPCs offered is within it. A NACK counts as infinite latency.",
        "Load is the arrival rate times the mean service time, divided by the number of cores, scheduling cores included. Equal loads are equal rates.",
        "All systems get the same arrivals and service times. The costs of their mechanisms come from their papers; a cost that a paper does \
         not state is assumed. The file of each system says which.",
        "Dispatch is the time that cores spend on receiving RPCs, including a protocol in software. Scheduling is the time of cores that serve no RPCs.",
    ]
    .map(str::to_owned)
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::found;

    #[test]
    fn the_shares_of_each_system_fill_its_bar() {
        for ask in [Ask::Measure, Ask::FindLoad] {
            let figure = time_figure(&found(ask));
            assert!(figure.legend.iter().any(|(_, text)| text.ends_with("service")));
            assert!(figure.legend.iter().all(|(_, text)| !text.ends_with("migration")), "nobody migrates here");
            for (row, name) in &figure.chart.y.ticks {
                let dots = figure.chart.lines.iter().flat_map(|line| &line.dots).filter(|dot| dot.y == *row);
                let total: f64 = dots.filter_map(|dot| dot.x_ends).map(|(from, to)| to - from).sum();
                assert!((total - 100.0).abs() < 1e-6, "{name}: {total} %");
            }
        }
    }

    #[test]
    fn the_page_says_what_was_compared() {
        assert!(verdict(&found(Ask::FindLoad)).contains("0.9, lowest jbsq:2 0.5."));
        let page = render(&found(Ask::FindLoad), &[], "16 cores", &["rss: RSS".to_owned()], "made by a test");
        assert!(page.contains("rss: RSS") && page.contains("Core time at each system"));
    }
}
