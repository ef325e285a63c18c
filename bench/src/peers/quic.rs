//! quinn: QUIC, one stream per RPC, one thread per side. Both sides get a certificate that is
//! created for the run.
//!
//! Unlike the others in its table, it encrypts: it is made for untrusted networks.

use super::tasks::{Tasks, runtime};
use crate::Failure;
use crate::child::{self, Server};
use crate::measure::Pipe;
use crate::ways::PAYLOAD_BYTES;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig};
use std::net::SocketAddr;
use std::sync::Arc;

/// In the certificate.
const NAME: &str = "localhost";

pub fn start() -> Result<impl Pipe, Failure> {
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let address = child::unused_address()?;
    let (certificate, key) = (hex(cert.der()), hex(&signing_key.serialize_der()));
    let server = Server::start(&["serve-peer", "quinn", &address.to_string(), &certificate, &key])?;
    Tasks::start(server, connect(address, cert.der().clone()), |connection: Connection| {
        move || {
            let connection = connection.clone();
            async { call(connection).await.map_err(|error| error.to_string()) }
        }
    })
}

async fn connect(address: SocketAddr, certificate: CertificateDer<'static>) -> Result<Connection, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;
    endpoint.set_default_client_config(ClientConfig::with_root_certificates(Arc::new(roots))?);
    Ok(endpoint.connect(address, NAME)?.await?)
}

async fn call(connection: Connection) -> Result<usize, Failure> {
    let (mut send, mut recv) = connection.open_bi().await?;
    send.write_all(&[7; PAYLOAD_BYTES]).await?;
    send.finish()?;
    Ok(recv.read_to_end(PAYLOAD_BYTES).await?.len())
}

/// The server's end: runs until the client disconnects.
pub fn serve(address: &str, certificate: &str, key: &str) -> Result<(), Failure> {
    let certificate = CertificateDer::from(unhex(certificate)?);
    let key = PrivatePkcs8KeyDer::from(unhex(key)?);
    let config = ServerConfig::with_single_cert(vec![certificate], key.into())?;
    runtime()?.block_on(async {
        let endpoint = Endpoint::server(config, address.parse()?)?;
        child::ready()?;
        let connection = endpoint.accept().await.ok_or("no client connected")?.await?;
        while let Ok((send, recv)) = connection.accept_bi().await {
            tokio::spawn(answer(send, recv));
        }
        Ok(())
    })
}

/// A killed client leaves streams that end early.
async fn answer(mut send: SendStream, mut recv: RecvStream) {
    if let Ok(request) = recv.read_to_end(PAYLOAD_BYTES).await
        && send.write_all(&request).await.is_ok()
    {
        let _ = send.finish();
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<Vec<u8>, Failure> {
    (0..text.len()).step_by(2).map(|at| Ok(u8::from_str_radix(&text[at..at + 2], 16)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_after_the_way_there_and_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&bytes)).unwrap(), bytes);
        assert!(unhex("xy").is_err());
    }
}
