//! The step that has Google's protobuf for Python read and write what generated services do: over
//! shared memory and over UDP.

use super::Ending;
use crate::shell::{Attempt, Failure, Shell, run};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

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
        let mut server = Server::start(shell, &endpoint, &descriptors)?;
        let endpoint = server.endpoint()?;
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

/// The server of the tests; it ends with this.
struct Server(Child);

impl Server {
    fn start(shell: &Shell, endpoint: &str, descriptors: &Path) -> Result<Self, Failure> {
        let program = shell.target().join("debug/every_server");
        let mut server = shell.command(&program);
        server.arg(endpoint).arg(descriptors).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self(server.spawn().attempt(format!("start {}", program.display()))?))
    }

    /// Where it serves, once it does.
    fn endpoint(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        let output = self.0.stdout.take().ok_or(Failure::new("the server has no output"))?;
        BufReader::new(output).read_line(&mut line).attempt("read what the server says")?;
        let endpoint = line.trim_end().strip_prefix("ready ");
        endpoint.map(str::to_owned).ok_or(Failure::new(format!("the server says `{line}` and not where it serves")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
