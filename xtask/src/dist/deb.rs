//! The package for Debian and its descendants, made with `dpkg-deb` alone.

use std::path::Path;

use super::{Release, packed};
use crate::shell::{Attempt, Failure, Shell, files, run};

const NAME: &str = "nebula-rpc";
const MAN: &str = "usr/share/man/man1";
const DOCUMENTS: &str = "usr/share/doc/nebula-rpc";
/// The machine's administrator may change them, and keeps the changes.
const SETTINGS: &str = "/etc/nebula/kv.toml";
/// The user of the service; its unit is not started, as the settings are to be looked at first.
const SCRIPTS: [(&str, &str); 3] = [
    (
        "postinst",
        r#"if [ "$1" = configure ]; then
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers nebula.conf
    elif ! getent passwd nebula >/dev/null; then
        useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin nebula
    fi
    if [ -d /run/systemd/system ]; then
        systemctl daemon-reload
        systemctl try-restart nebula-kv.service || true
    fi
fi
"#,
    ),
    (
        "prerm",
        r#"if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now nebula-kv.service || true
fi
"#,
    ),
    (
        "postrm",
        r#"if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
"#,
    ),
];
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
        (shell.root().join("packaging/systemd/nebula-kv.service"), "usr/lib/systemd/system/nebula-kv.service"),
        (shell.root().join("packaging/systemd/nebula.sysusers"), "usr/lib/sysusers.d/nebula.conf"),
        (shell.root().join("packaging/nebula-kv.toml"), &SETTINGS[1..]),
        (shell.root().join("packaging/grafana/nebula.json"), "usr/share/nebula-rpc/grafana/nebula.json"),
    ];
    packed(&staging, "", layout, || {
        let documents = staging.join(DOCUMENTS);
        files::write(documents.join("copyright"), copyright(shell)?)?;
        let pages = files::list(staging.join(MAN))?;
        run(shell.command("gzip").arg("-n9").args(pages).arg(documents.join("changelog")))?;
        files::write(staging.join("DEBIAN/control"), control(release.version, kib_of(&staging)?))?;
        files::write(staging.join("DEBIAN/conffiles"), format!("{SETTINGS}\n"))?;
        for (name, script) in SCRIPTS {
            files::write(staging.join("DEBIAN").join(name), format!("#!/bin/sh\nset -e\n{script}"))?;
            run(shell.command("chmod").arg("755").arg(staging.join("DEBIAN").join(name)))?;
        }
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
    fn the_package_has_a_unit_that_systemd_reads_and_what_the_unit_names() {
        let shell = Shell::at_root().expect("the repository");
        if !shell.has("dpkg-deb", &["--version"]) {
            return;
        }
        let folder = shell.target().join("test-deb");
        files::empty(&folder).expect("a folder");
        for file in ["nebula", "nebula-lab", "man/nebula.1", "completions/nebula", "completions/_nebula"] {
            files::write(folder.join(file), "#!/bin/sh\n").expect("a file");
        }
        files::write(folder.join("completions/nebula.fish"), "").expect("a file");
        run(shell.command("chmod").arg("755").arg(folder.join("nebula"))).expect("it is ours");
        let program = folder.join("nebula");
        let release = Release { version: "1.2.3", program, folder: folder.clone(), epoch: "0".to_owned() };
        let archive = folder.join(pack(&shell, &release).expect("a package"));
        let installed = folder.join("installed");
        run(shell.command("dpkg-deb").arg("--raw-extract").arg(&archive).arg(&installed)).expect("it is whole");
        for (name, _) in SCRIPTS {
            run(shell.command("sh").arg("-n").arg(installed.join("DEBIAN").join(name))).expect("a script");
        }
        let unit = files::read(installed.join("usr/lib/systemd/system/nebula-kv.service")).expect("the unit");
        let user = files::read(installed.join("usr/lib/sysusers.d/nebula.conf")).expect("its user");
        assert!(unit.contains("\nUser=nebula\n") && user.contains("\nu nebula "), "{unit}{user}");
        assert!(unit.contains(&format!(" {SETTINGS}\n")) && installed.join(&SETTINGS[1..]).exists(), "{unit}");
        assert!(installed.join("usr/share/nebula-rpc/grafana/nebula.json").exists());
        if shell.has("systemd-analyze", &["--version"]) {
            assert_eq!(said_about_the_unit(&shell, &installed), "");
        }
        files::remove(&folder).expect("it is ours");
    }

    /// What systemd says about the unit below `root`, where its program is.
    fn said_about_the_unit(shell: &Shell, root: &Path) -> String {
        let mut verify = shell.command("systemd-analyze");
        verify.args(["verify", "--man=no", "nebula-kv.service"]).arg(format!("--root={}", root.display()));
        let ended = verify.output().expect("it starts");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        // What it needs of the system is not below the root, and one before 253 knows no such type.
        let known = ["notify-reload", ".target", ".mount", ".slice", ".socket"];
        said.lines().filter(|line| !known.iter().any(|known| line.contains(known))).collect()
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
