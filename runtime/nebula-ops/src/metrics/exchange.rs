//! One connection: a request comes in, an answer goes out, and it is over.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use rustix::event::PollFlags;

use super::pages::{Answer, Pages};

/// The longest request, head and all.
const REQUEST_BYTES_MAX: usize = 8192;
/// The most headers that are read of one.
const HEADERS_MAX: usize = 64;

/// Whether it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Waits,
    Over,
}

/// A connection and how far it has come.
pub(super) struct Exchange {
    stream: TcpStream,
    until: Instant,
    request: Vec<u8>,
    answer: Vec<u8>,
    sent: usize,
}

impl Exchange {
    pub(super) fn begin(stream: TcpStream, until: Instant) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, until, request: Vec::new(), answer: Vec::new(), sent: 0 })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// When it is to be over.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Whether any byte of a request has come.
    pub(super) fn has_asked(&self) -> bool {
        !self.request.is_empty()
    }

    /// What it waits for.
    pub(super) fn interest(&self) -> PollFlags {
        if self.answer.is_empty() { PollFlags::IN } else { PollFlags::OUT }
    }

    /// Does what can be done without waiting.
    pub(super) fn go_on(&mut self, pages: &mut Pages) -> Step {
        if self.answer.is_empty() {
            match self.read(pages) {
                Ok(Some(answer)) => self.answer = answer,
                Ok(None) => return Step::Waits,
                Err(_) => return Step::Over,
            }
        }
        self.write()
    }

    /// Reads on; the answer, once the request is complete.
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
            if self.request.len() > REQUEST_BYTES_MAX {
                return Ok(Some(Answer::status(431, "Request Header Fields Too Large").to_bytes(false)));
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

    /// What was sent beyond the request is read first: a socket that is closed with bytes unread
    /// resets the connection, and takes the answer along.
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

/// The answer to a request; `None` while that is incomplete.
fn answered(request: &[u8], pages: &mut Pages) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(httparse::Status::Partial) => None,
        Ok(httparse::Status::Complete(_)) => {
            let path = parsed.path.unwrap_or_default();
            let (path, query) = path.split_once('?').unwrap_or((path, ""));
            Some(match parsed.method {
                Some("GET") => pages.answer(path, query).to_bytes(true),
                Some("HEAD") => pages.answer(path, query).to_bytes(false),
                _ => Answer::status(405, "Method Not Allowed").to_bytes(true),
            })
        }
        Err(httparse::Error::TooManyHeaders) => {
            Some(Answer::status(431, "Request Header Fields Too Large").to_bytes(true))
        }
        Err(_) => Some(Answer::status(400, "Bad Request").to_bytes(true)),
    }
}
