//! The shortest client, beside which the server is measured.

use nebula::Client;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut client = Client::connect("shm://six-lines")?;
    println!("{:?}", client.call(b"hello")?);
    Ok(())
}
