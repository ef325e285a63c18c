//! One GET of a server's `--metrics`, bounded in time and size.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// From the first attempt to connect to the last byte, however the bytes come.
const WITHIN: Duration = Duration::from_secs(5);
const BYTES_MAX: usize = 16 << 20;

/// The body of `path` at the first address that answers.
pub(super) fn get(addresses: &[SocketAddr], host: &str, path: &str) -> io::Result<Vec<u8>> {
    get_within(WITHIN, addresses, host, path)
}

fn get_within(within: Duration, addresses: &[SocketAddr], host: &str, path: &str) -> io::Result<Vec<u8>> {
    let until = Instant::now() + within;
    let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
    for &address in addresses {
        // A server does not know all of its names: then it is asked by its address.
        for host in [host, &address.to_string()] {
            match get_from(address, host, path, until) {
                Ok(body) => return Ok(body),
                Err(error) => last = error,
            }
        }
    }
    Err(last)
}

fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    let is_over = || io::Error::new(ErrorKind::TimedOut, "no whole answer in time");
    Some(left).filter(|left| !left.is_zero()).ok_or_else(is_over)
}

fn get_from(address: SocketAddr, host: &str, path: &str, until: Instant) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, left(until)?)?;
    stream.set_write_timeout(Some(left(until)?))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let (mut answer, mut bytes) = (Vec::new(), [0; 16 << 10]);
    while answer.len() < BYTES_MAX {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut bytes) {
            Ok(0) => return body_of(answer),
            Ok(read) => answer.extend_from_slice(&bytes[..read]),
            // The next look at the time says whether it is over.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidData, "the answer is too long"))
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
    use std::net::TcpListener;
    use std::sync::mpsc::{RecvTimeoutError, channel};

    #[test]
    fn a_server_that_never_ends_its_answer_is_left_when_the_time_is_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = channel::<()>();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // A byte a millisecond, until the client has gone.
            let mut sent = 0;
            while stopped.recv_timeout(Duration::from_millis(1)) == Err(RecvTimeoutError::Timeout)
                && stream.write_all(b"x").is_ok()
            {
                sent += 1;
            }
            sent
        });
        let answer = get_within(Duration::from_millis(300), &[address], "localhost", "/");
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::TimedOut);
        drop(stop);
        assert!(server.join().unwrap() > 0, "it was answering");
    }

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
