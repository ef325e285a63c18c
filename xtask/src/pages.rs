//! `cargo xtask pages`: opens reports in headless Chromium, wide and narrow, light and dark, points
//! at a mark of each chart and exports it. Also opens the [live page](live) of a server under load.

mod live;

use std::path::{Path, PathBuf};

use crate::bench::browser::Browser;
use crate::shell::{Failure, Shell, files, run as run_command, stdout_of};

const PROBE: &str = include_str!("pages/probe.js");

/// A report of each kind, with its number of charts.
const REPORTS: [(&str, usize, &str); 3] = [
    ("simulate", 3, "simulate --policy rss,jbsq:2 --cores 8 --load 0.5,0.8,1.1 --queue-bound 50 --rpcs 5k"),
    // Far from saturation: a page has another chart if the highest rate of a design is unsettled.
    ("machine", 5, "simulate --machine isca20 --design rpcvalet,nebula --rate 3,6MRPS --rpcs 2k --replications 2"),
    ("compare", 3, "compare --system zygos,nebula --load 0.3,0.6 --rpcs 5k"),
];

const BYTES_MAX: u64 = 1_000_000;

pub(crate) fn run(shell: &Shell) -> Result<(), Failure> {
    let Some(browser) = Browser::find(shell) else {
        println!("xtask: no Chromium: apt-get install chromium");
        return Ok(());
    };
    run_command(&mut shell.cargo(&["build", "-q", "-p", "nebula-cli", "-p", "nebula-lab-cli"]))?;
    let folder = shell.target().join("pages");
    files::make(&folder)?;
    for (name, charts, words) in REPORTS {
        let page = made(shell, &folder, name, words)?;
        each_view(name, |width, is_dark| {
            let found = probed(shell, &browser, &page, width, is_dark)?;
            Ok((judged(&found, charts, is_dark), found))
        })?;
        println!("{name}: {charts} charts drawn, pointed at and exported, at 1200 and 390 px, light and dark");
    }
    plotted(shell, &folder)?;
    live::run(shell, &browser)
}

/// Calls `look` for a page in wide and narrow windows, light and dark; it returns a verdict and its
/// findings.
fn each_view(
    page: &str,
    look: impl Fn(u32, bool) -> Result<(Result<(), &'static str>, String), Failure>,
) -> Result<(), Failure> {
    for (width, is_dark) in [(1200, false), (1200, true), (390, false), (390, true)] {
        let (judged, found) = look(width, is_dark)?;
        let mode = if is_dark { "dark" } else { "light" };
        judged.map_err(|what| Failure::new(format!("{page} at {width} px, {mode}: {what}: {found}")))?;
    }
    Ok(())
}

/// `--plot` draws the first chart of a page as a file that needs nothing else.
fn plotted(shell: &Shell, folder: &Path) -> Result<(), Failure> {
    let file = folder.join("plot.svg");
    let mut nebula = shell.command(shell.target().join("debug/nebula"));
    stdout_of(nebula.args(REPORTS[0].2.split(' ')).arg("--plot").arg(&file))?;
    let svg = files::read(&file)?;
    let has = |text: &str| svg.contains(text);
    let foreign = svg.replace("http://www.w3.org/", "");
    match () {
        () if !(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>")) => Err(Failure::new("plot: no SVG")),
        () if !(has("jbsq:2") && has("SLO ") && has("<desc>")) => {
            Err(Failure::new("plot: a line or the bound has no name"))
        }
        () if foreign.contains("http:") || foreign.contains("https:") => Err(Failure::new("plot: it loads something")),
        () => {
            println!("plot: drawn by the browser, {} bytes", svg.len());
            Ok(())
        }
    }
}

/// A report with the probe in it.
fn made(shell: &Shell, folder: &Path, name: &str, words: &str) -> Result<PathBuf, Failure> {
    let page = folder.join(format!("{name}.html"));
    let mut nebula = shell.command(shell.target().join("debug/nebula"));
    stdout_of(nebula.args(words.split(' ')).arg("--report").arg(&page))?;
    let text = files::read(&page)?;
    if text.len() as u64 > BYTES_MAX {
        return Err(Failure::new(format!("{name}: {} bytes, more than {BYTES_MAX}", text.len())));
    }
    let probed = folder.join(format!("{name}-probed.html"));
    let text = text.replace("</body>", &format!("<script>{PROBE}</script>\n</body>"));
    files::write(&probed, text)?;
    Ok(probed)
}

fn probed(shell: &Shell, browser: &Browser, page: &Path, width: u32, is_dark: bool) -> Result<String, Failure> {
    let dumped = browser.dump(shell, &format!("file://{}", page.display()), (width, 60_000), is_dark)?;
    let found = dumped.split("<pre id=\"found\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    found.map(str::to_owned).ok_or_else(|| Failure::new(format!("{}: the probe did not end", page.display())))
}

fn judged(found: &str, charts: usize, is_dark: bool) -> Result<(), &'static str> {
    let number = |name: &str| {
        let rest = found.split(&format!("\"{name}\":")).nth(1)?;
        rest.split([',', '}']).next()?.parse::<i64>().ok()
    };
    let is = |name: &str, wanted: usize| number(name) == i64::try_from(wanted).ok();
    let paper = found.split("\"paper\":\"").nth(1).unwrap_or_default();
    match () {
        () if !is("charts", charts) => Err("another number of charts"),
        () if !is("drawn", charts) => Err("a chart is not drawn"),
        () if !is("tips", charts) => Err("a mark says nothing under the pointer"),
        () if !is("svg", charts) || !is("png", charts) => Err("a chart cannot be exported"),
        () if number("wide").is_none_or(|pixels| pixels > 0) => Err("the page is wider than the window"),
        () if paper.starts_with("rgb(254") == is_dark => Err("the paper has the other mode's color"),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told() {
        let found = |tips: u32, wide: i32, paper: &str| {
            format!(
                "{{\"charts\":3,\"drawn\":3,\"tips\":{tips},\"svg\":3,\"png\":3,\"wide\":{wide},\"paper\":\"{paper}\"}}"
            )
        };
        let light = "rgb(254, 254, 254)";
        assert_eq!(judged(&found(3, 0, light), 3, false), Ok(()));
        assert_eq!(judged(&found(2, 0, light), 3, false), Err("a mark says nothing under the pointer"));
        assert_eq!(judged(&found(3, 40, light), 3, false), Err("the page is wider than the window"));
        assert_eq!(judged(&found(3, 0, light), 3, true), Err("the paper has the other mode's color"));
        assert_eq!(judged(&found(3, 0, light), 4, false), Err("another number of charts"));
    }
}
