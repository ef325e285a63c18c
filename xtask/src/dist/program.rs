//! The static program: builds it, tries it, and prints its manual pages and completions.

use std::path::{Path, PathBuf};

use super::Release;
use crate::shell::{Attempt, Failure, Shell, files, run, stdout_of};

const TARGET: &str = "x86_64-unknown-linux-musl";

/// The shells with completions, and the name of each one's file.
pub(super) const COMPLETIONS: &[(&str, &str)] = &[("bash", "nebula"), ("zsh", "_nebula"), ("fish", "nebula.fish")];

pub(super) fn build(shell: &Shell, profile: &str) -> Result<PathBuf, Failure> {
    if !shell.has_target(TARGET)? {
        return Err(Failure::new(format!("no standard library for {TARGET}; rustup target add {TARGET}")));
    }
    let cargo =
        ["build", "--locked", "--profile", profile, "--target", TARGET, "-p", "nebula-cli", "-p", "nebula-lab-cli"];
    run(&mut shell.cargo(&cargo))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(shell.target().join(TARGET).join(folder).join("nebula"))
}

pub(super) fn check(shell: &Shell, program: &Path) -> Result<(), Failure> {
    // For a program without libraries glibc's ldd ends with 1, and says so on one stream or the
    // other.
    let ldd = shell.command("ldd").arg(program).output().attempt("start ldd")?;
    let said = [ldd.stdout, ldd.stderr].concat();
    if !is_static(&String::from_utf8_lossy(&said)) {
        return Err(Failure::new(format!("{} is not static: {}", program.display(), String::from_utf8_lossy(&said))));
    }
    run(shell.command(program).args(["size", "--cores", "64", "--load", "0.984375", "--rpc-bytes", "1024"]))?;
    stdout_of(shell.command(program).args(["demo", "--help"])).map(drop)
}

fn is_static(said: &str) -> bool {
    ["statically linked", "not a dynamic executable", "not a valid dynamic program"]
        .iter()
        .any(|phrase| said.to_lowercase().contains(phrase))
}

pub(super) fn describe(shell: &Shell, release: &Release) -> Result<(), Failure> {
    let man = release.folder.join("man");
    files::make(&man)?;
    run(shell.command(&release.program).arg("man").arg(&man))?;
    for (name, file) in COMPLETIONS {
        let script = stdout_of(shell.command(&release.program).args(["completions", name]))?;
        files::write(release.folder.join("completions").join(file), script)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_static;

    #[test]
    fn a_program_that_loads_libraries_is_not_static() {
        assert!(!is_static("\tlinux-vdso.so.1\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6\n"));
        assert!(!is_static(""));
    }

    #[test]
    fn each_way_to_say_static_is_known() {
        assert!(is_static("\tstatically linked\n"));
        assert!(is_static("\tnot a dynamic executable\n"));
    }
}
