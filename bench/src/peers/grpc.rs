//! tonic: a unary call with one field of bytes, over a Unix socket or TCP, one thread per side.
//!
//! The service is written as the generator would write it, except for the router: no `protoc`, no
//! build script.

use super::tasks::{Tasks, runtime};
use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use prost::bytes::Bytes;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use tokio::net::UnixListener;
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

pub fn start_unix() -> Result<impl Pipe, Failure> {
    let socket = std::env::temp_dir().join(format!("nebula-bench-{}.sock", std::process::id()));
    let path = socket.to_str().ok_or("the folder for temporary files has a name that is no UTF-8")?;
    let server = Server::start(&["serve-peer", "tonic", path])?;
    let connected = connect(format!("unix:{path}"), server);
    // The name is no longer needed once both ends are connected, or have failed to.
    std::fs::remove_file(&socket)?;
    connected
}

pub fn start_tcp() -> Result<impl Pipe, Failure> {
    let address = child::unused_address()?;
    let server = Server::start(&["serve-peer", "tonic-tcp", &address.to_string()])?;
    connect(format!("http://{address}"), server)
}

fn connect(to: String, server: Server) -> Result<impl Pipe, Failure> {
    let channel = async { Ok(Endpoint::from_shared(to)?.tcp_nodelay(true).connect().await?) };
    Tasks::start(server, channel, |channel: Channel| {
        move || {
            let channel = channel.clone();
            async { call(channel).await.map_err(|error| error.to_string()) }
        }
    })
}

async fn call(channel: Channel) -> Result<usize, Status> {
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    let request = Request::new(Payload { bytes: Bytes::from_static(&[7; PAYLOAD_BYTES]) });
    let reply = client.unary(request, PathAndQuery::from_static("/bench.Echo/Echo"), Codec::default()).await?;
    Ok(reply.into_inner().bytes.len())
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
