//! The steps for what others install: packages for a registry, and targets without Linux's system
//! calls.

mod included;

use std::collections::BTreeSet;
use std::path::Path;

use super::{Ending, metadata, passed};
use crate::area;
use crate::shell::{Failure, Shell, files, run, stdout_of};

/// The files of every package in addition to its code.
const ALWAYS: &[&str] = &["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Makes every publishable package, without building it again, and compares its list of files with
/// the inclusions of its code.
pub(super) fn package(shell: &Shell) -> Result<Ending, Failure> {
    let names = published(shell)?;
    let mut make = shell.cargo(&["package", "--no-verify", "--allow-dirty", "--quiet"]);
    run(make.args(names.iter().flat_map(|name| ["-p", name])))?;
    let mut missing = Vec::new();
    for name in names {
        let files = files_of(shell, &name)?;
        let folder = area::folder_of(shell.root(), &name).ok_or_else(|| Failure::new(format!("no area has {name}")))?;
        let found = missing_of(shell, &folder, &files)?;
        println!("{name}: {} files, {} missing", files.len(), found.len());
        missing.extend(found.into_iter().map(|what| format!("{name}: {what}")));
    }
    if missing.is_empty() { Ok(Ending::Passed) } else { Err(Failure::new(missing.join("; "))) }
}

fn published(shell: &Shell) -> Result<Vec<String>, Failure> {
    let packages = metadata::packages(shell, &["--no-deps"])?.into_iter();
    let published = packages.filter(|package| package.publish.as_ref().is_none_or(|registries| !registries.is_empty()));
    Ok(published.map(|package| package.name).collect())
}

/// Relative to the package's folder.
fn files_of(shell: &Shell, name: &str) -> Result<BTreeSet<String>, Failure> {
    let list = stdout_of(&mut shell.cargo(&["package", "--list", "--allow-dirty", "--quiet", "-p", name]))?;
    Ok(list.lines().map(str::to_owned).collect())
}

/// The files that a package lacks although its folder or its code has them.
fn missing_of(shell: &Shell, folder: &Path, files: &BTreeSet<String>) -> Result<Vec<String>, Failure> {
    let absent = ALWAYS.iter().filter(|&&file| !files.contains(file));
    let mut missing: Vec<_> = absent.map(|file| format!("{file} is not in the package")).collect();
    let list = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let all = stdout_of(shell.command("git").args(list).current_dir(folder))?.lines().map(str::to_owned).collect();
    for file in files.iter().filter(|file| file.ends_with(".rs")) {
        let code = files::read(folder.join(file))?;
        missing.extend(included::missing(file, &code, files, &all));
    }
    Ok(missing)
}

/// Without any system calls.
const BARE: &str = "wasm32-unknown-unknown";
/// Everything that simulates, and nothing that serves.
const LABORATORY: &[&str] =
    &["nebula-nic", "nebula-requester", "nebula-memsys", "nebula-workload", "nebula-ui", "nebula-sim"];

/// Checks that the laboratory compiles for a target without system calls; its tests run on the
/// host.
pub(super) fn wasm(shell: &Shell) -> Result<Ending, Failure> {
    if !shell.has_target(BARE)? {
        return Ok(Ending::Skipped(format!("the target is not installed (rustup target add {BARE})")));
    }
    let packages = LABORATORY.iter().flat_map(|name| ["-p", name]);
    passed(shell.cargo(&["check", "--no-default-features", "--target", BARE]).args(packages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_its_licenses_is_found() {
        let shell = Shell::at_root().expect("the repository");
        let folder = shell.root().join("xtask");
        let files = ["README.md", "LICENSE-MIT"].map(str::to_owned).into();
        assert_eq!(
            missing_of(&shell, &folder, &files).expect("no code to read"),
            ["LICENSE-APACHE is not in the package"]
        );
    }

    #[test]
    fn what_the_code_of_a_package_includes_is_looked_for() {
        let shell = Shell::at_root().expect("the repository");
        let folder = shell.root().join("lab/nebula-sim");
        let files = ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/reproduce/paper.rs"].map(str::to_owned).into();
        let missing = missing_of(&shell, &folder, &files).expect("its code can be read");
        assert!(missing.iter().any(|what| what.contains("includes data/papers")), "{missing:?}");
    }

    #[test]
    fn all_crates_are_published_and_no_chore_is() {
        let published = published(&Shell::at_root().expect("the repository")).expect("cargo knows its packages");
        assert!(published.iter().any(|name| name == "nebula-cli") && published.len() >= 8, "{published:?}");
        assert!(published.iter().all(|name| name != "xtask"));
    }
}
