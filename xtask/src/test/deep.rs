//! The deep steps: loom, fuzzing, Miri, instruction counts.

use std::path::Path;

use super::{Ending, passed};
use crate::shell::{Failure, Shell, run};
use crate::{area, bench, fuzz};

/// Crates with concurrent code; their loom tests are `tests/loom_*.rs`.
const CONCURRENT: &[&str] = &["nebula-sys", "nebula-kvs"];

/// Of each fuzz target: some seconds of the slowest.
const FUZZ_INPUTS: u32 = 5_000;

pub(super) fn loom(shell: &Shell) -> Result<Ending, Failure> {
    let crates: Vec<_> = CONCURRENT.iter().filter(|name| has_loom_tests(shell.root(), name)).collect();
    if crates.is_empty() {
        return Ok(Ending::Skipped(format!("no tests/loom_*.rs in {}", CONCURRENT.join(", "))));
    }
    let packages = crates.iter().flat_map(|name| ["-p", name]);
    let mut test = shell.cargo(&["test", "--test", "loom_*"]);
    test.args(packages).args(OPTIMIZED.iter().flat_map(|name| optimized(name)));
    passed(test.env("CARGO_TARGET_DIR", shell.target().join("loom")).env("RUSTFLAGS", "--cfg loom"))
}

/// Optimized, because loom runs many thousand interleavings with them.
const OPTIMIZED: [&str; 4] = ["loom", "generator", "scoped-tls", "smallvec"];

fn optimized(name: &str) -> [String; 2] {
    ["--config".to_owned(), format!("profile.dev.package.{name}.opt-level=3")]
}

fn has_loom_tests(root: &Path, name: &str) -> bool {
    let entries = area::folder_of(root, name).and_then(|folder| folder.join("tests").read_dir().ok());
    entries.into_iter().flatten().flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("loom_"))
}

pub(super) fn fuzz(shell: &Shell) -> Result<Ending, Failure> {
    if !fuzz::has_cxx(shell) {
        return Ok(Ending::Skipped("libFuzzer is C++ and there is no C++ compiler (apt-get install g++)".into()));
    }
    fuzz::run_fixed(shell, FUZZ_INPUTS)?;
    Ok(Ending::Passed)
}

/// The tests that Miri can run: packages, with a feature, and the modules of unit tests that make
/// no unsupported system call and are fast enough. `nebula-nic` is omitted: it forbids unsafe code
/// and is single-threaded. `zerocopy` reads the line encoding in place.
const MIRI_TESTS: &[(&str, &str, &[&str])] = &[
    ("nebula-sys", "", &["spsc::", "mcs::", "copy::", "prefetch::", "region::"]),
    ("nebula-typed", "", &["message::", "method::", "text::"]),
];

pub(super) fn miri(shell: &Shell) -> Result<Ending, Failure> {
    let Some(cargo) = miri_cargo(shell) else {
        let install = "rustup component add miri rust-src --toolchain nightly";
        return Ok(Ending::Skipped(format!("no toolchain with Miri ({install})")));
    };
    for (package, feature, modules) in MIRI_TESTS {
        let mut command = shell.command(cargo[0]);
        command.args(&cargo[1..]).args(["miri", "test", "--package", package, "--features", feature, "--lib", "--"]);
        command.args(*modules);
        // A region whose leases were not returned leaks its memory on purpose, so that no lease
        // dangles.
        command.env("MIRIFLAGS", "-Zmiri-ignore-leaks").env("CARGO_TARGET_DIR", shell.target().join("miri"));
        run(&mut command)?;
    }
    Ok(Ending::Passed)
}

/// The call of the cargo that has Miri: the toolchain in use, or else nightly.
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
    bench::gate(shell)?;
    Ok(Ending::Passed)
}
