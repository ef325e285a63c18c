//! Serves the services of the tests until its standard input ends:
//! `every_server ENDPOINT DESCRIPTORS`. Prints `ready ENDPOINT`, and writes the descriptors of the
//! services to the file DESCRIPTORS.

use nebula::{Server, ServerConfig};
use nebula_typed::Services;
use std::error::Error;
use std::io::Read;
use typed_tests::every::{EveryServer, OtherServer};
use typed_tests::{Adder, EVERY_DESCRIPTORS, EveryService};

#[expect(clippy::print_stdout, reason = "how it says that it is ready")]
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, descriptors] = args.as_slice() else {
        return Err("usage: every_server ENDPOINT DESCRIPTORS".into());
    };
    std::fs::write(descriptors, EVERY_DESCRIPTORS)?;
    let services = Services::new((EveryServer(EveryService), OtherServer(Adder)));
    let server = Server::bind(endpoint).config(ServerConfig::default().reply_bytes_max(2048)).serve(services)?;
    println!("ready {}", server.endpoint());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
