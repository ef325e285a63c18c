//! A firewall without state: the first rule that a packet matches decides, in either direction.
//!
//! ```text
//! # verdict  protocol  from [ports] -> to [ports]
//! allow      udp       10.0.0.0/8 -> any 53
//! allow      udp       any 53 -> 10.0.0.0/8
//! deny       tcp       any -> 10.2.0.0/16 1-1023
//! default    allow
//! ```
//!
//! Without a default, other packets are dropped. Fragments are always dropped: they have no ports.

use crate::chain::{Direction, DropReason, Function};
use crate::flow::{Endpoint, Flow, Protocol};
use crate::packet::Packet;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::str::FromStr;
use nebula_nic::Timestamp;

/// The verdict on packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They pass.
    Allow,
    /// They are dropped.
    Deny,
}

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    ip: u32,
    mask: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    prefix: Prefix,
    /// First and last.
    ports: (u16, u16),
}

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    verdict: Verdict,
    /// `None` for any.
    protocol: Option<Protocol>,
    from: Ends,
    to: Ends,
}

/// The rules of a firewall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    rules: Vec<Rule>,
    default: Verdict,
}

/// An invalid list of rules.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct RuleError {
    /// Counted from 1.
    pub line: usize,
    /// The mistake, and the expectation.
    pub what: String,
}

impl Prefix {
    const ANY: Self = Self { ip: 0, mask: 0 };

    /// Whether an address is among these.
    #[must_use]
    pub const fn contains(self, ip: Ipv4Addr) -> bool {
        ip.to_bits() & self.mask == self.ip
    }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "any" {
            return Ok(Self::ANY);
        }
        let wrong = || alloc::format!("expected an address such as 10.0.0.0/8, 10.0.0.1 or any, not {text}");
        let (ip, bits) = text.split_once('/').unwrap_or((text, "32"));
        let ip: Ipv4Addr = ip.parse().map_err(|_| wrong())?;
        let bits: u32 = bits.parse().ok().filter(|&bits| bits <= 32).ok_or_else(wrong)?;
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        if ip.to_bits() & !mask != 0 {
            let network = Ipv4Addr::from_bits(ip.to_bits() & mask);
            return Err(alloc::format!("{text} has bits behind its prefix: write {network}/{bits}"));
        }
        Ok(Self { ip: ip.to_bits(), mask })
    }
}

fn read_ports(text: &str) -> Result<(u16, u16), String> {
    if text == "any" {
        return Ok((0, u16::MAX));
    }
    let wrong = || alloc::format!("expected ports such as 53, 1024-2047 or any, not {text}");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let [first, last] = [first, last].map(|port| port.parse::<u16>().map_err(|_| wrong()));
    let (first, last) = (first?, last?);
    if first <= last { Ok((first, last)) } else { Err(wrong()) }
}

impl Ends {
    fn read(words: &[&str]) -> Result<Self, String> {
        match words {
            [prefix] => Ok(Self { prefix: prefix.parse()?, ports: (0, u16::MAX) }),
            [prefix, ports] => Ok(Self { prefix: prefix.parse()?, ports: read_ports(ports)? }),
            _ => Err("expected an address and perhaps ports on each side of ->".to_owned()),
        }
    }

    fn has_ports(&self) -> bool {
        self.ports != (0, u16::MAX)
    }

    fn contain(&self, end: Endpoint) -> bool {
        self.prefix.contains(end.ip) && (self.ports.0..=self.ports.1).contains(&end.port)
    }
}

fn read_protocol(text: &str) -> Result<Option<Protocol>, String> {
    Ok(Some(match text {
        "any" => return Ok(None),
        "icmp" => Protocol::Icmp,
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        number => Protocol::from_number(
            number.parse().map_err(|_| alloc::format!("expected udp, tcp, icmp, any or a number, not {text}"))?,
        ),
    }))
}

impl Rule {
    fn read(verdict: Verdict, words: &[&str]) -> Result<Self, String> {
        let arrow = words.iter().position(|&word| word == "->");
        let (Some(arrow @ 1..), Some((protocol, _))) = (arrow, words.split_first()) else {
            return Err("expected PROTOCOL ADDRESS [PORTS] -> ADDRESS [PORTS]".to_owned());
        };
        let protocol = read_protocol(protocol)?;
        let rule =
            Self { verdict, protocol, from: Ends::read(&words[1..arrow])?, to: Ends::read(&words[arrow + 1..])? };
        let has_ports = rule.from.has_ports() || rule.to.has_ports();
        if has_ports && !matches!(protocol, Some(Protocol::Udp | Protocol::Tcp)) {
            return Err("ports are those of udp or tcp: name one of them".to_owned());
        }
        Ok(rule)
    }

    fn matches(&self, flow: &Flow) -> bool {
        self.protocol.is_none_or(|protocol| protocol == flow.protocol)
            && self.from.contain(flow.from)
            && self.to.contain(flow.to)
    }
}

impl FromStr for Rules {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let (mut rules, mut default) = (Vec::new(), None);
        for (line, content) in (1..).zip(text.lines()) {
            let wrong = |what: String| RuleError { line, what };
            let content = content.split('#').next().unwrap_or_default();
            let words: Vec<&str> = content.split_whitespace().collect();
            if default.is_some() && !words.is_empty() {
                return Err(wrong(
                    "nothing may stand behind the default, which all that matches no rule gets".to_owned(),
                ));
            }
            match *words.as_slice() {
                [] => {}
                ["default", "allow"] => default = Some(Verdict::Allow),
                ["default", "deny"] => default = Some(Verdict::Deny),
                ["allow", ref rule @ ..] => rules.push(Rule::read(Verdict::Allow, rule).map_err(wrong)?),
                ["deny", ref rule @ ..] => rules.push(Rule::read(Verdict::Deny, rule).map_err(wrong)?),
                [word, ..] => {
                    return Err(wrong(alloc::format!("expected allow, deny or default allow|deny, not {word}")));
                }
            }
        }
        Ok(Self { rules, default: default.unwrap_or(Verdict::Deny) })
    }
}

impl Rules {
    /// The verdict on a flow.
    ///
    /// # Cost
    ///
    /// O(rules).
    #[must_use]
    pub fn verdict(&self, flow: &Flow) -> Verdict {
        self.rules.iter().find(|rule| rule.matches(flow)).map_or(self.default, |rule| rule.verdict)
    }

    /// The number of rules, without the default.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there is only the default.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

/// The function that filters.
#[derive(Clone, Debug)]
pub struct Firewall {
    rules: Arc<Rules>,
}

impl Firewall {
    /// A firewall with these rules.
    #[must_use]
    pub const fn new(rules: Arc<Rules>) -> Self {
        Self { rules }
    }
}

impl Function for Firewall {
    fn handle(&mut self, _: Timestamp, _: Direction, packet: &mut Packet<'_>) -> Result<(), DropReason> {
        if packet.is_fragment() {
            return Err(DropReason::Fragment);
        }
        match self.rules.verdict(packet.flow()) {
            Verdict::Allow => Ok(()),
            Verdict::Deny => Err(DropReason::Firewall),
        }
    }
}
