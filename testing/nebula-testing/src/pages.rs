//! Pages of HTML that load nothing.

/// Asserts that the page is all there is: its policy lets a browser load nothing, and it asks for
/// nothing.
///
/// # Panics
///
/// If it does.
#[track_caller]
pub fn assert_loads_nothing(page: &str) {
    assert!(page.contains("content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"));
    for foreign in ["http:", "https:", "<link", "<img", "@import", "url(", "src="] {
        assert!(!page.replace("http-equiv", "").contains(foreign), "{foreign}");
    }
}
