//! Your own dispatch policy, served without a change to Nebula:
//! `cargo run --release -p nebula --example own_policy`.
//!
//! Requests of up to 64 bytes are spread over all workers but the last one, which has the long ones
//! to itself.

#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use nebula::{Choose, Client, CoreId, CustomPolicy, Header, PerCore, Reply, Server};

/// The next worker in turn for a short request.
#[derive(Clone)]
struct LongApart {
    short: u16,
    next: u16,
}

impl Choose for LongApart {
    fn choose(&mut self, header: &Header) -> CoreId {
        if header.rpc_bytes > 64 {
            return CoreId(self.short);
        }
        self.next = if self.next + 1 >= self.short { 0 } else { self.next + 1 };
        CoreId(self.next)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A queue for each worker, and credit for two RPCs: `PerCore` has them. The seed is not needed.
    let long_apart = CustomPolicy::try_new("long-apart", |workers, _| {
        PerCore::new(workers, LongApart { short: workers - 1, next: 0 })
    })?;
    let log = std::env::temp_dir().join(format!("own-policy-{}.log", std::process::id()));
    let name = format!("shm://own-policy-{}", std::process::id());
    let mut config = nebula::ServerConfig::default();
    (config.workers, config.decision_log) = (3, Some(log.clone()));
    let server = Server::bind(&name).config(config).policy_with(long_apart.clone());
    let server = server.serve(|request: &[u8], reply: &mut Reply<'_>| reply.write(request))?;
    let mut client = Client::connect(&name)?;
    for request in [&[1; 8][..], &[2; 300], &[3; 8], &[4; 8], &[5; 300]] {
        assert_eq!(client.call(request)?, request);
    }
    server.stop();
    // The log names the policy, and the same factory replays it.
    let text = std::fs::read_to_string(&log)?;
    std::fs::remove_file(&log)?;
    println!("{} decisions, the same when replayed", nebula_nic::replay_text_with(&text, &long_apart)?);
    for worker in 0..3 {
        println!("worker {worker} got {} RPCs", text.matches(&format!("dispatch core={worker} ")).count());
    }
    Ok(())
}
