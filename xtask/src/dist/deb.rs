//! The package for Debian and what descends from it, made with `dpkg-deb` alone.

use std::path::Path;

use super::{Release, copy, copy_files, make};
use crate::shell::{Attempt, Failure, Shell, run};

const NAME: &str = "nebula-rpc";
/// Where each shell looks for completions of packages, and our file for it.
const COMPLETIONS: &[(&str, &str)] = &[
    ("nebula", "usr/share/bash-completion/completions"),
    ("_nebula", "usr/share/zsh/vendor-completions"),
    ("nebula.fish", "usr/share/fish/vendor_completions.d"),
];

/// Packs the archive and returns its name.
pub(super) fn pack(shell: &Shell, release: &Release) -> Result<String, Failure> {
    let staging = shell.target().join("staging-deb");
    super::empty(&staging)?;
    stage(shell, release, &staging)?;
    let kib = kib_of(&staging)?;
    make(&staging.join("DEBIAN"))?;
    write(&staging.join("DEBIAN/control"), &control(release.version, kib))?;
    let archive = format!("{NAME}_{}_amd64.deb", release.version);
    let mut pack = shell.command("dpkg-deb");
    pack.args(["--root-owner-group", "--build"]).arg(&staging).arg(release.folder.join(&archive));
    run(pack.env("SOURCE_DATE_EPOCH", &release.epoch))?;
    std::fs::remove_dir_all(&staging).attempt(format!("remove {}", staging.display()))?;
    Ok(archive)
}

/// Lays the files out as they will be installed.
fn stage(shell: &Shell, release: &Release, staging: &Path) -> Result<(), Failure> {
    let folder = |path: &str| staging.join(path);
    make(&folder("usr/bin"))?;
    copy(&release.program, &folder("usr/bin/nebula"))?;
    copy(&release.program.with_file_name("nebula-lab"), &folder("usr/bin/nebula-lab"))?;
    let man = folder("usr/share/man/man1");
    copy_files(&release.folder.join("man"), &man)?;
    let pages = man.read_dir().attempt("list the manual pages")?.flatten().map(|page| page.path());
    run(shell.command("gzip").arg("-n9").args(pages))?;
    for (file, path) in COMPLETIONS {
        make(&folder(path))?;
        copy(&release.folder.join("completions").join(file), &folder(path).join(file))?;
    }
    let documents = folder("usr/share/doc").join(NAME);
    make(&documents)?;
    copy(&shell.root().join("README.md"), &documents.join("README.md"))?;
    copy(&shell.root().join("CHANGELOG.md"), &documents.join("changelog"))?;
    run(shell.command("gzip").arg("-n9").arg(documents.join("changelog")))?;
    write(&documents.join("copyright"), &copyright(shell)?)
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(file, text).attempt(format!("write {}", file.display()))
}

/// What the package manager is told. The program is static: it depends on nothing.
fn control(version: &str, kib: u64) -> String {
    format!(
        "Package: {NAME}\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: The Nebula contributors <nebula-rpc@users.noreply.github.com>\n\
         Installed-Size: {kib}\n\
         Conflicts: nebula\n\
         Section: net\n\
         Priority: optional\n\
         Homepage: {}\n\
         Description: microsecond-scale RPC servers, their load and their simulation\n \
         The program serves a key-value store over RPC that takes microseconds, puts\n \
         load on it, sizes a server for a latency target, and simulates servers and\n \
         published schedulers. Its name is nebula, as is that of a VPN in Debian.\n",
        env!("CARGO_PKG_REPOSITORY")
    )
}

/// The terms, as Debian wants them beside every program: both licenses in full.
fn copyright(shell: &Shell) -> Result<String, Failure> {
    let text = |file| std::fs::read_to_string(shell.root().join(file)).attempt(format!("read {file}"));
    Ok(format!(
        "Nebula is licensed under Apache-2.0 or MIT, at your choice.\n\n{}\n\n{}",
        text("LICENSE-MIT")?,
        text("LICENSE-APACHE")?
    ))
}

/// The size of all files below `folder`, each rounded up to KiB.
fn kib_of(folder: &Path) -> Result<u64, Failure> {
    let mut kib = 0;
    for entry in folder.read_dir().attempt(format!("list {}", folder.display()))?.flatten() {
        let metadata = entry.metadata().attempt(format!("look at {}", entry.path().display()))?;
        kib += if metadata.is_dir() { kib_of(&entry.path())? } else { metadata.len().div_ceil(1024) };
    }
    Ok(kib)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::program;

    #[test]
    fn the_package_is_named_apart_from_the_other_nebula_and_gives_way_to_it() {
        let control = control("1.2.3", 4);
        for line in ["Package: nebula-rpc", "Version: 1.2.3", "Installed-Size: 4", "Conflicts: nebula"] {
            assert!(control.lines().any(|one| one == line), "{line:?} is not in\n{control}");
        }
    }

    #[test]
    fn the_description_continues_on_indented_lines() {
        let control = control("1.2.3", 4);
        let (_, after) = control.split_once("\nDescription: ").expect("a description");
        assert!(after.lines().count() > 2 && after.lines().skip(1).all(|line| line.starts_with(' ')));
    }

    #[test]
    fn every_completion_has_a_place() {
        assert!(program::COMPLETIONS.iter().all(|(_, file)| COMPLETIONS.iter().any(|(ours, _)| ours == file)));
    }
}
