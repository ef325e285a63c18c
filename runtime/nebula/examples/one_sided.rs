//! One-sided operations: a table of temperatures that its owner writes and clients read, and a
//! counter that clients count up, without any worker of the server.
//!
//! `cargo run --release -p nebula --example one_sided`
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{Client, ClientConfig, Region, RegionId, Reply, Rights, Server};

/// What the server registers first, and what it registers then.
const TABLE: RegionId = RegionId(0);
const COUNTER: RegionId = RegionId(1);

/// An object of the table: a version word, and behind it a text of 24 bytes.
const OBJECT_BYTES: usize = 32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (table, counter) = (Region::create(4096)?, Region::create(64)?);
    let endpoint = format!("shm://example-one-sided-{}", std::process::id());
    let server = Server::bind(&endpoint)
        // Clients on this machine map it: a read is a load.
        .register(&table, Rights::READ | Rights::MAP)
        // These reach it by the engine, which can refuse them from any moment on.
        .register(&counter, Rights::READ | Rights::WRITE)
        .serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;

    let mut client = Client::connect_with(&endpoint, ClientConfig::default().one_sided(true))?;
    for (nth, text) in ["21.5 degrees at the gate", "19.0 degrees in the hall"].iter().enumerate() {
        let at = nth * OBJECT_BYTES;
        table.write_whole(at, at + 8, text.as_bytes())?;
        // In one piece, also while its owner writes it again.
        let ticket = client.read_whole(TABLE, at as u64, at as u64 + 8, 24)?;
        let (version, read) = client.finish(ticket)?.split_at(8);
        println!("version {}: {}", version[0], String::from_utf8_lossy(read));
        assert_eq!(read, text.as_bytes());
    }

    // Counts up, as other clients may do at the same time.
    let (mut counted, mut expected) = (0, 0_u64);
    while counted < 3 {
        let ticket = client.compare_swap(COUNTER, 0, expected, expected + 1)?;
        let found = u64::from_le_bytes(client.finish(ticket)?.try_into()?);
        counted += u64::from(found == expected);
        expected = found + u64::from(found == expected);
    }
    println!("counted to {expected}");

    server.revoke(COUNTER);
    let ticket = client.read(COUNTER, 0, 8)?;
    println!("after it was revoked: {}", client.finish(ticket).expect_err("it is refused"));
    server.stop();
    Ok(())
}
