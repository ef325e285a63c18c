//! The package for Debian and its descendants, made with `dpkg-deb` alone.

use std::path::Path;

use super::{Release, packed};
use crate::shell::{Attempt, Failure, Shell, files, run};

const NAME: &str = "nebula-rpc";
const MAN: &str = "usr/share/man/man1";
const DOCUMENTS: &str = "usr/share/doc/nebula-rpc";
/// Our file for each shell, and the shell's folder for completions of packages.
const COMPLETIONS: [(&str, &str); 3] = [
    ("nebula", "usr/share/bash-completion/completions/nebula"),
    ("_nebula", "usr/share/zsh/vendor-completions/_nebula"),
    ("nebula.fish", "usr/share/fish/vendor_completions.d/nebula.fish"),
];

pub(super) fn pack(shell: &Shell, release: &Release) -> Result<String, Failure> {
    let archive = format!("{NAME}_{}_amd64.deb", release.version);
    let staging = shell.target().join("staging-deb");
    let [bash, zsh, fish] = COMPLETIONS.map(|(file, to)| (release.folder.join("completions").join(file), to));
    let layout = [
        (release.program.clone(), "usr/bin/nebula"),
        (release.program.with_file_name("nebula-lab"), "usr/bin/nebula-lab"),
        (release.folder.join("man"), MAN),
        (shell.root().join("README.md"), "usr/share/doc/nebula-rpc/README.md"),
        (shell.root().join("CHANGELOG.md"), "usr/share/doc/nebula-rpc/changelog"),
        bash,
        zsh,
        fish,
    ];
    packed(&staging, "", layout, || {
        let documents = staging.join(DOCUMENTS);
        files::write(documents.join("copyright"), copyright(shell)?)?;
        let pages = files::list(staging.join(MAN))?;
        run(shell.command("gzip").arg("-n9").args(pages).arg(documents.join("changelog")))?;
        files::write(staging.join("DEBIAN/control"), control(release.version, kib_of(&staging)?))?;
        let mut pack = shell.command("dpkg-deb");
        pack.args(["--root-owner-group", "--build"]).arg(&staging).arg(release.folder.join(&archive));
        run(pack.env("SOURCE_DATE_EPOCH", &release.epoch))
    })?;
    Ok(archive)
}

/// For the package manager. The static program depends on no package.
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

/// Debian wants both licenses in full next to every program.
fn copyright(shell: &Shell) -> Result<String, Failure> {
    let [mit, apache] = ["LICENSE-MIT", "LICENSE-APACHE"].map(|file| files::read(shell.root().join(file)));
    Ok(format!("Nebula is licensed under Apache-2.0 or MIT, at your choice.\n\n{}\n\n{}", mit?, apache?))
}

/// The size of all files below `folder`, each rounded up to KiB.
fn kib_of(folder: &Path) -> Result<u64, Failure> {
    let mut kib = 0;
    for path in files::list(folder)? {
        let size = || path.metadata().attempt(format!("look at {}", path.display()));
        kib += if path.is_dir() { kib_of(&path)? } else { size()?.len().div_ceil(1024) };
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
