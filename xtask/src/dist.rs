//! `cargo xtask dist`: the files of a release, from one static program.
//!
//! | file in `target/distrib` | what it is |
//! |---|---|
//! | `nebula-VERSION-x86_64-linux-musl.tar.gz` | the program, its manual pages, its completions |
//! | `nebula-rpc_VERSION_amd64.deb` | the same; Debian has another program in a package named `nebula` |
//! | `man`, `completions` | as the program prints them |
//! | `SHA256SUMS` | of the two archives |
//!
//! The program is linked statically with musl, so that it runs on any x86-64 Linux; no dependency
//! has C code. The archives have the time of the last commit, so that the same source gives the
//! same files.

mod deb;
mod program;
mod tar;

use std::path::{Path, PathBuf};

use crate::shell::{Failure, Shell, files, run as run_command, stdout_of};

/// What `cargo xtask dist` can be told.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The cargo profile to build with; `dev` for a quick try.
    #[arg(long, default_value = "dist")]
    profile: String,
}

struct Release {
    /// Of the program's package.
    version: &'static str,
    program: PathBuf,
    /// For everything.
    folder: PathBuf,
    /// The time of the last commit, in seconds since 1970.
    epoch: String,
}

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    for (tool, package) in [("tar", "tar"), ("gzip", "gzip"), ("sha256sum", "coreutils"), ("dpkg-deb", "dpkg")] {
        if !shell.has(tool, &["--version"]) {
            return Err(Failure::new(format!("no {tool}; install it (Debian, Ubuntu: apt-get install {package})")));
        }
    }
    let program = program::build(shell, &args.profile)?;
    program::check(shell, &program)?;
    let folder = shell.target().join("distrib");
    files::empty(&folder)?;
    let epoch = stdout_of(shell.command("git").args(["log", "-1", "--format=%ct"]))?.trim().to_owned();
    let release = Release { version: env!("CARGO_PKG_VERSION"), program, folder, epoch };
    program::describe(shell, &release)?;
    let archives = [tar::pack(shell, &release)?, deb::pack(shell, &release)?];
    checksums(shell, &release, &archives)?;
    println!("\nin {}:", release.folder.display());
    archives.iter().for_each(|archive| println!("  {archive}"));
    println!("  man/ completions/ SHA256SUMS");
    Ok(())
}

/// Writes the sums of `archives`, which are names in the release's folder, and checks them as a
/// user would.
fn checksums(shell: &Shell, release: &Release, archives: &[String]) -> Result<(), Failure> {
    let sums = stdout_of(shell.command("sha256sum").args(archives).current_dir(&release.folder))?;
    files::write(release.folder.join("SHA256SUMS"), sums)?;
    run_command(shell.command("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&release.folder))
}

/// Lays files out below `within` as in an archive, packs it, and removes them again. `layout` has
/// each file or folder and its destination.
fn packed<const N: usize>(
    staging: &Path,
    within: &str,
    layout: [(PathBuf, &str); N],
    pack: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    files::empty(staging)?;
    layout.iter().try_for_each(|(from, to)| files::copy(from, staging.join(within).join(to)))?;
    pack()?;
    files::remove(staging)
}
