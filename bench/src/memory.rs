//! Memory of a server with one client and with a thousand: the receive buffer is sized from the
//! SLO, not from their number.
//!
//! Each client's ring, which carries its requests and replies, does add memory per client; it is
//! reported separately.

use crate::Failure;
use crate::child::{self, Server};
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use nebula::{Client, Reply, ServerConfig, StatusReader};
use std::time::{Duration, Instant};

/// In addition to the first; all have made a call and stay connected.
const CLIENTS: usize = 1000;
/// The server's descriptors: three for each client (ring, socket, the listener's socket), and some
/// others.
const FILES: u64 = 3 * CLIENTS as u64 + 200;
/// For everything, which takes a second.
const LIMIT: Duration = Duration::from_secs(60);
const ASK: &[u8] = b"resident";

pub fn run() -> Result<(), Failure> {
    within(LIMIT, "memory", || {
        child::raise_file_limit(FILES)?;
        child::pin_client()?;
        let name = format!("shm://bench-memory-{}", std::process::id());
        let _server = Server::start(&["serve-memory", &name])?;
        let mut clients = vec![connected(&name)?];
        let one = Figures::of(&mut clients[0], 1)?;
        while clients.len() < CLIENTS {
            clients.push(connected(&name)?);
        }
        let many = Figures::of(&mut clients[0], CLIENTS)?;
        print(one, many, clients[0].ring_bytes());
        Ok(())
    })
}

fn connected(name: &str) -> Result<Client, Failure> {
    let mut client = Client::connect(name)?;
    client.call(&[7; 64])?;
    Ok(client)
}

fn print(one: Figures, many: Figures, ring_bytes: usize) {
    let what = |clients: &str| format!("receive buffer, {clients} connected");
    plain(&what("1 client"), one.buffer_bytes, "B");
    let baseline = ("receive buffer, 1 client", one.buffer_bytes);
    against(&what("1,000 clients"), many.buffer_bytes, "B", baseline, Some(Bound::AtMost(1.0)));
    let per_client = |one: f64, many: f64| (many - one) / (CLIENTS - 1) as f64;
    let private = per_client(one.resident.private_bytes, many.resident.private_bytes);
    let shared = per_client(one.resident.shared_bytes, many.resident.shared_bytes);
    plain("server's private memory, growth a client", private, "B");
    plain("client's own ring, resident in the server too after one call", shared, "B");
    plain("client's own ring, all of it", ring_bytes as f64, "B");
}

#[derive(Clone, Copy)]
struct Figures {
    buffer_bytes: f64,
    resident: Resident,
}

impl Figures {
    fn of(client: &mut Client, clients: usize) -> Result<Self, Failure> {
        let until = Instant::now() + Duration::from_secs(10);
        let read = |client: &Client| client.status().map(StatusReader::read).unwrap_or_default();
        while read(client).clients != clients as u64 {
            if Instant::now() > until {
                return Err(format!("the server counts {} of {clients} clients", read(client).clients).into());
            }
            std::thread::yield_now();
        }
        let buffer_bytes = read(client).buffer_bytes() as f64;
        let resident = Resident::decode(client.call(ASK)?).ok_or("the server cannot read its own memory's size")?;
        Ok(Self { buffer_bytes, resident })
    }
}

/// The server: engine and worker on one core, otherwise with its defaults.
pub fn serve(name: &str) -> Result<(), Failure> {
    child::raise_file_limit(FILES)?;
    let config = ServerConfig::default().inline(true).pin([child::server_core()]);
    let server = nebula::Server::bind(name).config(config).serve(answer)?;
    child::ready()?;
    server.join()?;
    Ok(())
}

fn answer(request: &[u8], reply: &mut Reply) {
    if request != ASK {
        reply.write(request);
    } else if let Some(resident) = Resident::of_this_process() {
        reply.write(&resident.encode());
    }
}

/// Of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Resident {
    private_bytes: f64,
    shared_bytes: f64,
}

impl Resident {
    fn of_this_process() -> Option<Self> {
        Self::read(&std::fs::read_to_string("/proc/self/status").ok()?)
    }

    /// Parses the lines of `/proc/PID/status` in "kB", which means 1024 bytes.
    fn read(status: &str) -> Option<Self> {
        let bytes = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
            Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0)
        };
        Some(Self { private_bytes: bytes("RssAnon")?, shared_bytes: bytes("RssShmem")? })
    }

    fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.private_bytes.to_le_bytes());
        bytes[8..].copy_from_slice(&self.shared_bytes.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (private, shared) = bytes.split_first_chunk()?;
        let private_bytes = f64::from_le_bytes(*private);
        Some(Self { private_bytes, shared_bytes: f64::from_le_bytes(shared.try_into().ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_what_is_resident() {
        let status = "Name:\tx\nVmRSS:\t    40 kB\nRssAnon:\t      12 kB\nRssFile:\t  20 kB\nRssShmem:\t       8 kB\n";
        let resident = Resident { private_bytes: 12.0 * 1024.0, shared_bytes: 8.0 * 1024.0 };
        assert_eq!(Resident::read(status), Some(resident));
        assert_eq!(Resident::decode(&resident.encode()), Some(resident));
        assert_eq!(Resident::decode(&[]), None);
        assert!(Resident::of_this_process().is_some_and(|own| own.private_bytes > 0.0));
    }
}
