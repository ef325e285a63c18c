//! A node that is client and server of a messaging domain (NEBULA, ISCA 2020, Fig. 4), as a front
//! node that asks a back node: `cargo run --release -p nebula --example node`.
//!
//! | the paper's interface | here |
//! |---|---|
//! | a node joins a messaging domain and registers its receive buffer | [`Node::host`]; as a client [`Node::connect`] |
//! | `payload_ptr = wait_for_RPC(msg_domain)` | [`Node::wait_for_rpc`], [`Received`] |
//! | `free_buffer(buffer_ptr, buffer_size)` | [`Rpc::free`](nebula::Rpc::free), which returns the target of the reply |
//! | `RPC_send(buffer_ptr, buffer_size, target_node, msg_domain)` | [`Node::rpc_send`] |
//! | its return value: accepted, or NACKed | [`Received::Reply`], `CallError::Nack` |
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{Client, ClientConfig, Node, NodeError, Peer, Received, Server, Target};
use std::collections::HashMap;

const DOMAIN: u8 = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [front, back] = ["front", "back"].map(|name| format!("shm://example-node-{name}-{}", std::process::id()));
    let (mut at_back, mut at_front) = (Node::default(), Node::default());
    let stop_back = at_back.host(DOMAIN, Server::bind(&back))?.stopper();
    let serving_back = std::thread::spawn(move || reverse(&mut at_back));
    let stop_front = at_front.host(DOMAIN, Server::bind(&front))?.stopper();
    let peer = at_front.connect(DOMAIN, &back, ClientConfig::default())?;
    let serving_front = std::thread::spawn(move || ask_further(&mut at_front, peer));

    let mut client = Client::connect_with(&front, ClientConfig::default().domain(DOMAIN))?;
    println!("reply: {}", String::from_utf8_lossy(client.call(b"three calls")?));
    [stop_front, stop_back].iter().for_each(|stop| stop.stop());
    for (name, serving) in [("front", serving_front), ("back", serving_back)] {
        println!("{name}: {}", serving.join().expect("no panic").expect_err("it serves until it is stopped"));
    }
    Ok(())
}

/// The event loop of Fig. 4.
fn reverse(node: &mut Node) -> Result<(), NodeError> {
    loop {
        let Received::Request(rpc) = node.wait_for_rpc(DOMAIN)? else { continue };
        let response: Vec<u8> = rpc.payload().iter().rev().copied().collect();
        let Ok(target) = rpc.free() else { continue };
        node.rpc_send(&response, target, DOMAIN)?;
    }
}

/// Both ends of the queue pair: requests go further, and their replies go back to who waits.
fn ask_further(node: &mut Node, peer: Peer) -> Result<(), NodeError> {
    let mut callers = HashMap::new();
    loop {
        let (payload, target, caller) = match node.wait_for_rpc(DOMAIN)? {
            Received::Request(rpc) => (rpc.payload().to_vec(), Some(peer.into()), rpc.free().ok()),
            Received::Reply { ticket, result, .. } => {
                let reply = [b"from behind: ", result.unwrap_or(b"nobody")].concat();
                (reply, callers.remove(&ticket).map(Target::Caller), None)
            }
        };
        let Some(target) = target else { continue };
        callers.extend(node.rpc_send(&payload, target, DOMAIN)?.zip(caller));
    }
}
