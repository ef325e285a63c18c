//! tarpc: a method with one field of bytes, bincode over TCP without delay, one thread per side.

use super::grpc::runtime;
use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use futures_util::{StreamExt, future};
use std::net::SocketAddr;
use tarpc::client::{self, RpcError};
use tarpc::context;
use tarpc::serde_transport::tcp;
use tarpc::server::{BaseChannel, Channel};
use tarpc::tokio_serde::formats::Bincode;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

#[tarpc::service]
trait Echo {
    async fn echo(payload: Vec<u8>) -> Vec<u8>;
}

/// Each call is a task.
pub struct Tarpc {
    calls: JoinSet<Result<Vec<u8>, RpcError>>,
    client: EchoClient,
    runtime: Runtime,
    _server: Server,
}

impl Tarpc {
    pub fn start() -> Result<Self, Failure> {
        let address = child::unused_address()?;
        let server = Server::start(&["serve-peer", "tarpc", &address.to_string()])?;
        let runtime = runtime()?;
        let client = runtime.block_on(connect(address))?;
        Ok(Self { calls: JoinSet::new(), client, runtime, _server: server })
    }
}

async fn connect(address: SocketAddr) -> Result<EchoClient, Failure> {
    let transport = tcp::connect(address, Bincode::default).await?;
    transport.get_ref().set_nodelay(true)?;
    Ok(EchoClient::new(client::Config::default(), transport).spawn())
}

impl Pipe for Tarpc {
    fn send(&mut self, _: u64) -> bool {
        let client = self.client.clone();
        let call = async move { client.echo(context::current(), vec![7; PAYLOAD_BYTES]).await };
        self.calls.spawn_on(call, self.runtime.handle());
        true
    }

    /// Waits for one reply, and collects others that have arrived.
    fn take(&mut self) -> u64 {
        let mut over = self.runtime.block_on(self.calls.join_next());
        let mut taken = 0;
        while let Some(call) = over {
            let reply = call.expect("no panic in a call").expect("an answer to a call");
            assert_eq!(reply, [7; PAYLOAD_BYTES], "the echo failed");
            taken += 1;
            over = self.calls.try_join_next();
        }
        taken
    }
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
