//! The live page of `--metrics`, of a server under load: every chart is drawn, and fits the window.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::bench::browser::Browser;
use crate::shell::{Attempt, Failure, Shell};

/// Charts of a server without a store.
const CHARTS: usize = 8;

/// Ends a process when it is dropped.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn run(shell: &Shell, browser: &Browser) -> Result<(), Failure> {
    let endpoint = format!("shm://pages-{}", std::process::id());
    let (server, address) = served(shell, &endpoint)?;
    let load = loaded(shell, &endpoint)?;
    for width in [1200, 390] {
        for is_dark in [false, true] {
            let dumped = browser.dump(shell, &address, (width, 8_000), is_dark)?;
            judged(&dumped, is_dark).map_err(|what| {
                let head = dumped.lines().take(3).collect::<Vec<_>>().join(" ");
                Failure::new(format!("live page at {width} px, dark {is_dark}: {what}: {head:.300}"))
            })?;
        }
    }
    drop((load, server));
    println!("live: {CHARTS} charts drawn, at 1200 and 390 px, light and dark");
    Ok(())
}

/// An echo with its page, and where that is.
fn served(shell: &Shell, endpoint: &str) -> Result<(Ends, String), Failure> {
    let mut server = shell.command(shell.target().join("debug/nebula"));
    server.args(["serve", "echo", "--inline", "--end-with-parent", "--metrics", "127.0.0.1:0", "--endpoint", endpoint]);
    let child = server.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().attempt("serve an echo")?;
    let mut server = Ends(child);
    let said = server.0.stderr.take().ok_or_else(|| Failure::new("the server has no standard error"))?;
    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
    let address = lines.find_map(|line| line.split_once("status at ").map(|(_, address)| address.to_owned()));
    // Read on, so that the server never waits for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    Ok((server, address.ok_or_else(|| Failure::new("the server does not say where its page is"))?))
}

fn loaded(shell: &Shell, endpoint: &str) -> Result<Ends, Failure> {
    let mut load = shell.command(shell.target().join("debug/nebula"));
    load.args(["load", "echo", "--rate", "5k", "--duration", "300s", "--endpoint", endpoint]);
    Ok(Ends(load.stdout(Stdio::null()).stderr(Stdio::null()).spawn().attempt("load the echo")?))
}

fn judged(dumped: &str, is_dark: bool) -> Result<(), &'static str> {
    let said = |name: &str| dumped.split(&format!("data-{name}=\"")).nth(1)?.split('"').next();
    match () {
        () if !dumped.contains("id=\"state\" class=\"serving\"") => Err("the server is not shown as serving"),
        () if said("charts").and_then(|charts| charts.parse().ok()) != Some(CHARTS) => Err("not every chart is drawn"),
        () if said("wide") != Some("0") => Err("the page or a chart is wider than its room"),
        () if said("paper").is_none_or(|paper| paper.starts_with("rgb(254") == is_dark) => {
            Err("the paper has the other mode's color")
        }
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_on_the_live_page_is_told() {
        let page = |charts: usize, wide: u32, paper: &str| {
            format!(
                "<html data-charts=\"{charts}\" data-wide=\"{wide}\" data-paper=\"{paper}\"><b id=\"state\" class=\"serving\">"
            )
        };
        let light = "rgb(254, 254, 254)";
        assert_eq!(judged(&page(CHARTS, 0, light), false), Ok(()));
        assert_eq!(judged(&page(CHARTS, 0, light), true), Err("the paper has the other mode's color"));
        assert_eq!(judged(&page(3, 0, light), false), Err("not every chart is drawn"));
        assert_eq!(judged(&page(CHARTS, 7, light), false), Err("the page or a chart is wider than its room"));
        assert_eq!(judged("", false), Err("the server is not shown as serving"));
    }
}
