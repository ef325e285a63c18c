//! One GET of a server's `--metrics`, bounded in time and size.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// For connecting, and for each wait for more bytes.
const WITHIN: Duration = Duration::from_secs(5);
const BYTES_MAX: u64 = 16 << 20;

/// The body of `path` at the first address that answers.
pub(super) fn get(addresses: &[SocketAddr], host: &str, path: &str) -> io::Result<Vec<u8>> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match get_from(*address, host, path) {
            Ok(body) => return Ok(body),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn get_from(address: SocketAddr, host: &str, path: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(BYTES_MAX).read_to_end(&mut answer)?;
    body_of(answer)
}

/// The body of a complete answer with status 200.
fn body_of(answer: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut response = httparse::Response::new(&mut headers);
    let wrong = |what: String| io::Error::new(ErrorKind::InvalidData, what);
    let parsed = response.parse(&answer).map_err(|error| wrong(format!("no HTTP: {error}")))?;
    match (parsed, response.code) {
        (httparse::Status::Complete(head), Some(200)) => Ok(answer[head..].to_vec()),
        (httparse::Status::Complete(_), code) => Err(wrong(format!("the answer is {}", code.unwrap_or(0)))),
        (httparse::Status::Partial, _) => Err(wrong("the answer ends too early".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_that_says_200_has_a_body() {
        assert_eq!(body_of(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{}".to_vec()).unwrap(), b"{}");
        for (answer, said) in
            [("HTTP/1.1 503 No\r\n\r\nx", "503"), ("HTTP/1.1 200", "too early"), ("hello\r\n\r\n", "no HTTP")]
        {
            assert!(body_of(answer.as_bytes().to_vec()).unwrap_err().to_string().contains(said), "{answer}");
        }
    }
}
