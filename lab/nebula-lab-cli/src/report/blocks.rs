//! The page of the block level, for each design: tail latency and DRAM bandwidth over the rate, and
//! breakdowns of time and traffic.

mod curve;
mod series;
mod stack;

use series::{Series, series};

use super::page::{Figure, Page};
use super::table;
use nebula_sim::study::blocks::{Findings, Found, breakdown};
use nebula_ui::output::{Row, units};

/// `rows` are those of the table on the terminal.
pub(crate) fn render(findings: &Findings, rows: &[Row], footer: &str) -> String {
    let caption = "± is half the 95 % confidence interval, relative to the figure. NACKed: share of all RPCs. \
        Service: from the start on a core until the buffer is free. Queued at core: dispatched to a core that was serving another RPC.";
    let page = Page::new("Nebula's laboratory: the whole server", &verdict(findings), &setting(findings))
        .charts(&figures(findings))
        .table(&table(caption, rows))
        .data(rows);
    let parts = [
        ("Time breakdown", breakdown::TIME, breakdown::time_rows(findings)),
        ("Traffic breakdown", breakdown::TRAFFIC, breakdown::traffic_rows(findings)),
    ];
    let with_part = |page: Page, (heading, caption, rows): (&str, &str, Vec<Row>)| {
        if rows.is_empty() { page } else { page.heading(heading).table(&table(caption, &rows)) }
    };
    parts.into_iter().fold(page, with_part).remarks("How to read this", &remarks()).finish(footer)
}

/// For `--plot`: the time by stage with `--breakdown`, otherwise the tail.
pub(crate) fn plot(findings: &Findings, is_breakdown: bool) -> Figure {
    match (is_breakdown, findings.setting.searches) {
        (true, _) => stack::time_figure(findings),
        (false, true) => curve::rate_at_slo_figure(findings),
        (false, false) => curve::tail_figure(findings),
    }
}

fn figures(findings: &Findings) -> Vec<Figure> {
    let mut figures = match findings.setting.searches {
        true => vec![curve::rate_at_slo_figure(findings), curve::bandwidth_at_slo_figure(findings)],
        false => vec![curve::tail_figure(findings), curve::bandwidth_figure(findings)],
    };
    if findings.shown().next().is_some() {
        figures.push(stack::time_figure(findings));
        figures.extend(stack::own_time_figure(findings));
        figures.extend([stack::cause_figure(findings), stack::part_figure(findings)]);
    }
    figures
}

fn verdict(findings: &Findings) -> String {
    let slo = units::span(findings.setting.slo);
    if findings.setting.searches {
        let up_to = |found: &Found| match found.at_slo {
            Some(at) => format!("{} up to {}", found.design, at.rate_in_words()),
            None => format!("{} at no rate", found.design),
        };
        let all: Vec<String> = findings.found.iter().map(up_to).collect();
        return format!("In RPC/s, p99 stays within {slo} under {}.", all.join(", "));
    }
    let highest = |series: &Series<'_>| {
        let met =
            series.points.iter().filter(|found| found.figures.as_ref().is_some_and(|figures| figures.outcome.meets()));
        let rate = met.filter_map(|found| found.rate_rps).reduce(f64::max);
        rate.map_or(format!("{} at none", series.name), |rate| format!("{} up to {}", series.name, units::rate(rate)))
    };
    let all: Vec<String> = series(findings).iter().map(highest).collect();
    format!("Of the rates tried, in RPC/s, p99 stays within {slo} under {}.", all.join(", "))
}

fn setting(findings: &Findings) -> String {
    let setting = &findings.setting;
    let store = setting
        .store
        .map_or(String::new(), |(share, bytes)| format!(" ({} GET, values of {bytes} bytes)", units::percent(share)));
    let hog = match setting.hog_gb_per_s {
        0.0 => String::new(),
        hog => format!(", with another program that moves {hog} GB/s"),
    };
    format!(
        "{} on {}: {} cores, {} of LLC, {:.0} GB/s of DRAM, {:.0} Gbps{hog}; {} arrivals; {} replications of {} RPCs, seed {}. \
         All figures are simulated and do not depend on this machine.",
        setting.application.clone() + &store,
        setting.machine.name,
        setting.machine.memory.cores,
        units::bytes(setting.machine.memory.llc.bytes),
        setting.machine.memory.peak_gb_per_s(),
        setting.machine.nic.link_gbps,
        setting.arrivals,
        setting.effort.replications,
        units::rate(setting.effort.rpcs as f64),
        setting.effort.seed.0,
    )
}

fn remarks() -> Vec<String> {
    [
        "Latency is measured from the receipt of an RPC's first packet until its buffer is free. A rate meets the SLO if the p99 of all RPCs is \
         within it. A NACK counts as infinite latency.",
        "Each 64-byte block that an RPC touches goes through simulated caches, mesh and DRAM. Whether buffers stay in the cache is a result \
         of the simulation, not an assumption.",
        "Confidence intervals come from independent replications. All designs get the same arrivals and keys.",
        "A fetch reads a block from DRAM for the NIC or for a core. A write-back is the eviction of a block that the NIC or a core wrote \
         last. Past saturation the queue and the latencies grow with the length of the run.",
    ]
    .map(str::to_owned)
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::findings;

    #[test]
    fn the_page_needs_nothing_else_and_every_element_is_closed() {
        for searches in [false, true] {
            let page = render(&findings(searches), &[], "made by a test");
            assert_eq!(page.matches("class=\"chart\"").count(), if searches { 5 } else { 6 });
            assert!(!page.contains("<rss>") && page.contains("&lt;rss&gt;"));
            nebula_testing::pages::assert_loads_nothing(&page);
            for name in ["svg", "figure", "text", "li", "table"] {
                let opened = page.matches(&format!("<{name}>")).count() + page.matches(&format!("<{name} ")).count();
                assert_eq!(opened, page.matches(&format!("</{name}>")).count(), "{name}");
            }
        }
    }

    #[test]
    fn a_page_of_designs_that_keep_the_slo_at_no_rate_is_still_a_page() {
        let mut findings = findings(true);
        for found in &mut findings.found {
            (found.rate_rps, found.at_slo, found.figures) = (None, None, None);
        }
        let page = render(&findings, &[], "");
        assert!(page.contains("nebula at no rate") && page.ends_with("</html>\n"));
    }

    #[test]
    fn a_design_asked_for_twice_is_drawn_twice() {
        let mut findings = findings(false);
        findings.found.iter_mut().for_each(|found| found.design = "nebula".to_owned());
        assert_eq!(series(&findings).iter().map(|series| series.points.len()).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn the_verdict_names_the_highest_rate_that_was_met() {
        let said = verdict(&findings(false));
        assert_eq!(
            said,
            "Of the rates tried, in RPC/s, p99 stays within 6.3 µs under <rss> up to 5M, nebula up to 20M."
        );
    }
}
