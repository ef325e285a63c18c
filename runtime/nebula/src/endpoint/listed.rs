//! A server in a list: its endpoint, weight and zone.

use super::address::{Endpoint, EndpointError};
use nebula_requester::Standing;
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

/// A server among several: its endpoint, weight and zone.
///
/// As text, the endpoint and then `?weight=3&zone=a` or one of both. The weight is 1 to 65,535, by
/// default 1. The zone is named as `shm://` endpoints are, and compared with the client's
/// ([`ClientConfig::zone`](crate::ClientConfig::zone)).
///
/// # Examples
///
/// ```
/// let listed: nebula::Listed = "udp://10.0.0.1:7400?weight=3&zone=a".parse()?;
/// assert_eq!((listed.endpoint.to_string(), listed.weight.get()), ("udp://10.0.0.1:7400".to_string(), 3));
/// assert_eq!(listed.to_string(), "udp://10.0.0.1:7400?weight=3&zone=a");
/// # Ok::<(), nebula::EndpointError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Listed {
    /// Its endpoint.
    pub endpoint: Endpoint,
    /// Its share of the RPCs, relative to the others.
    pub weight: NonZeroU16,
    /// Its zone, if any.
    pub zone: Option<String>,
}

const ZONE_BYTES_MAX: usize = 64;

impl Listed {
    /// The standing of the server at a client of `zone`. A server of another zone is far.
    pub(crate) fn standing(&self, zone: Option<&str>) -> Standing {
        let is_far = self.zone.is_some() && zone.is_some() && self.zone.as_deref() != zone;
        Standing::default().weight(self.weight.get()).far(is_far)
    }
}

impl From<Endpoint> for Listed {
    fn from(endpoint: Endpoint) -> Self {
        Self { endpoint, weight: NonZeroU16::MIN, zone: None }
    }
}

impl FromStr for Listed {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let Some((endpoint, parameters)) = text.split_once('?') else { return text.parse().map(Endpoint::into) };
        let mut listed = Self::from(endpoint.parse::<Endpoint>()?);
        let (mut has_weight, wrong) = (false, || EndpointError::Parameter(text.to_owned()));
        for parameter in parameters.split('&') {
            match parameter.split_once('=') {
                Some(("weight", weight)) if !has_weight => {
                    listed.weight = weight.parse().map_err(|_| wrong())?;
                    has_weight = true;
                }
                Some(("zone", zone)) if listed.zone.is_none() && is_zone(zone) => listed.zone = Some(zone.to_owned()),
                _ => return Err(wrong()),
            }
        }
        Ok(listed)
    }
}

fn is_zone(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= ZONE_BYTES_MAX && name.chars().all(is_plain)
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = (self.weight.get() > 1).then(|| format!("weight={}", self.weight));
        let zone = self.zone.as_ref().map(|zone| format!("zone={zone}"));
        let parameters: Vec<_> = weight.into_iter().chain(zone).collect();
        let mark = if parameters.is_empty() { "" } else { "?" };
        write!(f, "{}{mark}{}", self.endpoint, parameters.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_they_are_written() {
        for text in ["shm://a", "shm://a?weight=2", "udp://[::1]:7?zone=b-1", "udp://1.2.3.4:5?weight=65535&zone=a.b"] {
            assert_eq!(text.parse::<Listed>().unwrap().to_string(), text);
        }
        assert_eq!("shm://a?zone=b&weight=1".parse::<Listed>().unwrap().to_string(), "shm://a?zone=b");
    }

    #[test]
    fn what_is_no_parameter_is_said_in_one_line() {
        let bad = [
            "?",
            "?weight=0",
            "?weight=65536",
            "?weight=",
            "?zone=",
            "?zone=a b",
            "?zone=a&zone=b",
            "?weight=1&weight=1",
            "?w=1",
        ];
        for bad in bad.map(|bad| format!("shm://a{bad}")) {
            let said = bad.parse::<Listed>().unwrap_err().to_string();
            assert!(said.contains("expected ?weight=") && !said.contains('\n'), "{bad}: {said}");
        }
    }

    #[test]
    fn far_is_what_says_another_zone() {
        let far = |server: &str, client: Option<&str>| {
            let listed: Listed = format!("shm://a{server}").parse().unwrap();
            listed.standing(client) == Standing::default().far(true)
        };
        assert!(far("?zone=b", Some("a")));
        assert!(!far("?zone=a", Some("a")) && !far("", Some("a")) && !far("?zone=b", None));
    }
}
