//! The shortest server: what building it takes beyond the library is a figure of `user build`.

use nebula::{Reply, Server};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let echo = |request: &[u8], reply: &mut Reply<'_>| reply.write(request);
    Server::bind("shm://six-lines").serve(echo)?.join()?;
    Ok(())
}
