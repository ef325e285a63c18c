//! Servers by name: `dns://NAME:PORT` is a name's addresses, `srv://NAME` its SRV records.

use super::address::{Endpoint, EndpointError};
use super::listed::Listed;
use super::resolve::{Resolve, ResolveError, Resolved};
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::{Resolver, TokioResolver};
use nebula_nic::Span;
use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Least time between two queries, however short the records' life.
const LIFE_MIN: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);

/// The servers of a name, over UDP. The name is resolved again when its records expire.
#[derive(Debug)]
pub struct Dns {
    question: Question,
    /// The name server, instead of those that this machine is configured with.
    server: Option<SocketAddr>,
    asks: Option<Asks>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Question {
    Address(String, u16),
    Service(String),
}

/// The resolver, made on first use by the thread that uses it.
struct Asks {
    runtime: tokio::runtime::Runtime,
    resolver: TokioResolver,
}

impl fmt::Debug for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asks")
    }
}

impl FromStr for Dns {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let question = match (text.strip_prefix("dns://"), text.strip_prefix("srv://")) {
            (Some(name), _) => name.rsplit_once(':').and_then(|(name, port)| {
                let is_name = !name.is_empty();
                is_name.then_some(Question::Address(name.to_owned(), port.parse().ok()?))
            }),
            (_, Some(name)) => (!name.is_empty()).then(|| Question::Service(name.to_owned())),
            (None, None) => None,
        };
        let question = question.ok_or_else(|| EndpointError::DnsName(text.to_owned()))?;
        Ok(Self { question, server: None, asks: None })
    }
}

impl Dns {
    /// Sets the name server, instead of those that this machine is configured with.
    #[must_use]
    pub fn server(mut self, server: SocketAddr) -> Self {
        self.server = Some(server);
        self
    }

    fn name(&self) -> &str {
        let (Question::Address(name, _) | Question::Service(name)) = &self.question;
        name
    }

    fn asks(&mut self) -> Result<&Asks, ResolveError> {
        if self.asks.is_none() {
            self.asks = Some(Asks::new(self.server).map_err(|cause| self.failed(&cause))?);
        }
        self.asks.as_ref().ok_or_else(|| self.failed("no resolver"))
    }

    fn failed(&self, cause: &str) -> ResolveError {
        ResolveError::Name { name: self.name().to_owned(), cause: cause.to_owned() }
    }
}

impl Asks {
    fn new(server: Option<SocketAddr>) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let builder = match server {
            None => Resolver::builder_tokio().map_err(|error| error.to_string())?,
            Some(server) => {
                let mut connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()];
                connections.iter_mut().for_each(|connection| connection.port = server.port());
                let server = NameServerConfig::new(server.ip(), true, connections.into());
                let config = ResolverConfig::from_name_servers(vec![server]);
                Resolver::builder_with_config(config, TokioRuntimeProvider::default())
            }
        };
        let mut builder = builder;
        builder.options_mut().timeout = PATIENCE;
        let resolver = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { runtime, resolver })
    }

    fn addresses(&self, name: &str) -> Result<Lookup, String> {
        let lookup = self.runtime.block_on(self.resolver.lookup_ip(name));
        lookup.map(|lookup| lookup.as_lookup().clone()).map_err(|error| error.to_string())
    }

    fn servers(&self, name: &str, port: u16) -> Result<(Vec<Endpoint>, Instant), String> {
        let lookup = self.addresses(name)?;
        let addresses = lookup.answers().iter().filter_map(|record| match &record.data {
            RData::A(address) => Some(SocketAddr::from((address.0, port))),
            RData::AAAA(address) => Some(SocketAddr::from((address.0, port))),
            _ => None,
        });
        Ok((addresses.map(Endpoint::Udp).collect(), lookup.valid_until()))
    }

    /// The servers of the SRV records: all of the best priority, by weight. Weight 0 counts as 1,
    /// the least possible.
    fn services(&self, name: &str) -> Result<(Vec<Listed>, Instant), String> {
        let lookup = self.runtime.block_on(self.resolver.srv_lookup(name)).map_err(|error| error.to_string())?;
        let services = || {
            lookup.answers().iter().filter_map(|record| match &record.data {
                RData::SRV(service) => Some(service),
                _ => None,
            })
        };
        let best = services().map(|service| service.priority).min();
        let (mut endpoints, mut until) = (Vec::new(), lookup.valid_until());
        for service in services().filter(|service| Some(service.priority) == best) {
            let (found, valid_until) = self.servers(&service.target.to_utf8(), service.port)?;
            let weight = NonZeroU16::new(service.weight).unwrap_or(NonZeroU16::MIN);
            endpoints.extend(found.into_iter().map(|endpoint| Listed { weight, ..endpoint.into() }));
            until = until.min(valid_until);
        }
        Ok((endpoints, until))
    }
}

impl Resolve for Dns {
    fn resolve(&mut self) -> Result<Resolved, ResolveError> {
        let question = self.question.clone();
        let asks = self.asks()?;
        let found = match &question {
            Question::Address(name, port) => {
                let listed =
                    |(found, until): (Vec<Endpoint>, _)| (found.into_iter().map(Listed::from).collect(), until);
                asks.servers(name, *port).map(listed)
            }
            Question::Service(name) => asks.services(name),
        };
        let (endpoints, until): (Vec<Listed>, _) = found.map_err(|cause| self.failed(&cause))?;
        if endpoints.is_empty() {
            return Err(ResolveError::NoServers { name: self.name().to_owned() });
        }
        let valid_for = until.saturating_duration_since(Instant::now()).max(LIFE_MIN);
        Ok(Resolved { endpoints, valid_for: Span::from(valid_for) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::proto::op::{Message, MessageType, OpCode, ResponseCode};
    use hickory_resolver::proto::rr::rdata::{A, SRV};
    use hickory_resolver::proto::rr::{Name, Record, RecordType};
    use std::net::{Ipv4Addr, UdpSocket};

    fn name_server() -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 1500];
            while let Ok((length, from)) = socket.recv_from(&mut bytes) {
                let Ok(asked) = Message::from_vec(&bytes[..length]) else { continue };
                let answer = answer(&asked);
                let _ = socket.send_to(&answer.to_vec().unwrap(), from);
            }
        });
        at
    }

    fn answer(asked: &Message) -> Message {
        let mut answer = Message::new(asked.id, MessageType::Response, OpCode::Query);
        answer.metadata.recursion_available = true;
        for query in asked.queries.iter().cloned() {
            let (name, kind) = (query.name().clone(), query.query_type());
            answer.add_query(query);
            let record = |data| Record::from_rdata(name.clone(), 30, data);
            let address = |last| record(RData::A(A(Ipv4Addr::new(10, 0, 0, last))));
            let service = |priority, weight, port, target: &str| {
                record(RData::SRV(SRV::new(priority, weight, port, Name::from_utf8(target).unwrap())))
            };
            let records = match (name.to_utf8().as_str(), kind) {
                ("one.test.", RecordType::A) => vec![address(1)],
                ("two.test.", RecordType::A) => vec![address(2), address(3)],
                ("_nebula._udp.test.", RecordType::SRV) => {
                    vec![
                        service(5, 30, 7400, "one.test."),
                        service(5, 0, 7500, "two.test."),
                        service(9, 1, 7600, "one.test."),
                    ]
                }
                _ => Vec::new(),
            };
            if records.is_empty() && !name.to_utf8().starts_with("one") && !name.to_utf8().starts_with("two") {
                answer.metadata.response_code = ResponseCode::NXDomain;
            }
            answer.add_answers(records);
        }
        answer
    }

    fn found(name: &str, server: SocketAddr) -> Result<(Vec<String>, Span), String> {
        let resolved = name.parse::<Dns>().unwrap().server(server).resolve().map_err(|error| error.to_string())?;
        let mut endpoints: Vec<_> = resolved.endpoints.iter().map(ToString::to_string).collect();
        endpoints.sort();
        Ok((endpoints, resolved.valid_for))
    }

    #[test]
    fn names_are_addresses_and_service_records_are_the_best_servers() {
        let server = name_server();
        let (endpoints, valid_for) = found("dns://two.test.:7400", server).unwrap();
        assert_eq!(endpoints, ["udp://10.0.0.2:7400", "udp://10.0.0.3:7400"]);
        assert!(valid_for > Span::from_secs(20) && valid_for <= Span::from_secs(30), "{valid_for}");
        let (endpoints, _) = found("srv://_nebula._udp.test.", server).unwrap();
        assert_eq!(endpoints, ["udp://10.0.0.1:7400?weight=30", "udp://10.0.0.2:7500", "udp://10.0.0.3:7500"]);
        let said = found("dns://nobody.test.:7400", server).unwrap_err();
        assert!(said.starts_with("cannot look nobody.test. up: ") && !said.contains('\n'), "{said}");
    }

    #[test]
    fn what_is_no_name_is_said() {
        for bad in ["dns://", "dns://host", "dns://:7400", "dns://host:70000", "srv://"] {
            let said = bad.parse::<Dns>().unwrap_err().to_string();
            assert!(said.contains("expected dns://NAME:PORT or srv://NAME"), "{said}");
        }
    }
}
