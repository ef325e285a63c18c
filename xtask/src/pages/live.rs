//! The live page of `--metrics`, of a server under load: every chart is drawn, and fits the window.

use std::process::Stdio;

use super::each_view;
use crate::bench::browser::Browser;
use crate::shell::{Failure, Running, Shell};

/// Of a server without a store.
const CHARTS: usize = 8;

pub(super) fn run(shell: &Shell, browser: &Browser) -> Result<(), Failure> {
    let endpoint = format!("shm://pages-{}", std::process::id());
    let (_server, address) = served(shell, &endpoint)?;
    let _load = loaded(shell, &endpoint)?;
    each_view("live page", |width, is_dark| {
        let dumped = browser.dump(shell, &address, (width, 8_000), is_dark)?;
        let head = dumped.lines().take(3).collect::<Vec<_>>().join(" ");
        Ok((judged(&dumped, is_dark), head))
    })?;
    println!("live: {CHARTS} charts drawn, at 1200 and 390 px, light and dark");
    Ok(())
}

fn served(shell: &Shell, endpoint: &str) -> Result<(Running, String), Failure> {
    let mut serve = shell.command(shell.target().join("debug/nebula"));
    serve.args(["serve", "echo", "--inline", "--end-with-parent", "--metrics", "127.0.0.1:0", "--endpoint", endpoint]);
    let server = Running::start(serve.stdout(Stdio::null()).stderr(Stdio::piped()))?;
    let address = server.says("status at ")?;
    Ok((server, address))
}

fn loaded(shell: &Shell, endpoint: &str) -> Result<Running, Failure> {
    let mut load = shell.command(shell.target().join("debug/nebula"));
    load.args(["load", "echo", "--rate", "5k", "--duration", "300s", "--endpoint", endpoint]);
    Running::start(load.stdout(Stdio::null()).stderr(Stdio::null()))
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
