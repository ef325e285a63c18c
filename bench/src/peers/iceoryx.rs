//! iceoryx2: request-response between processes over shared memory, both sides polling, loaned
//! samples, nothing copied twice.
//!
//! Its objects get a prefix and a folder for this run, so that leftovers can be removed.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::{OUTSTANDING, PAYLOAD_BYTES};
use iceoryx2::pending_response::PendingResponse;
use iceoryx2::port::client::Client;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::request_response;
use std::collections::VecDeque;
use std::path::PathBuf;

type Payload = [u8; PAYLOAD_BYTES];
type Pending = PendingResponse<ipc::Service, Payload, (), Payload, ()>;
type Factory = request_response::PortFactory<ipc::Service, Payload, (), Payload, ()>;

/// The client's end. The node is the last field, because it cleans up after the killed server.
pub struct Iceoryx {
    /// In the order of the requests, and so of the replies.
    pending: VecDeque<Pending>,
    client: Client<ipc::Service, Payload, (), Payload, ()>,
    _service: Factory,
    _server: Server,
    _node: Node<ipc::Service>,
    _leftovers: Leftovers,
}

impl Iceoryx {
    pub fn start() -> Result<Self, Failure> {
        sweep();
        let run = std::process::id().to_string();
        let leftovers = Leftovers;
        let node = node(&run)?;
        let service = service(&node)?;
        let server = Server::start(&["serve-peer", "iceoryx2", &run])?;
        let client = service.client_builder().create()?;
        let pending = VecDeque::with_capacity(OUTSTANDING as usize);
        Ok(Self { pending, client, _service: service, _server: server, _node: node, _leftovers: leftovers })
    }
}

fn node(run: &str) -> Result<Node<ipc::Service>, Failure> {
    set_log_level(LogLevel::Error);
    let mut config = Config::default();
    config.global.prefix = FileName::new(format!("{PREFIX}{run}_").as_bytes())?;
    let folder = std::env::temp_dir().join(format!("{PREFIX}{run}"));
    config.global.set_root_path(&Path::new(folder.as_os_str().as_encoded_bytes())?);
    // Ctrl-C must end this program at once.
    let node = NodeBuilder::new().config(&config).signal_handling_mode(SignalHandlingMode::Disabled);
    Ok(node.create()?)
}

/// Both sides open the service with the same limits.
fn service(node: &Node<ipc::Service>) -> Result<Factory, Failure> {
    let builder = node.service_builder(&"echo".try_into()?).request_response::<Payload, Payload>();
    let builder = builder.max_active_requests_per_client(OUTSTANDING as usize).max_servers(1).max_clients(1);
    Ok(builder.open_or_create()?)
}

impl Pipe for Iceoryx {
    #[inline(always)]
    fn send(&mut self, _: u64) -> bool {
        if self.pending.len() == OUTSTANDING as usize {
            return false;
        }
        let request = self.client.loan_uninit().expect("a request within the limit");
        let request = request.write_payload([7; PAYLOAD_BYTES]);
        self.pending.push_back(request.send().expect("a server that is connected"));
        true
    }

    #[inline(always)]
    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(oldest) = self.pending.front()
            && let Some(reply) = oldest.receive().expect("a connection")
        {
            assert!(*reply == [7; PAYLOAD_BYTES], "the echo failed");
            drop(reply);
            self.pending.pop_front();
            taken += 1;
        }
        taken
    }
}

/// The server's end: never returns; its parent kills it.
pub fn serve(run: &str) -> Result<(), Failure> {
    let node = node(run)?;
    let server = service(&node)?.server_builder().create()?;
    child::ready()?;
    loop {
        while let Some(request) = server.receive()? {
            request.loan_uninit()?.write_payload(*request).send()?;
        }
    }
}

/// Of the names of all objects of this benchmark; the number of the client's process follows.
const PREFIX: &str = "nebula_bench_";

struct Leftovers;

impl Drop for Leftovers {
    fn drop(&mut self) {
        sweep();
    }
}

fn sweep() {
    let places = [PathBuf::from("/dev/shm"), std::env::temp_dir()];
    let entries = places.iter().filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_str().and_then(run_of).is_some_and(is_over)) {
        let path = entry.path();
        // Another run may be cleaning up as well.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
}

fn run_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('_').next()?.parse().ok()
}

fn is_over(run: u32) -> bool {
    run == std::process::id() || !std::path::Path::new(&format!("/proc/{run}")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_tells_its_run_by_its_name() {
        assert_eq!(run_of("nebula_bench_42_d3adb33f.data"), Some(42));
        assert_eq!(run_of("nebula_bench_42"), Some(42));
        assert_eq!(run_of("nebula_bench_"), None);
        assert_eq!(run_of("iox2_42_d3adb33f.data"), None);
    }
}
