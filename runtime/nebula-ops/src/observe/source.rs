//! Where snapshots come from.

use std::fmt;
use std::net::ToSocketAddrs;
use std::str::FromStr;

use nebula::{Endpoint, Observer};
use nebula_sys::clock::Clock;

use super::http;
use super::snapshot::Snapshot;
use crate::or_fail::OrFail;
use nebula_ui::output::Failure;

/// A running server, as it is named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Read from the status page that it shares with its clients.
    Shm(String),
    /// Read from its `--metrics`.
    Http(String),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.strip_prefix("http://") {
            let address = rest.split('/').next().unwrap_or_default();
            let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
            return if has_port { Ok(Self::Http(address.to_owned())) } else { Err(expected(text)) };
        }
        match text.parse::<Endpoint>() {
            Ok(Endpoint::Shm(_)) => Ok(Self::Shm(text.to_owned())),
            Ok(_) => Err(format!(
                "{text}: a server over udp:// or tcp:// shares no memory with this process: start it with --metrics ADDRESS:PORT and give http://ADDRESS:PORT"
            )),
            Err(_) => Err(expected(text)),
        }
    }
}

fn expected(text: &str) -> String {
    format!("expected shm://NAME or http://ADDRESS:PORT (of --metrics), not {text:?}")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shm(endpoint) => f.write_str(endpoint),
            Self::Http(address) => write!(f, "http://{address}"),
        }
    }
}

/// A running server, as a source of snapshots.
pub struct Source {
    place: Place,
    clock: Clock,
    /// `None` for HTTP.
    observer: Option<Observer>,
}

impl Source {
    /// Connects to the server.
    ///
    /// # Errors
    ///
    /// A fault if no server answers.
    pub fn connect(place: &Place) -> Result<Self, Failure> {
        let mut source = Self { place: place.clone(), clock: Clock::new(), observer: None };
        source.observer = source.connected()?;
        Ok(source)
    }

    fn connected(&self) -> Result<Option<Observer>, Failure> {
        match &self.place {
            Place::Shm(endpoint) => Ok(Some(Observer::connect(endpoint).or_fail()?)),
            Place::Http(_) => Ok(None),
        }
    }

    /// Takes a snapshot. If another server has replaced the first at its endpoint, connects to that
    /// one.
    ///
    /// # Errors
    ///
    /// A fault if the server is gone.
    pub fn snapshot(&mut self) -> Result<Snapshot, Failure> {
        match &self.place {
            Place::Http(address) => fetch(address),
            Place::Shm(_) => self.read_page(),
        }
    }

    fn read_page(&mut self) -> Result<Snapshot, Failure> {
        if self.observer.as_mut().is_none_or(Observer::is_gone) {
            self.observer = self.connected()?;
        }
        let Some(observer) = &self.observer else { return Err(Failure::fault("the server shares no status page")) };
        Ok(Snapshot::read(&self.place.to_string(), observer.status(), self.clock))
    }
}

fn fetch(address: &str) -> Result<Snapshot, Failure> {
    let resolved = address.to_socket_addrs().map_err(|error| Failure::bad_input(format!("{address}: {error}")))?;
    let resolved: Vec<_> = resolved.collect();
    let body = http::get(&resolved, address, "/status.json")
        .map_err(|error| Failure::fault(format!("http://{address}/status.json: {error}")))?;
    serde_json::from_slice(&body)
        .map_err(|error| Failure::fault(format!("http://{address}/status.json is no status of this version: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_its_shared_memory_or_by_its_metrics() {
        assert_eq!("shm://kv".parse(), Ok(Place::Shm("shm://kv".to_owned())));
        assert_eq!("http://127.0.0.1:9464/".parse(), Ok(Place::Http("127.0.0.1:9464".to_owned())));
        for network in ["udp://127.0.0.1:7400", "tcp://127.0.0.1:7400"] {
            assert!(network.parse::<Place>().unwrap_err().contains("--metrics"));
        }
        for wrong in ["kv", "http://localhost", "https://a:1", ""] {
            assert!(wrong.parse::<Place>().unwrap_err().contains("http://ADDRESS:PORT"), "{wrong}");
        }
    }
}
