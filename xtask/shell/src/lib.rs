//! Runs other programs from the root of the repository, and turns failures into one line: what the
//! chores of every workspace here share.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a chore says which program it runs")]

pub mod files;
mod running;

pub use running::Running;

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a command stopped, in one line.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// A failure that says `what`.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what was attempted when an I/O error or the like ended it.
pub trait Attempt<T> {
    /// The value, or a failure that begins with `what`.
    ///
    /// # Errors
    ///
    /// If `self` is an error.
    fn attempt(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Attempt<T> for Result<T, E> {
    fn attempt(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure(format!("{what}: {error}")))
    }
}

/// The repository as a place to run programs in.
pub struct Shell {
    root: PathBuf,
    target: PathBuf,
}

impl Shell {
    /// Finds the repository's root above the package that `cargo run` runs, or else above this one.
    ///
    /// # Errors
    ///
    /// If the package has been moved out of the repository since it was built.
    pub fn at_root() -> Result<Self, Failure> {
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let is_root = |folder: &&Path| folder.join("xtask/Cargo.toml").is_file();
        let root = package.ancestors().find(is_root);
        let root = root.ok_or_else(|| Failure(format!("{} is not within the repository", package.display())))?;
        let root = root.to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir));
        Ok(Self { root, target })
    }

    /// The folder that programs are run in.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where builds go; a sub-folder for other compiler flags, which would otherwise rebuild
    /// everything each time.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The workspaces of the repository; the extra ones have dependencies that users of Nebula do
    /// not need.
    pub fn manifests(&self) -> impl Iterator<Item = &'static str> {
        let others = ["fuzz/Cargo.toml", "bench/Cargo.toml", "bench/user/Cargo.toml", "hardware/Cargo.toml"];
        let manifests = std::iter::once("Cargo.toml").chain(others);
        manifests.filter(|manifest| self.root.join(manifest).exists())
    }

    /// A program that is run in the root and reads nothing from the terminal.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// Cargo in the root.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let mut command = self.command("cargo");
        command.args(args);
        command
    }

    /// Whether `program args` can be run here at all.
    pub fn has(&self, program: &str, args: &[&str]) -> bool {
        let status = self.command(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// The Python of the virtual environment in `folder`, which is made where it is missing, with
    /// these packages, as pip takes them.
    pub fn python(&self, folder: &Path, packages: &[&str]) -> Result<PathBuf, Failure> {
        let python = folder.join("bin/python");
        if !python.exists() {
            run(self.command("python3").args(["-m", "venv"]).arg(folder))?;
        }
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(self.command(&python).args(pip).args(packages))?;
        Ok(python)
    }

    /// Whether the standard library of a target is installed.
    pub fn has_target(&self, target: &str) -> Result<bool, Failure> {
        let libraries = stdout_of(self.command("rustc").args(["--print", "target-libdir", "--target", target]))?;
        Ok(Path::new(libraries.trim()).exists())
    }

    /// The host's target triple, as `rustc -vV` says it.
    pub fn host(&self) -> Result<String, Failure> {
        let version = stdout_of(self.command("rustc").arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        host.map(str::to_owned).ok_or_else(|| Failure::new("`rustc -vV` names no host"))
    }
}

/// Runs to the end, with its output on ours.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let line = line_of(command);
    println!("$ {line}");
    let status = command.status().attempt(format!("start `{line}`"))?;
    if status.success() { Ok(()) } else { Err(Failure(format!("`{line}` ended with {status}"))) }
}

/// Runs to the end and returns what it wrote on stdout.
pub fn stdout_of(command: &mut Command) -> Result<String, Failure> {
    let line = line_of(command);
    let output = command.stderr(Stdio::inherit()).output().attempt(format!("start `{line}`"))?;
    if !output.status.success() {
        return Err(Failure(format!("`{line}` ended with {}", output.status)));
    }
    String::from_utf8(output.stdout).attempt(format!("read the output of `{line}`"))
}

/// A command as typed in a shell: its variables, the program, the arguments.
pub fn line_of(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let mut words: Vec<String> =
        variables.map(|(name, value)| format!("{}={}", name.display(), quoted(value))).collect();
    words.push(quoted(command.get_program()));
    words.extend(command.get_args().map(quoted));
    words.join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = !word.is_empty() && !word.contains([' ', '*', '"', '$', ';', '&', '|']);
    if is_plain { word.into_owned() } else { format!("'{word}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("cargo");
        command.args(["doc", "--test", "loom_*"]).env("RUSTFLAGS", "--cfg loom");
        assert_eq!(line_of(&command), "RUSTFLAGS='--cfg loom' cargo doc --test 'loom_*'");
    }

    #[test]
    fn a_program_that_fails_is_a_failure_that_names_it() {
        let failure = run(&mut Command::new("false")).expect_err("`false` fails");
        assert!(failure.to_string().starts_with("`false` ended with"), "{failure}");
    }

    #[test]
    fn a_program_that_is_not_there_is_a_failure_and_not_a_panic() {
        assert!(stdout_of(&mut Command::new("no-such-program-here")).is_err());
    }
}
