//! The servers, each on the servers' core and with the same items.

use super::lanes::{KEYS, VALUE_BYTES, set_line};
use crate::Failure;
use crate::child::{Server, server_core};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MEMCACHED: &str = "memcached";
/// For a server to become ready, and to answer while it is filled.
const PATIENCE: Duration = Duration::from_secs(10);
const STORED_AT_ONCE: u64 = 256;

pub struct Memcached {
    server: Server,
    address: SocketAddr,
}

impl Memcached {
    /// Starts one with one thread and `memory_mib` of memory on a loopback port, on this thread's
    /// core, and waits until it accepts.
    pub fn start(memory_mib: usize) -> Result<Self, Failure> {
        // If another program takes this free port first, memcached fails.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let [port, memory] = [address.port().to_string(), memory_mib.to_string()];
        let words = ["-u", "nobody", "-U", "0", "-t", "1", "-l", "127.0.0.1", "-p", &port, "-m", &memory];
        let started = Command::new(MEMCACHED).args(words).stdout(Stdio::null()).spawn();
        let child =
            started.map_err(|error| format!("cannot start {MEMCACHED} ({error}): apt-get install memcached"))?;
        let server = Self { server: Server::of(child), address };
        let until = Instant::now() + PATIENCE;
        while let Err(error) = TcpStream::connect(address) {
            if Instant::now() > until {
                return Err(error.into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

pub enum Peer {
    Memcached(Memcached),
    Nebula(Server, SocketAddr),
    Bare(Server, SocketAddr),
}

impl Peer {
    /// With one thread.
    pub fn memcached() -> Result<Self, Failure> {
        // Children inherit the core.
        nebula_sys::affinity::pin_to(server_core())?;
        let peer = Self::Memcached(Memcached::start(1024)?);
        fill(peer.address())?;
        Ok(peer)
    }

    /// The key-value service of `program`, with one core.
    pub fn nebula(program: &str, slo: &str) -> Result<Self, Failure> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let (endpoint, core) = (format!("tcp://{address}"), server_core().to_string());
        // Room for twice as many items, so that none is evicted.
        let (items, value_bytes) = ((2 * KEYS).to_string(), VALUE_BYTES.to_string());
        let words = ["serve", "kv", "--memcached", &endpoint, "--memcached-slo", slo, "--pin", &core];
        let sizes = ["--items", &items, "--value-bytes", &value_bytes, "--end-with-parent"];
        let server = Server::start_program(program, &[&words[..], &sizes[..]].concat())?;
        fill(address)?;
        Ok(Self::Nebula(server, address))
    }

    pub fn bare() -> Result<Self, Failure> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        Ok(Self::Bare(Server::start(&["serve-lines", &address.to_string()])?, address))
    }

    pub fn address(&self) -> SocketAddr {
        match self {
            Self::Memcached(memcached) => memcached.address(),
            Self::Nebula(_, address) | Self::Bare(_, address) => *address,
        }
    }

    pub fn core_ns(&self) -> Result<u64, Failure> {
        match self {
            Self::Memcached(Memcached { server, .. }) | Self::Nebula(server, _) | Self::Bare(server, _) => {
                server.core_ns()
            }
        }
    }
}

/// Stores every item, refused ones again.
fn fill(address: SocketAddr) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (mut requests, mut answers, mut key) = (Vec::new(), vec![0; 64 << 10], 0);
    while key < KEYS {
        requests.clear();
        let count = STORED_AT_ONCE.min(KEYS - key);
        (key..key + count).for_each(|key| set_line(&mut requests, key));
        stream.write_all(&requests)?;
        let (mut lines, mut said) = (0, Vec::new());
        while lines < count {
            let bytes = stream.read(&mut answers)?;
            if bytes == 0 {
                return Err("a server closed the connection that filled it".into());
            }
            lines += answers[..bytes].iter().filter(|&&byte| byte == b'\n').count() as u64;
            said.extend_from_slice(&answers[..bytes]);
        }
        // If one was refused the whole batch is repeated: storing an item again changes nothing.
        if said.split(|&byte| byte == b'\n').all(|line| line == b"STORED\r" || line.is_empty()) {
            key += count;
        } else if !said.windows(4).any(|word| word == b"busy") {
            return Err(format!("a server said {:?}", String::from_utf8_lossy(&said[..said.len().min(80)])).into());
        }
    }
    Ok(())
}
