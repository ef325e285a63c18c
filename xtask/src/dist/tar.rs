//! The archive for any distribution.

use super::{Release, copy, copy_files, make};
use crate::shell::{Attempt, Failure, Shell, run};

/// What goes along from the root of the repository.
const DOCUMENTS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Packs the archive and returns its name.
pub(super) fn pack(shell: &Shell, release: &Release) -> Result<String, Failure> {
    let name = format!("nebula-{}-x86_64-linux-musl", release.version);
    let staging = shell.target().join("staging-tar");
    super::empty(&staging)?;
    let root = staging.join(&name);
    make(&root)?;
    copy(&release.program, &root.join("nebula"))?;
    copy(&release.program.with_file_name("nebula-lab"), &root.join("nebula-lab"))?;
    for document in DOCUMENTS {
        copy(&shell.root().join(document), &root.join(document))?;
    }
    copy_files(&release.folder.join("man"), &root.join("man"))?;
    copy_files(&release.folder.join("completions"), &root.join("completions"))?;
    let archive = format!("{name}.tar.gz");
    let mut tar = shell.command("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -n9"]);
    run(tar
        .arg(format!("--mtime=@{}", release.epoch))
        .arg("--directory")
        .arg(&staging)
        .arg("--create")
        .arg("--file")
        .arg(release.folder.join(&archive))
        .arg(&name))?;
    std::fs::remove_dir_all(&staging).attempt(format!("remove {}", staging.display()))?;
    Ok(archive)
}
