//! Several servers, as text.

use super::address::{Endpoint, EndpointError};
use super::listed::Listed;
use super::resolve::{EndpointFile, Resolve};
use std::fmt;
use std::str::FromStr;

/// The servers of a service: endpoints, and resolvers that find more of them.
///
/// As text, separated by commas: `shm://NAME`, `udp://ADDRESS:PORT`, `tcp://ADDRESS:PORT` and
/// `xdp://INTERFACE/ADDRESS:PORT`, each with an optional [weight and zone](Listed); `file://PATH`,
/// a file of endpoints, one a line, read again each second; with the feature `dns`,
/// `dns://NAME:PORT`, the addresses of a name, and `srv://NAME`, its SRV records.
///
/// # Examples
///
/// ```
/// let endpoints: nebula::Endpoints = "udp://10.0.0.1:7400, udp://10.0.0.2:7400".parse()?;
/// assert_eq!(endpoints.to_string(), "udp://10.0.0.1:7400,udp://10.0.0.2:7400");
/// # Ok::<(), nebula::EndpointError>(())
/// ```
#[derive(Default)]
pub struct Endpoints {
    pub(crate) fixed: Vec<Listed>,
    pub(crate) resolvers: Vec<Box<dyn Resolve>>,
    names: Vec<String>,
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoints").field(&self.names).finish()
    }
}

impl fmt::Display for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(","))
    }
}

impl FromStr for Endpoints {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let mut endpoints = Self::default();
        for part in text.split(',').map(str::trim) {
            if let Some(path) = part.strip_prefix("file://") {
                endpoints.resolvers.push(Box::new(EndpointFile::new(path)));
            } else if part.starts_with("dns://") || part.starts_with("srv://") {
                endpoints.resolvers.push(named(part)?);
            } else {
                endpoints.fixed.push(part.parse()?);
            }
            endpoints.names.push(part.to_owned());
        }
        Ok(endpoints)
    }
}

#[cfg(feature = "dns")]
fn named(text: &str) -> Result<Box<dyn Resolve>, EndpointError> {
    Ok(Box::new(text.parse::<super::dns::Dns>()?))
}

#[cfg(not(feature = "dns"))]
fn named(text: &str) -> Result<Box<dyn Resolve>, EndpointError> {
    Err(EndpointError::WithoutDns(text.to_owned()))
}

impl<R: Resolve> From<R> for Endpoints {
    fn from(resolver: R) -> Self {
        let names = vec!["a resolver of the program's".to_owned()];
        Self { fixed: Vec::new(), resolvers: vec![Box::new(resolver)], names }
    }
}

impl Endpoints {
    /// The endpoint, if there is one and no resolver.
    pub(crate) fn only(&self) -> Option<&Endpoint> {
        match (&self.fixed[..], self.resolvers.is_empty()) {
            ([only], true) => Some(&only.endpoint),
            _ => None,
        }
    }

    fn of(endpoint: Endpoint) -> Self {
        Self { names: vec![endpoint.to_string()], fixed: vec![endpoint.into()], resolvers: Vec::new() }
    }
}

/// A type that can be turned into endpoints: text, an endpoint, or several.
pub trait IntoEndpoints {
    /// Reads the endpoints.
    ///
    /// # Errors
    ///
    /// [`EndpointError`] when the text is not a list of endpoints.
    fn into_endpoints(self) -> Result<Endpoints, EndpointError>;
}

impl IntoEndpoints for Endpoints {
    fn into_endpoints(self) -> Result<Endpoints, EndpointError> {
        Ok(self)
    }
}

impl IntoEndpoints for &str {
    fn into_endpoints(self) -> Result<Endpoints, EndpointError> {
        self.parse()
    }
}

impl IntoEndpoints for &String {
    fn into_endpoints(self) -> Result<Endpoints, EndpointError> {
        self.parse()
    }
}

impl IntoEndpoints for Endpoint {
    fn into_endpoints(self) -> Result<Endpoints, EndpointError> {
        Ok(Endpoints::of(self))
    }
}

impl IntoEndpoints for &Endpoint {
    fn into_endpoints(self) -> Result<Endpoints, EndpointError> {
        Ok(Endpoints::of(self.clone()))
    }
}

impl IntoEndpoints for &[Endpoint] {
    fn into_endpoints(self) -> Result<Endpoints, EndpointError> {
        let names = self.iter().map(ToString::to_string).collect();
        Ok(Endpoints { fixed: self.iter().cloned().map(Listed::from).collect(), names, resolvers: Vec::new() })
    }
}

impl IntoEndpoints for &[Listed] {
    fn into_endpoints(self) -> Result<Endpoints, EndpointError> {
        let names = self.iter().map(ToString::to_string).collect();
        Ok(Endpoints { fixed: self.to_vec(), names, resolvers: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_is_written() {
        let endpoints: Endpoints = "shm://a, file:///tmp/servers ,udp://1.2.3.4:5".parse().unwrap();
        assert_eq!((endpoints.fixed.len(), endpoints.resolvers.len()), (2, 1));
        assert_eq!(endpoints.to_string(), "shm://a,file:///tmp/servers,udp://1.2.3.4:5");
        assert!(endpoints.only().is_none() && "shm://a".parse::<Endpoints>().unwrap().only().is_some());
        assert_eq!("shm://a?weight=2,shm://b".parse::<Endpoints>().unwrap().fixed[0].weight.get(), 2);
        assert!("shm://a?zone=b".parse::<Endpoints>().unwrap().only().is_some());
        assert!("shm://a,".parse::<Endpoints>().is_err() && "".parse::<Endpoints>().is_err());
    }
}
