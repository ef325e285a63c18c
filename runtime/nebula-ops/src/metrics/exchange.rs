//! One connection: one request, one answer.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::host;
use super::pages::{Answer, Pages};

/// Of its head: what follows is not read.
const REQUEST_BYTES_MAX: usize = 8192;
const HEADERS_MAX: usize = 64;
/// From the connection to the last byte of the request.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);
/// From there to the last byte of the answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Waits,
    Over,
}

pub(super) struct Exchange {
    stream: TcpStream,
    place: u32,
    until: Instant,
    request: Vec<u8>,
    answer: Vec<u8>,
    sent: usize,
}

impl Exchange {
    pub(super) fn begin(stream: TcpStream, place: u32) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        let until = Instant::now() + REQUEST_WITHIN;
        Ok(Self { stream, place, until, request: Vec::new(), answer: Vec::new(), sent: 0 })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn until(&self) -> Instant {
        self.until
    }

    pub(super) fn place(&self) -> u32 {
        self.place
    }

    pub(super) fn interest(&self) -> PollFlags {
        if self.answer.is_empty() { PollFlags::IN } else { PollFlags::OUT }
    }

    /// Reads and writes as far as possible without waiting.
    pub(super) fn go_on(&mut self, pages: &mut Pages) -> Step {
        if self.answer.is_empty() {
            match self.read(pages) {
                Ok(Some(answer)) => (self.answer, self.until) = (answer, Instant::now() + ANSWER_WITHIN),
                Ok(None) => return Step::Waits,
                Err(_) => return Step::Over,
            }
        }
        self.write()
    }

    fn read(&mut self, pages: &mut Pages) -> std::io::Result<Option<Vec<u8>>> {
        let mut bytes = [0; 2048];
        loop {
            let read = match self.stream.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            };
            self.request.extend_from_slice(&bytes[..read]);
            if let Some(answer) = answered(&self.request, pages) {
                return Ok(Some(answer));
            }
        }
    }

    fn write(&mut self) -> Step {
        while self.sent < self.answer.len() {
            match self.stream.write(&self.answer[self.sent..]) {
                Ok(0) => return Step::Over,
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Step::Waits,
                Err(_) => return Step::Over,
            }
        }
        self.finish();
        Step::Over
    }

    /// Reads bytes beyond the request first: closing a socket with unread bytes resets the
    /// connection, which loses the answer.
    fn finish(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let mut rest = [0; 4096];
        for _ in 0..16 {
            if !matches!(self.stream.read(&mut rest), Ok(1..)) {
                return;
            }
        }
    }
}

fn answered(request: &[u8], pages: &mut Pages) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < REQUEST_BYTES_MAX => None,
        Ok(httparse::Status::Complete(..=REQUEST_BYTES_MAX)) if !names_us(parsed.headers) => {
            Some(Answer::status(421, "Misdirected Request: ask by address").to_bytes(parsed.method != Some("HEAD")))
        }
        Ok(httparse::Status::Complete(..=REQUEST_BYTES_MAX)) => {
            let path = parsed.path.unwrap_or_default();
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            Some(match parsed.method {
                Some("GET") => pages.answer(path, query).to_bytes(true),
                Some("HEAD") => pages.answer(path, query).to_bytes(false),
                _ => Answer::status(405, "Method Not Allowed").to_bytes(true),
            })
        }
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            Some(Answer::status(431, "Request Header Fields Too Large").to_bytes(true))
        }
        Err(_) => Some(Answer::status(400, "Bad Request").to_bytes(true)),
    }
}

/// A request without a name is no web page's.
fn names_us(headers: &[httparse::Header<'_>]) -> bool {
    let machine = rustix::system::uname();
    let mut names = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    names.all(|host| host::is_ours(host.value, machine.nodename().to_bytes()))
}
