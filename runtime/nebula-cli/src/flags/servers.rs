//! Servers to connect to, as `--endpoint` of a client names them.

use std::fmt;
use std::str::FromStr;

use nebula::{Endpoint, EndpointError, Endpoints};

/// A valid text of [`Endpoints`], which each client reads for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerList(String);

impl ServerList {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn has_network(&self) -> bool {
        self.0.split(',').any(|endpoint| !endpoint.trim().starts_with("shm://"))
    }

    pub(crate) fn has_shared_memory(&self) -> bool {
        self.0.split(',').any(|endpoint| endpoint.trim().starts_with("shm://"))
    }

    /// Whether there is more than one server, or may be later.
    pub(crate) fn has_several(&self) -> bool {
        self.0.contains(',') || !["shm://", "udp://", "tcp://"].iter().any(|scheme| self.0.starts_with(scheme))
    }
}

impl FromStr for ServerList {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        text.parse::<Endpoints>().map(|_| Self(text.to_owned()))
    }
}

impl From<&Endpoint> for ServerList {
    fn from(endpoint: &Endpoint) -> Self {
        Self(endpoint.to_string())
    }
}

impl fmt::Display for ServerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_whether_it_has_several_servers_and_a_network() {
        let of = |text: &str| text.parse().map(|list: ServerList| (list.has_several(), list.has_network()));
        assert_eq!(of("shm://kv"), Ok((false, false)));
        assert_eq!(of("udp://127.0.0.1:7400"), Ok((false, true)));
        assert_eq!(of("tcp://127.0.0.1:7400"), Ok((false, true)));
        assert_eq!(of("shm://a,shm://b"), Ok((true, false)));
        assert_eq!(of("file:///etc/servers"), Ok((true, true)));
        assert!(of("shm://a,kv").is_err());
    }
}
