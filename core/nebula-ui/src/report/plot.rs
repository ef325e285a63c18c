//! A single chart as an SVG file, drawn by a browser from the specification that a page has.

use std::path::Path;
use std::process::{Command, Stdio};

use super::chart::{PALETTE, PAPER, hex};
use super::markup::escape;
use super::page::{Figure, Page};
use crate::output::Failure;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// The window's width is the chart's.
const WINDOW: &str = "--window-size=640,800";

/// Checks that `path` names an SVG file and that there is a browser to draw it.
///
/// # Errors
///
/// Invalid input: another file extension, or none; or there is no browser.
pub fn check_plot(path: &Path) -> Result<(), Failure> {
    if path.extension().is_none_or(|ending| ending != "svg") {
        let name = path.display();
        return Err(Failure::bad_input(format!(
            "--plot: give a file that ends in .svg, not {name}; convert it to PNG with rsvg-convert"
        )));
    }
    browser().map(drop)
}

fn browser() -> Result<&'static str, Failure> {
    let is_there = |name: &&str| {
        let mut asked = Command::new(name);
        asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    BROWSERS.into_iter().find(is_there).ok_or_else(|| {
        Failure::bad_input(
            "--plot: Chromium draws the picture and is not installed (apt-get install chromium); \
             a page of --report draws it in any browser, and its charts save SVG",
        )
    })
}

/// The figure as a standalone document, with colors for light and dark mode.
///
/// # Errors
///
/// The browser cannot be started, or has drawn nothing.
pub fn to_svg(figure: &Figure) -> Result<String, Failure> {
    let browser = browser()?;
    let page = Page::new("", "", "").charts(std::slice::from_ref(figure)).finish("");
    let folder = std::env::temp_dir().join(format!("nebula-plot-{}", std::process::id()));
    let file = folder.join("page.html");
    let failed = |error: std::io::Error| Failure::fault(format!("--plot: cannot draw with {browser}: {error}"));
    std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, page)).map_err(failed)?;
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom", WINDOW]);
    command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
    let dumped = command.arg(format!("file://{}", file.display())).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let _ = std::fs::remove_dir_all(&folder); // what is left of it is in the folder for temporary files
    let dumped = dumped.map_err(failed)?;
    let drawn = drawn(&String::from_utf8_lossy(&dumped.stdout)).map(|svg| document(figure, svg));
    drawn.ok_or_else(|| Failure::fault(format!("--plot: {browser} has drawn no chart")))
}

fn drawn(page: &str) -> Option<&str> {
    let from = page.find("<svg class=\"marks\"").or_else(|| page.find("<svg"))?;
    let length = page[from..].find("</svg>")? + "</svg>".len();
    Some(&page[from..from + length])
}

fn document(figure: &Figure, svg: &str) -> String {
    let (opening, content) = svg.split_once('>').unwrap_or((svg, ""));
    let opening = if opening.contains("xmlns=") {
        opening.to_owned()
    } else {
        opening.replacen("<svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"", 1)
    };
    let dark: String = PALETTE
        .iter()
        .map(|&(_, light, dark)| {
            let (light, dark) = (hex(light), hex(dark));
            format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}")
        })
        .collect();
    format!(
        "{opening}>\n<title>{}</title>\n<desc>{}</desc>\n<style>@media (prefers-color-scheme:dark){{{dark}}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{}\"/>\n{content}\n",
        escape(&figure.chart.title),
        escape(&figure.chart.description),
        hex(PAPER),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_is_taken_out_of_the_page() {
        let page = "<html><svg class=\"icon\"></svg><svg class=\"marks\" width=\"9\"><path/></svg></html>";
        assert_eq!(drawn(page), Some("<svg class=\"marks\" width=\"9\"><path/></svg>"));
        assert_eq!(drawn("<html><p>words</p></html>"), None);
    }
}
