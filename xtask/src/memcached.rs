//! `cargo xtask memcached`: the server beside memcached itself. The cases of
//! runtime/nebula-cli/tests/memcached are sent to both, client libraries are called on both, and
//! ours meets clients that are idle, slow or hostile. What is missing on the machine is said and
//! left out.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::{Attempt, Failure, Shell, run as run_command};

/// Arguments of `cargo xtask memcached`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Idle connections that are held open at once.
    #[arg(long, default_value_t = 10_000)]
    connections: u32,
}

/// The clients whose interfaces are called.
const LIBRARIES: [&str; 2] = ["pymemcache==4.0.0", "pylibmc==1.6.3"];
/// The scripts, below the root.
const SCRIPTS: &str = "runtime/nebula-cli/tests/memcached";

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    if !exists("python3") {
        println!("memcached: skipped, for there is no python3");
        return Ok(());
    }
    run_command(&mut shell.cargo(&["build", "-q", "-p", "nebula-cli"]))?;
    let ours = Server::ours(&shell.target().join("debug/nebula"))?;
    let theirs = if exists("memcached") { Some(Server::memcached()?) } else { None };
    let own_port = ours.port.to_string();
    let named = |name: &str, port: u16| format!("{name}={port}");
    let both = theirs.iter().map(|server| named("memcached", server.port)).chain([named("nebula", ours.port)]);
    let both: Vec<String> = both.collect();
    if theirs.is_none() {
        println!("memcached: not installed, so that ours is compared with the recorded answers alone");
    }
    run_command(script(shell, Path::new("python3"), "compare.py").args(&both))?;
    match libraries(shell) {
        Some(python) if theirs.is_some() => run_command(script(shell, &python, "libraries.py").args(&both))?,
        Some(_) => println!("memcached: libraries skipped, for there is no memcached to compare with"),
        None => {
            println!("memcached: libraries skipped, for pymemcache and pylibmc cannot be installed (libmemcached-dev?)")
        }
    }
    let (pid, connections) = (ours.child.id().to_string(), args.connections.to_string());
    run_command(script(shell, Path::new("python3"), "hostile.py").args([&own_port, &pid, &connections]))
}

fn exists(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

/// The interpreter of an environment that has the libraries.
fn libraries(shell: &Shell) -> Option<PathBuf> {
    let venv = shell.target().join("memcached-clients");
    let python = venv.join("bin/python");
    let quiet = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    if !python.exists() && !quiet(shell.command("python3").args(["-m", "venv"]).arg(&venv)) {
        return None;
    }
    let mut pip = shell.command(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(LIBRARIES);
    quiet(&mut pip).then_some(python)
}

fn script(shell: &Shell, python: &Path, name: &str) -> Command {
    let mut command = shell.command(python);
    command.arg(shell.root().join(SCRIPTS).join(name)).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A server that ends with this value.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Ours, over TCP and over UDP at the same port.
    fn ours(program: &Path) -> Result<Self, Failure> {
        let port = free_port()?;
        let mut command = Command::new(program);
        command.args(["serve", "kv", "--items", "100k", "--value-bytes", "1024", "--end-with-parent"]);
        for scheme in ["tcp", "udp"] {
            command.args(["--memcached", &format!("{scheme}://127.0.0.1:{port}")]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().attempt("start the server")?;
        let lines = child.stdout.take().map(BufReader::new).map(BufReader::lines);
        let ready = lines.into_iter().flatten().map_while(Result::ok).filter(|line| line.starts_with("ready ")).take(2);
        let ready = ready.count();
        let server = Self { child, port };
        if ready == 2 { Ok(server) } else { Err(Failure::new("the server did not get ready")) }
    }

    /// memcached, with one thread.
    fn memcached() -> Result<Self, Failure> {
        let port = free_port()?;
        let mut command = Command::new("memcached");
        // As root it wants to know whom to be.
        command.args(["-u", "nobody", "-t", "1", "-l", "127.0.0.1", "-p", &port.to_string()]);
        let server = Self { child: command.spawn().attempt("start memcached")?, port };
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > until {
                return Err(Failure::new("memcached did not get ready"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody has at this moment.
fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").attempt("find a free port")?;
    Ok(listener.local_addr().attempt("find a free port")?.port())
}
