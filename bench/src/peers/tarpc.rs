//! tarpc: a method with one field of bytes, bincode over TCP without delay, one thread per side.

use super::tasks::{Tasks, runtime};
use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use futures_util::{StreamExt, future};
use std::net::SocketAddr;
use tarpc::client;
use tarpc::context;
use tarpc::serde_transport::tcp;
use tarpc::server::{BaseChannel, Channel};
use tarpc::tokio_serde::formats::Bincode;

#[tarpc::service]
trait Echo {
    async fn echo(payload: Vec<u8>) -> Vec<u8>;
}

pub fn start() -> Result<impl Pipe, Failure> {
    let address = child::unused_address()?;
    let server = Server::start(&["serve-peer", "tarpc", &address.to_string()])?;
    Tasks::start(server, connect(address), |client: EchoClient| {
        move || {
            let client = client.clone();
            async move {
                let reply = client.echo(context::current(), vec![7; PAYLOAD_BYTES]).await;
                let reply = reply.map_err(|error| error.to_string())?;
                Ok(if reply == [7; PAYLOAD_BYTES] { reply.len() } else { 0 })
            }
        }
    })
}

async fn connect(address: SocketAddr) -> Result<EchoClient, Failure> {
    let transport = tcp::connect(address, Bincode::default).await?;
    transport.get_ref().set_nodelay(true)?;
    Ok(EchoClient::new(client::Config::default(), transport).spawn())
}

#[derive(Clone)]
struct EchoServer;

impl Echo for EchoServer {
    async fn echo(self, _: context::Context, payload: Vec<u8>) -> Vec<u8> {
        payload
    }
}

/// The server's end: runs until the client disconnects.
pub fn serve(address: &str) -> Result<(), Failure> {
    let address: SocketAddr = address.parse()?;
    runtime()?.block_on(async {
        let mut incoming = tcp::listen(address, Bincode::default).await?;
        child::ready()?;
        let transport = incoming.next().await.ok_or("no client connected")??;
        transport.get_ref().set_nodelay(true)?;
        let answers = BaseChannel::with_defaults(transport).execute(EchoServer.serve());
        answers
            .for_each(|answer| {
                tokio::spawn(answer);
                future::ready(())
            })
            .await;
        Ok(())
    })
}
