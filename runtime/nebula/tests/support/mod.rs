//! Shared by the suites: separate processes, bounded waits, random numbers, and raw access to a
//! ring.
#![allow(dead_code, reason = "each suite uses its part")]

pub(crate) mod boxed;
pub(crate) mod by_hand;
pub(crate) mod cut;
pub(crate) mod draw;
pub(crate) mod exchange;
pub(crate) mod hand_wire;
pub(crate) mod log_file;
pub(crate) mod message;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod relay;
pub(crate) mod scene;
pub(crate) mod sim_net;
pub(crate) mod udp_raw;

use nebula::{
    Client, ClientConfig, FlowKind, Queueing, Reply, RunningServer, Server, ServerConfig, Status, StatusReader, Worker,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// An endpoint that no other test or run uses.
pub(crate) fn endpoint(test: &str) -> String {
    format!("shm://e2e-{}-{test}", std::process::id())
}

/// The same, and an address of the network.
pub(crate) fn endpoints(test: &str) -> [String; 2] {
    [endpoint(test), "udp://127.0.0.1:0".to_owned()]
}

/// An endpoint of each transport.
pub(crate) fn everywhere(test: &str) -> [String; 3] {
    [endpoint(test), "udp://127.0.0.1:0".to_owned(), "tcp://127.0.0.1:0".to_owned()]
}

/// A loopback address for several servers in turn. The kernel never gives its port to sockets
/// without one, so it stays free between two servers.
pub(crate) fn lasting_udp_endpoint() -> String {
    /// Linux gives out ports 32,768 to 60,999.
    const FIRST: u32 = 61_000;
    const PORTS: u32 = 4_000;
    static DRAWN: AtomicU32 = AtomicU32::new(0);
    let first = std::process::id().wrapping_mul(61);
    loop {
        let port = FIRST + (first.wrapping_add(DRAWN.fetch_add(1, Ordering::Relaxed))) % PORTS;
        let address = format!("127.0.0.1:{port}");
        if std::net::UdpSocket::bind(&address).is_ok() {
            return format!("udp://{address}");
        }
    }
}

pub(crate) fn echo(request: &[u8], reply: &mut Reply<'_>) {
    reply.write(request);
}

/// Payload of a slot that makes RPCs of several packets short.
pub(crate) const SHORT_SLOTS: u32 = 576;

/// The default configuration with an engine thread and short slots, changed by `change`.
pub(crate) fn server_config(change: impl FnOnce(&mut ServerConfig)) -> ServerConfig {
    let mut config = ServerConfig::default().inline(false).mtu_bytes(SHORT_SLOTS);
    change(&mut config);
    config
}

/// Longer than anything takes on the busiest machine.
pub(crate) const PATIENCE: Duration = nebula_testing::wait::WAIT_MAX;

/// `config`, but the server refuses and abandons nothing, however long the machine pauses it, or a
/// client between two packets.
pub(crate) fn unhurried(config: ServerConfig) -> ServerConfig {
    config.queueing(Queueing::Unbounded { recv_buffer_bytes: 4 << 20 }).reassembly_timeout(PATIENCE)
}

/// The default configuration with an engine thread, [`unhurried`] and changed by `change`.
pub(crate) fn unhurried_config(change: impl FnOnce(&mut ServerConfig)) -> ServerConfig {
    server_config(|config| {
        *config = unhurried(std::mem::take(config));
        change(config);
    })
}

/// A name, and a change of the configuration.
pub(crate) type Kind = (&'static str, fn(&mut ServerConfig));

/// Where a server runs its handlers.
pub(crate) const KINDS: [Kind; 4] = [
    ("inline", |config| config.inline = Some(true)),
    ("a thread each", |_| ()),
    ("three workers", |config| config.workers = 3),
    ("single queue", |config| config.policy = "single-queue".parse().expect("a policy")),
];

/// A server whose one worker the caller drives.
pub(crate) fn open_one(at: &str, config: ServerConfig) -> (RunningServer, Worker) {
    let (server, mut workers) = Server::bind(at).config(config).open().expect("a server");
    (server, workers.pop().expect("one worker"))
}

/// A client that never gives up. Only its slots limit it: over a network no window closes when
/// answers are late.
pub(crate) fn patient_client() -> ClientConfig {
    ClientConfig::default().call_timeout(PATIENCE).transmissions_max(u32::MAX).flow(FlowKind::Unbounded)
}

/// A configuration for requests and replies of up to 1 MiB.
pub(crate) fn roomy(change: impl FnOnce(&mut ServerConfig)) -> ServerConfig {
    unhurried_config(|config| {
        config.queueing = Queueing::Unbounded { recv_buffer_bytes: 16 << 20 };
        (config.rpc_bytes_max, config.reply_bytes_max) = (1 << 20, Some(1 << 20));
        change(config);
    })
}

/// Echoes of every size at which something changes.
pub(crate) fn echo_sizes(client: &mut Client) {
    let mut draw = draw::Draw::new(7);
    for bytes in [0, 1, 63, 64, 65, 1087, 1088, 1089, 2176, 2177, 32 * 1088, 33 * 1088, 64 * 1088 + 1, 300_000, 1 << 20]
    {
        let request = draw.bytes(bytes);
        let reply = client.call(&request).unwrap_or_else(|error| panic!("{bytes} bytes: {error}"));
        assert!(reply == request, "{bytes} bytes came back as others");
    }
}

/// Waits until the counter page shows no held slot and `clients` clients.
///
/// It must show that twice in a row, since a page read during a write mixes old and new.
pub(crate) fn wait_until_clean(status: &StatusReader, clients: u64) -> Status {
    let mut before = Status::default();
    nebula_testing::wait::wait_until(&format!("no slots used, {clients} clients left"), || {
        let seen = status.read();
        let is_settled = std::mem::replace(&mut before, seen) == seen;
        (is_settled && seen.slots_used == 0 && seen.clients == clients).then_some(seen)
    })
}

/// As [`wait_until_clean`] with no clients, once the page shows `freed` RPCs: before the engine
/// writes it, the page shows none.
pub(crate) fn wait_until_freed(status: &StatusReader, freed: u64) -> Status {
    wait_until_served(status, freed);
    wait_until_clean(status, 0)
}

/// Waits until the page shows `freed` RPCs and none inside. Over a network the server cannot tell
/// when a client is gone.
pub(crate) fn wait_until_served(status: &StatusReader, freed: u64) -> Status {
    let mut before = Status::default();
    // Engines write at different times: a moved RPC shows at both once both have written.
    nebula_testing::wait::wait_until(&format!("{freed} RPCs freed"), || {
        let seen = status.read();
        let agree = seen.migrated_out == seen.migrated_in && seen.dispatched >= seen.freed;
        let is_settled = std::mem::replace(&mut before, seen) == seen;
        (is_settled && agree && seen.slots_used == 0 && seen.freed >= freed).then_some(seen)
    })
}
