//! The ways in which an RPC can fail, what each error means, and what to do about it.
//!
//! It causes each failure: `cargo run --release -p nebula --example failure_handling`.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use nebula::{CallError, Client, ClientConfig, Fault, Options, Reply, Server, ServerConfig};
use std::time::Duration;

/// An echo that takes as many milliseconds as the first byte says.
fn slow_echo(request: &[u8], reply: &mut Reply) {
    std::thread::sleep(Duration::from_millis(request.first().copied().unwrap_or(0).into()));
    reply.write(request);
}

fn advice(error: &CallError) -> &'static str {
    match error {
        CallError::Nack { .. } => "not executed, the server is overloaded: try again later, or another server",
        CallError::Expired | CallError::Cancelled => "the answer is not needed any more: drop the RPC",
        CallError::TimedOut | CallError::Stale => "it may have been executed: repeat it only if that does no harm",
        CallError::ServerGone => "it may have been executed: connect again, then decide as after a timeout",
        CallError::Fault(Fault::ReplyTooLarge) => "executed: connect with more room, see ClientConfig::reply_bytes_max",
        CallError::Fault(_) => "begun, and the handler failed: this is a bug of the service",
        CallError::NotSent(_) | CallError::Outstanding { .. } => "not sent: this is a bug of the client",
        _ => "not known here: build client and server from one release",
    }
}

fn report(failure: &str, result: Result<&[u8], CallError>) {
    match result {
        Ok(_) => println!("{failure}: no failure"),
        Err(error) => println!("{failure}: {error}\n    {}", advice(&error)),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let endpoint = format!("shm://example-failures-{}", std::process::id());
    let config = ServerConfig::default().slo(Duration::from_millis(1)).service_mean(Duration::from_millis(5));
    let server = Server::bind(&endpoint).config(config).serve(slow_echo)?;
    let mut client = Client::connect_with(&endpoint, ClientConfig::default().reply_bytes_max(16))?;
    report("reply too long", client.call(&[0; 17]));
    let tickets = (0..16).map(|_| client.submit(&[100])).collect::<Result<Vec<_>, _>>()?;
    report("call while RPCs are outstanding", client.call(&[0]));
    client.cancel(tickets[0]);
    let mut overload: Result<&[u8], CallError> = Ok(&[]);
    while client.outstanding() > 0 {
        match client.poll().map(|done| (done.ticket, done.result)) {
            Some((ticket, result)) if ticket == tickets[0] => report("cancelled", result),
            Some((_, Err(error @ CallError::Nack { .. }))) => overload = Err(error),
            _ => std::thread::yield_now(),
        }
    }
    report("overload", overload);
    client.submit_with(&[50], Options::default().deadline(Duration::from_millis(1)))?;
    while client.outstanding() > 0 {
        client.poll().into_iter().for_each(|done| report("deadline over", done.result));
    }
    server.stop();
    report("server stopped", client.call(&[0]));
    Ok(())
}
