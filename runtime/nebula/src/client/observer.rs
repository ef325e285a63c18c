//! A connection that only reads a server's status page.

use super::error::ConnectError;
use super::ring::{self, Ring};
use crate::endpoint::{Endpoint, EndpointError, IntoEndpoint};
use crate::status::StatusReader;
use crate::transport::shm::handshake::{Hello, SLOTS_MIN, VERSION};

/// A connection to a `shm://` server for its status page alone. It is no client: it costs the
/// server's engines nothing.
///
/// # Examples
///
/// ```
/// use nebula::{Observer, Reply, Server};
///
/// let name = format!("shm://doc-observer-{}", std::process::id());
/// let server = Server::bind(&name).serve(|request: &[u8], reply: &mut Reply| reply.write(request))?;
/// let mut observer = Observer::connect(&name)?;
/// assert_eq!(observer.status().cores().len(), 1); // one worker
/// assert!(!observer.is_gone());
/// server.stop();
/// assert!(observer.is_gone());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Observer {
    ring: Ring,
    status: StatusReader,
}

impl Observer {
    /// Connects to the server at `endpoint`, whatever its messaging domain.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]: no server, another user's, or another version. A server over `udp://`
    /// shares no page.
    pub fn connect(endpoint: impl IntoEndpoint) -> Result<Self, ConnectError> {
        let endpoint = endpoint.into_endpoint()?;
        let Endpoint::Shm(name) = &endpoint else {
            return Err(ConnectError::Endpoint(EndpointError::Scheme(endpoint.to_string())));
        };
        let hello = Hello {
            version: VERSION,
            slots: SLOTS_MIN,
            slots_max: 0,
            sleeps: false,
            domain: 0,
            observes: true,
            maps: false,
            has_doorbell: false,
        };
        let ring::Connected { ring, welcome, status, .. } = ring::connect_saying(name, hello)?;
        let status = StatusReader::new(status, welcome.status_bytes as usize);
        Ok(Self { ring, status })
    }

    /// The reader of the server's counters.
    #[must_use]
    pub fn status(&self) -> &StatusReader {
        &self.status
    }

    /// Whether the server is gone. The page keeps its last state.
    ///
    /// # Cost
    ///
    /// A system call.
    #[must_use]
    pub fn is_gone(&mut self) -> bool {
        self.ring.is_gone_by_now()
    }
}
