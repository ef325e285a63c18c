//! Server processes: this program again, with other words.

use crate::Failure;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// A child that is killed, and waited for, when it goes out of scope.
pub struct Server(Child);

impl Server {
    /// Starts this program with `words` and waits until it prints a line.
    pub fn start(words: &[&str]) -> Result<Self, Failure> {
        Self::start_program(std::env::current_exe()?, words)
    }

    /// Starts `program` with `words` and waits until it prints a line.
    pub fn start_program(program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Result<Self, Failure> {
        let core = server_core().to_string();
        let mut child = Command::new(program).args(words).env(CORE, core).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("the child has no output")?;
        let read = BufReader::new(out).read_line(&mut line);
        let server = Self(child);
        if read? == 0 {
            return Err(format!("the server {words:?} ended before it was ready").into());
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Called by a server that is ready: pins it away from its client, ties its life to the parent's, and says so.
pub fn ready() -> Result<(), Failure> {
    use std::io::Write;
    nebula_sys::process::end_with_parent()?;
    println!("ready");
    std::io::stdout().flush()?;
    Ok(())
}

/// An address of the loopback network that nobody has; the kernel gives such ports out at random, so nobody else soon gets it.
pub fn unused_address() -> Result<SocketAddr, Failure> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// The environment variable that tells a child its core: it inherits its parent's pin, and no longer sees the others.
const CORE: &str = "NEBULA_BENCH_CORE";

/// The cores that this program was started on.
fn cores() -> &'static [usize] {
    static CORES: OnceLock<Vec<usize>> = OnceLock::new();
    CORES.get_or_init(nebula_sys::affinity::allowed_cores)
}

/// The core for servers: the last one; clients use the first.
pub fn server_core() -> usize {
    let told = std::env::var(CORE).ok().and_then(|core| core.parse().ok());
    told.unwrap_or(cores()[cores().len() - 1])
}

/// Pins this thread to the clients' core.
pub fn pin_client() -> Result<(), Failure> {
    Ok(nebula_sys::affinity::pin_to(cores()[0])?)
}
