//! `/`: a page with live charts, complete in itself: the reader's machine may have no network
//! beyond the server.

use nebula_ui::report::page::library;

/// The page fetches `/status.json` once a second.
pub(super) fn page() -> String {
    include_str!("live.html").replacen("<!--library-->", &library(), 1).replacen("/*live*/", include_str!("live.js"), 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_has_all_that_it_needs_in_it() {
        let page = super::page();
        assert!(page.contains("id=\"library\"") && page.contains("/status.json"));
        assert!(
            !page.contains("<!--library-->")
                && !page.contains("/*live*/")
                && !page.contains("src=")
                && !page.contains("href=\"http")
        );
    }
}
