//! The address of a server: `shm://NAME`, `udp://ADDRESS:PORT`, `tcp://ADDRESS:PORT`, `unix:PATH`
//! or `xdp://INTERFACE:PORT`.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::str::FromStr;

/// The address of a server.
///
/// `shm://NAME` is shared memory between processes of one machine and one user; `NAME` is 1 to 64
/// letters, digits, `-`, `_` or `.`. `udp://ADDRESS:PORT` is UDP, with an IPv4 address or an IPv6
/// address in brackets; a server with port 0 gets a free one. `tcp://ADDRESS:PORT` is TCP, for
/// networks that block UDP, and for servers that speak [other protocols](crate::Framing), to which
/// no [`Client`](crate::Client) connects. `unix:PATH` is a Unix socket at that path, for such
/// servers alone.
///
/// # Examples
///
/// ```
/// let endpoint: nebula::Endpoint = "shm://kv".parse()?;
/// assert_eq!(endpoint.to_string(), "shm://kv");
/// assert_eq!("udp://[::1]:7400".parse::<nebula::Endpoint>()?.to_string(), "udp://[::1]:7400");
/// assert!("kv".parse::<nebula::Endpoint>().is_err());
/// # Ok::<(), nebula::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// Shared memory, found by this name.
    Shm(String),
    /// UDP at this address.
    Udp(SocketAddr),
    /// TCP at this address.
    Tcp(SocketAddr),
    /// A Unix socket at this path.
    Unix(PathBuf),
    /// UDP on a network interface, past the kernel's network stack.
    Xdp(XdpAddress),
    /// Packets that pass through a server between these two interfaces. No client connects to it,
    /// and no text parses as it: [`Server::serve_packets`](crate::Server::serve_packets) makes it.
    Packets([String; 2]),
}

/// A server on a network interface: `INTERFACE:PORT` for the server itself,
/// `INTERFACE/ADDRESS:PORT` for a client with that interface.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct XdpAddress {
    /// The interface of this machine.
    pub interface: String,
    /// The server's address, for a client.
    pub server: Option<Ipv4Addr>,
    /// The server's UDP port.
    pub port: u16,
}

impl XdpAddress {
    /// Linux's bound.
    const INTERFACE_BYTES_MAX: usize = 15;

    fn read(text: &str) -> Option<Self> {
        let (interface, server, port) = match text.split_once('/') {
            Some((interface, server)) => {
                let server: SocketAddrV4 = server.parse().ok()?;
                (interface, Some(*server.ip()), server.port())
            }
            None => {
                let (interface, port) = text.split_once(':')?;
                (interface, None, port.parse().ok()?)
            }
        };
        let is_plain = |c: char| c.is_ascii_graphic() && !"/:".contains(c);
        let is_name = (1..=Self::INTERFACE_BYTES_MAX).contains(&interface.len()) && interface.chars().all(is_plain);
        is_name.then(|| Self { interface: interface.to_owned(), server, port })
    }
}

impl fmt::Display for XdpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, server, port } = self;
        match server {
            Some(server) => write!(f, "{interface}/{server}:{port}"),
            None => write!(f, "{interface}:{port}"),
        }
    }
}

/// A text that is not an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// It does not begin with `shm://`, `udp://`, `tcp://` or `xdp://`.
    #[error("endpoint {0:?}: expected shm://NAME, udp://ADDRESS:PORT, tcp://ADDRESS:PORT or xdp://INTERFACE:PORT")]
    Scheme(String),
    /// There is no address with a port.
    #[error("endpoint {0:?}: expected an address and a port, such as udp://127.0.0.1:7400 or udp://[::1]:7400")]
    Address(String),
    /// There is no interface, or no port.
    #[error(
        "endpoint {0:?}: expected xdp://INTERFACE:PORT to serve, or xdp://INTERFACE/ADDRESS:PORT to connect, such as xdp://eth0/10.0.0.1:7400"
    )]
    Xdp(String),
    /// There is no path, or a longer one than a socket may have.
    #[error("endpoint {0:?}: expected unix:PATH, with a path of 1 to 107 bytes")]
    Path(String),
    /// The name is empty, too long or holds other characters.
    #[error("endpoint {0:?}: the name must be 1 to 64 letters, digits, '-', '_' or '.'")]
    Name(String),
    /// The text after the endpoint is not a parameter of a server.
    #[error("endpoint {0:?}: expected ?weight=1 to 65535, &zone=NAME or both behind it, each once")]
    Parameter(String),
    /// A name to be resolved, without the feature `dns`.
    #[error("endpoint {0:?}: names are looked up with the feature `dns` of the crate `nebula`, which is not built in")]
    WithoutDns(String),
    /// A malformed `dns://` or `srv://` name.
    #[error("endpoint {0:?}: expected dns://NAME:PORT or srv://NAME")]
    DnsName(String),
}

/// Bytes: with the prefix it still fits a Unix socket's 108 bytes.
const NAME_BYTES_MAX: usize = 64;
/// Linux's bound, without the zero behind it.
const PATH_BYTES_MAX: usize = 107;

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        if let Some(address) = text.strip_prefix("udp://") {
            return address.parse().map(Self::Udp).map_err(|_| EndpointError::Address(text.to_owned()));
        }
        if let Some(address) = text.strip_prefix("tcp://") {
            return address.parse().map(Self::Tcp).map_err(|_| EndpointError::Address(text.to_owned()));
        }
        if let Some(path) = text.strip_prefix("unix:") {
            let is_path = (1..=PATH_BYTES_MAX).contains(&path.len()) && !path.contains('\0');
            return is_path.then(|| Self::Unix(path.into())).ok_or_else(|| EndpointError::Path(text.to_owned()));
        }
        if let Some(address) = text.strip_prefix("xdp://") {
            return XdpAddress::read(address).map(Self::Xdp).ok_or_else(|| EndpointError::Xdp(text.to_owned()));
        }
        let name = text.strip_prefix("shm://").ok_or_else(|| EndpointError::Scheme(text.to_owned()))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_plain) {
            return Err(EndpointError::Name(text.to_owned()));
        }
        Ok(Self::Shm(name.to_owned()))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shm(name) => write!(f, "shm://{name}"),
            Self::Udp(address) => write!(f, "udp://{address}"),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Xdp(address) => write!(f, "xdp://{address}"),
            Self::Packets([inside, outside]) => write!(f, "packets://{inside},{outside}"),
        }
    }
}

/// A type that can be turned into an endpoint: text, or an endpoint itself.
pub trait IntoEndpoint {
    /// Reads the endpoint.
    ///
    /// # Errors
    ///
    /// [`EndpointError`] when the text is not an endpoint.
    fn into_endpoint(self) -> Result<Endpoint, EndpointError>;
}

impl IntoEndpoint for &str {
    fn into_endpoint(self) -> Result<Endpoint, EndpointError> {
        self.parse()
    }
}

impl IntoEndpoint for &String {
    fn into_endpoint(self) -> Result<Endpoint, EndpointError> {
        self.parse()
    }
}

impl IntoEndpoint for Endpoint {
    fn into_endpoint(self) -> Result<Endpoint, EndpointError> {
        Ok(self)
    }
}

impl IntoEndpoint for &Endpoint {
    fn into_endpoint(self) -> Result<Endpoint, EndpointError> {
        Ok(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_endpoint_is_said_in_one_line() {
        let long = format!("shm://{}", "x".repeat(65));
        let long_path = format!("unix:/{}", "x".repeat(107));
        let bad = ["", "kv", "tcp://kv", "unix:", &long_path, "shm://", "shm://a b", "shm://a/b", &long];
        for bad in
            bad.into_iter().chain(["udp://", "udp://localhost", "udp://1.2.3.4", "udp://::1:7", "udp://1.2.3.4:70000"])
        {
            let said = bad.parse::<Endpoint>().unwrap_err().to_string();
            assert!(!said.contains('\n') && said.contains("expected") || said.contains("must be"), "{said}");
        }
    }

    #[test]
    fn an_interface_stands_before_a_port_or_a_server() {
        for good in ["xdp://eth0:7400", "xdp://veth-a.7/10.0.0.1:7400"] {
            assert_eq!(good.parse::<Endpoint>().unwrap().to_string(), good);
        }
        for bad in [
            "eth0",
            ":7400",
            "eth0:",
            "eth0/10.0.0.1",
            "eth0/[::1]:7",
            "eth 0:7",
            "a-name-too-long-:7",
            "a/b/1.2.3.4:7",
        ] {
            assert_eq!(format!("xdp://{bad}").parse::<Endpoint>(), Err(EndpointError::Xdp(format!("xdp://{bad}"))));
        }
    }

    #[test]
    fn a_name_of_64_characters_is_the_longest() {
        assert!(format!("shm://{}", "x".repeat(64)).parse::<Endpoint>().is_ok());
    }
}
