//! Client and server on two hosts, over UDP or TCP, with a shared key: each datagram is encrypted
//! and authenticated.
//!
//! Without arguments it runs both sides on this machine, over each of the two: it prints the
//! server's address, four replies and the number of RPCs served, and ends. On two hosts, give the
//! server the address to serve and both sides the key in a file of 64 hexadecimal digits
//! (`nebula keygen FILE` writes one). The server then runs until it is killed. Where the network
//! passes no UDP, write `tcp://` for `udp://`:
//!
//! ```sh
//! cargo run --release -p nebula --example two_hosts_udp -- server udp://0.0.0.0:7400 kv.key
//! cargo run --release -p nebula --example two_hosts_udp -- client udp://192.0.2.1:7400 kv.key
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{
    Client, ClientConfig, Endpoint, IdlePolicy, Key, Reply, RunningServer, ServeError, Server, ServerConfig, Wait,
};
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => ["udp://127.0.0.1:0", "tcp://127.0.0.1:0"].into_iter().try_for_each(both),
        ["server", endpoint, key] => {
            serve(&endpoint.parse()?, std::fs::read_to_string(key)?.parse()?)?.join()?;
            Ok(())
        }
        ["client", endpoint, key] => call(&endpoint.parse()?, std::fs::read_to_string(key)?.parse()?),
        _ => Err("give no argument, or: server|client udp://ADDRESS:PORT|tcp://ADDRESS:PORT KEY-FILE".into()),
    }
}

/// Both sides on this machine. Port 0 lets the kernel choose one.
fn both(endpoint: &str) -> Result<(), Box<dyn Error>> {
    let key = Key::random()?;
    let server = serve(&endpoint.parse()?, key.clone())?;
    println!("serving {}", server.endpoint());
    call(server.endpoint(), key)?;
    println!("RPCs served: {}", server.stop().freed);
    Ok(())
}

fn serve(endpoint: &Endpoint, key: Key) -> Result<RunningServer, ServeError> {
    // An idle server sleeps, and uses no processor time.
    let config = ServerConfig::default().slo(Duration::from_millis(10)).idle(IdlePolicy::Block).key(key);
    Server::bind(endpoint).config(config).serve(|request: &[u8], reply: &mut Reply| reply.write(request))
}

fn call(endpoint: &Endpoint, key: Key) -> Result<(), Box<dyn Error>> {
    let config = ClientConfig::default().call_timeout(Duration::from_secs(5)).wait(Wait::Block).key(key);
    let mut client = Client::connect_with(endpoint, config)?;
    for greeting in ["one", "two", "three", "four"] {
        println!("reply: {}", String::from_utf8_lossy(client.call(greeting.as_bytes())?));
    }
    Ok(())
}
