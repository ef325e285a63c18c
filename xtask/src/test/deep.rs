//! The steps that look deeper than a test run can: loom, fuzzing, Miri, instruction counts.

use std::path::Path;
use std::process::Command;

use super::Ending;
use crate::shell::{Failure, Shell, run};
use crate::{bench, fuzz};

/// Crates with code that several threads run at once; their loom tests are `tests/loom_*.rs`.
const CONCURRENT: &[&str] = &["nebula-sys", "nebula-kvs"];

/// Long enough to try some hundred thousand inputs a target, short enough for every commit.
const FUZZ_SECONDS: u32 = 6;

pub(super) fn loom(shell: &Shell) -> Result<Ending, Failure> {
    let crates: Vec<_> = CONCURRENT.iter().filter(|name| has_loom_tests(shell.root(), name)).collect();
    if crates.is_empty() {
        return Ok(Ending::Skipped(format!("no tests/loom_*.rs in {}", CONCURRENT.join(", "))));
    }
    for name in crates {
        run(loom_build(&mut shell.cargo(&["test", "--release", "-p", name, "--test", "loom_*"]), shell))?;
    }
    Ok(Ending::Passed)
}

/// Optimised, since loom runs many thousand interleavings, but without the long link that only benchmarks need.
fn loom_build<'a>(command: &'a mut Command, shell: &Shell) -> &'a mut Command {
    command
        .env("CARGO_TARGET_DIR", shell.target().join("loom"))
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("RUSTFLAGS", "--cfg loom")
}

fn has_loom_tests(root: &Path, name: &str) -> bool {
    let Ok(entries) = root.join("crates").join(name).join("tests").read_dir() else { return false };
    entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("loom_"))
}

pub(super) fn fuzz(shell: &Shell) -> Result<Ending, Failure> {
    if !fuzz::has_cxx(shell) {
        return Ok(Ending::Skipped("libFuzzer is C++ and there is no C++ compiler (apt-get install g++)".into()));
    }
    fuzz::run_all(shell, FUZZ_SECONDS)?;
    Ok(Ending::Passed)
}

pub(super) fn miri(shell: &Shell) -> Result<Ending, Failure> {
    let Some(cargo) = miri_cargo(shell) else {
        return Ok(Ending::Skipped(
            "no toolchain with Miri (rustup component add miri rust-src --toolchain nightly)".into(),
        ));
    };
    for package in MIRI_PACKAGES {
        let mut command = shell.command(cargo[0]);
        command.args(&cargo[1..]).args(["miri", "test", "--package", package, "--lib"]);
        run(command.env("CARGO_TARGET_DIR", shell.target().join("miri")))?;
    }
    Ok(Ending::Passed)
}

/// Packages whose unit tests Miri can run: no system calls that it does not know.
const MIRI_PACKAGES: &[&str] = &["nebula-nic", "nebula-sys", "nebula-kvs"];

/// How to call the cargo that has Miri: the toolchain in use, or else nightly.
fn miri_cargo(shell: &Shell) -> Option<&'static [&'static str]> {
    const HERE: &[&str] = &["cargo"];
    const NIGHTLY: &[&str] = &["rustup", "run", "nightly", "cargo"];
    let has = |cargo: &&&[&str]| shell.has(cargo[0], &[&cargo[1..], &["miri", "--version"]].concat());
    [HERE, NIGHTLY].iter().find(has).copied()
}

pub(super) fn instructions(shell: &Shell) -> Result<Ending, Failure> {
    if !shell.has("valgrind", &["--version"]) {
        return Ok(Ending::Skipped("no valgrind to count instructions with (apt-get install valgrind)".into()));
    }
    bench::instructions::gate(shell)?;
    Ok(Ending::Passed)
}
