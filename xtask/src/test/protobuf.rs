//! The step in which Google's protobuf for Python talks to generated services, over shared memory
//! and over UDP.

use super::Ending;
use crate::shell::{Failure, Running, Shell, run};
use std::path::Path;
use std::process::{Command, Stdio};

/// The version that the messages were compared with.
const PACKAGE: &str = "protobuf==7.36.2";

pub(super) fn check(shell: &Shell) -> Result<Ending, Failure> {
    let packages = shell.target().join("python");
    if !has_protobuf(shell, &packages) && !install(shell, &packages) {
        return Ok(Ending::Skipped(format!("no protobuf for Python: pip install {PACKAGE}")));
    }
    run(&mut shell.cargo(&["build", "-q", "-p", "typed-tests", "--bin", "every_server"]))?;
    let descriptors = shell.target().join("every.descriptors");
    for endpoint in [format!("shm://every-{}", std::process::id()), "udp://127.0.0.1:0".to_owned()] {
        let mut serve = shell.command(shell.target().join("debug/every_server"));
        serve.arg(&endpoint).arg(&descriptors).stdin(Stdio::piped()).stdout(Stdio::piped());
        let server = Running::start(&mut serve)?;
        let endpoint = server.says("ready ")?;
        let mut client = python(shell, &packages);
        client.args(["-m", "conformance.typed", &endpoint]).arg(&descriptors);
        run(client.current_dir(shell.root().join("clients/python-reference")))?;
    }
    Ok(Ending::Passed)
}

fn python(shell: &Shell, packages: &Path) -> Command {
    let mut python = shell.command("python3");
    python.env("PYTHONPATH", packages).env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

fn has_protobuf(shell: &Shell, packages: &Path) -> bool {
    let mut import = python(shell, packages);
    import.args(["-c", "import google.protobuf"]).stderr(Stdio::null());
    import.status().is_ok_and(|status| status.success())
}

fn install(shell: &Shell, packages: &Path) -> bool {
    let mut pip = shell.command("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(packages).arg(PACKAGE);
    pip.status().is_ok_and(|status| status.success())
}
