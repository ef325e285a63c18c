//! `cargo xtask memcached`: compares the server with memcached. Sends the cases of
//! runtime/nebula-cli/tests/memcached to both, calls client libraries on both, runs the libraries'
//! own test suites against ours, and exposes it to clients that are idle, slow or hostile. Reports
//! and skips programs that are not installed.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::{Attempt, Failure, Running, Shell, run as run_command};

/// Arguments of `cargo xtask memcached`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Idle connections that are held open at once.
    #[arg(long, default_value_t = 10_000)]
    connections: u32,
    /// Instead, print how many items memcached and ours keep in the same memory; minutes.
    #[arg(long)]
    kept: bool,
}

const LIBRARIES: [&str; 3] = ["pymemcache==4.0.0", "pylibmc==1.6.3", "pytest==9.2.0"];
const SCRIPTS: &str = "runtime/nebula-cli/tests/memcached";

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    if !shell.has("python3", &["--version"]) {
        println!("memcached: skipped, for there is no python3");
        return Ok(());
    }
    run_command(&mut shell.cargo(&["build", "-q", "-p", "nebula-cli"]))?;
    if args.kept {
        return kept(shell);
    }
    let ours = Server::ours(shell, &["--items", "100k"])?;
    let has_memcached = shell.has("memcached", &["--version"]);
    let theirs = if has_memcached { Some(Server::memcached(shell, "64")?) } else { None };
    let own_port = ours.port.to_string();
    let named = |name: &str, port: u16| format!("{name}={port}");
    let both = theirs.iter().map(|server| named("memcached", server.port)).chain([named("nebula", ours.port)]);
    let both: Vec<String> = both.collect();
    if theirs.is_none() {
        println!("memcached: not installed, so that ours is compared with the recorded answers alone");
    }
    run_command(script(shell, Path::new("python3"), "compare.py").args(&both))?;
    let folder = shell.target().join("memcached-clients");
    match shell.python(&folder, &LIBRARIES) {
        Ok(python) => {
            run_command(script(shell, &python, "suites.py").arg(&folder).arg(&own_port))?;
            match theirs {
                Some(_) => run_command(script(shell, &python, "libraries.py").args(&both))?,
                None => println!("memcached: libraries skipped, for there is no memcached to compare with"),
            }
        }
        Err(failure) => println!("memcached: libraries skipped (libmemcached-dev?): {failure}"),
    }
    let (pid, connections) = (ours.program.id().to_string(), args.connections.to_string());
    run_command(script(shell, Path::new("python3"), "hostile.py").args([&own_port, &pid, &connections]))
}

/// Of 64 MiB to 1 GiB, and values of one length or of many.
fn kept(shell: &Shell) -> Result<(), Failure> {
    for mib in ["64", "256", "1024"] {
        for sizes in ["100", "1000", "uniform", "etc"] {
            let memory = format!("{mib}MiB");
            let ours = Server::ours(shell, &["--memory", &memory, "--memcached-slo", "3600s"])?;
            let theirs = Server::memcached(shell, mib)?;
            let ports = [format!("memcached={}", theirs.port), format!("nebula={}", ours.port)];
            run_command(script(shell, Path::new("python3"), "kept.py").args([mib, sizes]).args(ports))?;
        }
    }
    Ok(())
}

fn script(shell: &Shell, python: &Path, name: &str) -> Command {
    let mut command = shell.command(python);
    command.arg(shell.root().join(SCRIPTS).join(name)).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

struct Server {
    program: Running,
    port: u16,
}

impl Server {
    /// Ours, over TCP and over UDP at the same port.
    fn ours(shell: &Shell, more: &[&str]) -> Result<Self, Failure> {
        let port = free_port()?;
        let mut serve = shell.command(shell.target().join("debug/nebula"));
        serve.args(["serve", "kv", "--end-with-parent"]).args(more);
        let endpoints = ["tcp", "udp"].map(|scheme| format!("{scheme}://127.0.0.1:{port}"));
        serve.args(endpoints.iter().flat_map(|endpoint| ["--memcached", endpoint]));
        let program = Running::start(serve.stdout(Stdio::piped()).stderr(Stdio::null()))?;
        endpoints.iter().try_for_each(|_| program.says("ready ").map(drop))?;
        Ok(Self { program, port })
    }

    /// With one thread and as many MiB.
    fn memcached(shell: &Shell, mib: &str) -> Result<Self, Failure> {
        let port = free_port()?;
        let mut serve = shell.command("memcached");
        // memcached refuses to run as root without a user.
        serve.args(["-u", "nobody", "-t", "1", "-m", mib, "-l", "127.0.0.1", "-p", &port.to_string()]);
        let server = Self { program: Running::start(&mut serve)?, port };
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

fn free_port() -> Result<u16, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").attempt("find a free port")?;
    Ok(listener.local_addr().attempt("find a free port")?.port())
}
