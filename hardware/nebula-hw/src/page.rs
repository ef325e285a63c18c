//! `nebula-hw page`: docs/HARDWARE.md and its pictures are those that hardware/synth/results.json
//! gives.

use std::collections::BTreeMap;

use nebula_shell::{Attempt, Failure, Shell};

use crate::synth;

/// Arguments of `nebula-hw page`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the page and its pictures again.
    #[arg(long)]
    bless: bool,
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let texts = texts(shell);
    let text = |path: &str| texts.get(path).map(String::as_str);
    if args.bless {
        for (path, wanted) in synth::expected(text)? {
            std::fs::write(shell.root().join(path), wanted).attempt(format!("write {path}"))?;
        }
        return Ok(());
    }
    let stale = synth::stale(text)?;
    if !stale.is_empty() {
        let what = format!("{} differ from hardware/synth/results.json: run `cargo hw page --bless`", stale.join(", "));
        return Err(Failure::new(what));
    }
    println!("page: docs/HARDWARE.md and its pictures are those of hardware/synth/results.json");
    Ok(())
}

/// The existing files that the page consists of or is made from.
fn texts(shell: &Shell) -> BTreeMap<&'static str, String> {
    let read = |path| Some((path, std::fs::read_to_string(shell.root().join(path)).ok()?));
    synth::FILES.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_repository_is_that_of_its_results() {
        let shell = Shell::at_root().expect("the root is there");
        run(&shell, &Args { bless: false }).expect("the page is up to date");
    }
}
