//! `/`: a page with live charts. Everything is in it, so that it works on a machine without any network but the way to the server.

/// The library that draws: see `assets/uplot/README.md`.
const UPLOT: &str = include_str!("../../assets/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../assets/uplot/uPlot.min.css");

/// The page; it fetches `/status.json` once a second.
pub(super) fn page() -> String {
    include_str!("live.html").replacen("/*uplot-style*/", UPLOT_STYLE, 1).replacen("/*uplot*/", UPLOT, 1).replacen(
        "/*live*/",
        include_str!("live.js"),
        1,
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_has_all_that_it_needs_in_it() {
        let page = super::page();
        assert!(page.contains("var uPlot=") && page.contains("/status.json"));
        assert!(
            !page.contains("/*uplot*/")
                && !page.contains("/*live*/")
                && !page.contains("src=")
                && !page.contains("href=\"http")
        );
    }
}
