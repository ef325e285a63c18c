//! The pages by path.

use std::sync::Arc;

use nebula::{PacketCounters, RunningServer, StatusReader};
use nebula_sys::clock::Clock;

use super::{live, prometheus, rpcs};
use crate::observe::Snapshot;

#[derive(Clone, Debug)]
pub(super) struct Answer {
    code: u16,
    reason: &'static str,
    kind: &'static str,
    body: Vec<u8>,
}

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// A page loads nothing from other servers and sends nothing to them.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

impl Answer {
    /// A status with its reason as the body.
    pub(super) fn status(code: u16, reason: &'static str) -> Self {
        Self { code, reason, kind: TEXT, body: format!("{reason}\n").into_bytes() }
    }

    fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { code: 200, reason: "OK", kind, body: body.into() }
    }

    /// The answer on the wire; without its body for HEAD.
    pub(super) fn to_bytes(&self, has_body: bool) -> Vec<u8> {
        let Self { code, reason, kind, body } = self;
        let head = format!(
            "HTTP/1.1 {code} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: {POLICY}\r\n\r\n",
            body.len()
        );
        let mut bytes = head.into_bytes();
        if has_body {
            bytes.extend_from_slice(body);
        }
        bytes
    }
}

pub(super) struct Pages {
    servers: Vec<Watched>,
    clock: Clock,
}

struct Watched {
    endpoint: String,
    reader: StatusReader,
    packets: Option<Arc<PacketCounters>>,
}

impl Watched {
    fn snapshot(&self, clock: Clock) -> Snapshot {
        let packets = self.packets.as_ref().map(|packets| packets.read());
        Snapshot { packets, ..Snapshot::read(&self.endpoint, &self.reader, clock) }
    }
}

impl Pages {
    /// At least one server.
    pub(super) fn new(servers: &[RunningServer]) -> Self {
        let watched = |server: &RunningServer| Watched {
            endpoint: server.endpoint().to_string(),
            reader: server.status().clone(),
            packets: server.packets(),
        };
        Self { servers: servers.iter().map(watched).collect(), clock: Clock::new() }
    }

    /// The answer to a GET of `path`. `server=N` in `query` chooses one of several servers.
    pub(super) fn answer(&mut self, path: &str, query: &str) -> Answer {
        let at = query.split('&').find_map(|word| word.strip_prefix("server=")).unwrap_or("0");
        let at = at.parse().unwrap_or(usize::MAX);
        let Some(server) = self.servers.get(at) else {
            return Answer::status(404, "Not Found");
        };
        let (now_ps, samples) = (self.clock.now_ps(), || server.reader.samples());
        match path {
            "/" => Answer::of(HTML, live::page()),
            "/metrics" => self.metrics(),
            "/status.json" => json(&server.snapshot(self.clock)),
            "/servers.json" => json(&self.servers.iter().map(|server| &server.endpoint).collect::<Vec<_>>()),
            "/rpcs" => Answer::of(HTML, rpcs::page((at, &server.endpoint), &samples(), now_ps)),
            "/rpcs.json" => json(&rpcs::rows(&samples(), now_ps)),
            "/ready" => self.ready(),
            _ => Answer::status(404, "Not Found"),
        }
    }

    fn metrics(&self) -> Answer {
        match prometheus::text(self.servers.iter().map(|server| server.snapshot(self.clock)).collect()) {
            Ok(text) => Answer::of(PROMETHEUS, text),
            Err(_) => Answer::status(500, "Internal Server Error"),
        }
    }

    /// Ready once all servers are.
    fn ready(&self) -> Answer {
        let is_ready = |server: &Watched| server.snapshot(self.clock).state == "serving";
        match self.servers.iter().all(is_ready) {
            true => Answer::of(TEXT, "ready\n"),
            false => Answer::status(503, "Service Unavailable"),
        }
    }
}

fn json(value: &impl serde::Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => Answer::of(JSON, body),
        Err(_) => Answer::status(500, "Internal Server Error"),
    }
}
