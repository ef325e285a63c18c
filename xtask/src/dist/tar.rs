//! The archive for any distribution.

use super::{Release, packed};
use crate::shell::{Failure, Shell, run};

pub(super) fn pack(shell: &Shell, release: &Release) -> Result<String, Failure> {
    let name = format!("nebula-{}-x86_64-linux-musl", release.version);
    let archive = format!("{name}.tar.gz");
    let staging = shell.target().join("staging-tar");
    let document = |name| (shell.root().join(name), name);
    let layout = [
        (release.program.clone(), "nebula"),
        (release.program.with_file_name("nebula-lab"), "nebula-lab"),
        document("README.md"),
        document("CHANGELOG.md"),
        document("LICENSE-APACHE"),
        document("LICENSE-MIT"),
        (release.folder.join("man"), "man"),
        (release.folder.join("completions"), "completions"),
    ];
    packed(&staging, &name, layout, || {
        let mut tar = shell.command("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -n9"]);
        tar.arg(format!("--mtime=@{}", release.epoch)).arg("--directory").arg(&staging);
        run(tar.arg("--create").arg("--file").arg(release.folder.join(&archive)).arg(&name))
    })?;
    Ok(archive)
}
