//! tonic: a unary call with one field of bytes, over a Unix socket or TCP, one thread per side.
//!
//! The service is written as the generator would write it, except for the router: no `protoc`, no
//! build script.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use prost::bytes::Bytes;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use tokio::net::UnixListener;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::codegen::http::{self, uri::PathAndQuery};
use tonic::codegen::tokio_stream::wrappers::UnixListenerStream;
use tonic::codegen::{BoxFuture, Service};
use tonic::server::UnaryService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
struct Payload {
    #[prost(bytes = "bytes", tag = "1")]
    bytes: Bytes,
}

type Codec = ProstCodec<Payload, Payload>;

/// Each call is a task.
pub struct Grpc {
    calls: JoinSet<Result<usize, Status>>,
    channel: Channel,
    runtime: Runtime,
    _server: Server,
}

impl Grpc {
    pub fn start_unix() -> Result<Self, Failure> {
        let socket = std::env::temp_dir().join(format!("nebula-bench-{}.sock", std::process::id()));
        let path = socket.to_str().ok_or("the folder for temporary files has a name that is no UTF-8")?;
        let server = Server::start(&["serve-peer", "tonic", path])?;
        let connected = Self::connect(format!("unix:{path}"), server);
        // The name is no longer needed once both ends are connected, or have failed to.
        std::fs::remove_file(&socket)?;
        connected
    }

    pub fn start_tcp() -> Result<Self, Failure> {
        let address = child::unused_address()?;
        let server = Server::start(&["serve-peer", "tonic-tcp", &address.to_string()])?;
        Self::connect(format!("http://{address}"), server)
    }

    fn connect(to: String, server: Server) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let channel = runtime.block_on(Endpoint::from_shared(to)?.tcp_nodelay(true).connect())?;
        Ok(Self { calls: JoinSet::new(), channel, runtime, _server: server })
    }
}

pub(super) fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

async fn call(channel: Channel) -> Result<usize, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let request = Request::new(Payload { bytes: Bytes::from_static(&[7; PAYLOAD_BYTES]) });
    let reply = client.unary(request, PathAndQuery::from_static("/bench.Echo/Echo"), Codec::default()).await?;
    Ok(reply.into_inner().bytes.len())
}

impl Pipe for Grpc {
    fn send(&mut self, _: u64) -> bool {
        self.calls.spawn_on(call(self.channel.clone()), self.runtime.handle());
        true
    }

    /// Waits for one reply, and collects others that have arrived.
    fn take(&mut self) -> u64 {
        let mut over = self.runtime.block_on(self.calls.join_next());
        let mut taken = 0;
        while let Some(call) = over {
            let bytes = call.expect("no panic in a call").expect("an answer to a call");
            assert_eq!(bytes, PAYLOAD_BYTES, "the echo failed");
            taken += 1;
            over = self.calls.try_join_next();
        }
        taken
    }
}

#[derive(Clone)]
struct EchoService;

impl Service<http::Request<Body>> for EchoService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async { Ok(tonic::server::Grpc::new(Codec::default()).unary(Handler, request).await) })
    }
}

struct Handler;

impl UnaryService<Payload> for Handler {
    type Response = Payload;
    type Future = Ready<Result<Response<Payload>, Status>>;

    fn call(&mut self, request: Request<Payload>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

/// The server's end: never returns; its parent kills it.
pub fn serve_unix(path: &str) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let listener = UnixListener::bind(path)?;
        child::ready()?;
        let server = tonic::transport::Server::builder();
        Ok(server.serve_with_incoming(EchoService, UnixListenerStream::new(listener)).await?)
    })
}

/// As [`serve_unix`], on a TCP port.
pub fn serve_tcp(address: &str) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let incoming = TcpIncoming::bind(address.parse()?)?.with_nodelay(Some(true));
        child::ready()?;
        Ok(tonic::transport::Server::builder().serve_with_incoming(EchoService, incoming).await?)
    })
}
