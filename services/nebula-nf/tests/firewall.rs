//! Rules are read or refused with their line, and the first that matches decides, as it does when
//! each is asked bit by bit.

use crate::frames::end;
use nebula_nf::firewall::{Rules, Verdict};
use nebula_nf::{Endpoint, Flow, Protocol};
use std::fmt::Write;

fn flow(protocol: Protocol, from: &str, to: &str) -> Flow {
    Flow { protocol, from: end(from), to: end(to) }
}

#[test]
fn the_first_rule_that_matches_decides() {
    let rules: Rules = "# names
deny udp 10.1.0.9 -> any 53   # not this one
allow udp 10.0.0.0/8 -> any 53
allow udp any 53 -> 10.0.0.0/8
allow tcp any 1024-65535 -> 10.2.0.0/16 any
allow icmp any -> any
allow 47 10.1.0.0/16 -> any
default deny
"
    .parse()
    .unwrap();
    let verdict = |protocol, from, to| rules.verdict(&flow(protocol, from, to));
    for (from, to) in [("10.1.0.2:4000", "8.8.8.8:53"), ("8.8.8.8:53", "10.1.0.2:4000")] {
        assert_eq!(verdict(Protocol::Udp, from, to), Verdict::Allow);
    }
    assert_eq!(verdict(Protocol::Udp, "10.1.0.9:4000", "8.8.8.8:53"), Verdict::Deny);
    assert_eq!(verdict(Protocol::Udp, "11.1.0.2:4000", "8.8.8.8:53"), Verdict::Deny);
    assert_eq!(verdict(Protocol::Tcp, "11.1.0.2:1023", "10.2.0.2:22"), Verdict::Deny);
    assert_eq!(verdict(Protocol::Tcp, "11.1.0.2:1024", "10.2.0.2:22"), Verdict::Allow);
    assert_eq!(verdict(Protocol::Icmp, "1.2.3.4:0", "4.3.2.1:0"), Verdict::Allow);
    assert_eq!(verdict(Protocol::Other(47), "10.1.0.2:0", "4.3.2.1:0"), Verdict::Allow);
    assert_eq!(rules.len(), 6);
    assert_eq!("".parse::<Rules>().unwrap().verdict(&flow(Protocol::Udp, "1.1.1.1:1", "2.2.2.2:2")), Verdict::Deny);
}

#[test]
fn what_is_no_rule_is_refused_with_its_line() {
    for (rule, why) in [
        ("permit udp any -> any", "expected allow, deny or default"),
        ("allow", "expected PROTOCOL ADDRESS"),
        ("allow udp any any", "expected PROTOCOL ADDRESS"),
        ("allow -> any", "expected PROTOCOL ADDRESS"),
        ("allow udp -> any", "expected an address and perhaps ports"),
        ("allow udp any ->", "expected an address and perhaps ports"),
        ("allow udp any 1 2 -> any", "expected an address and perhaps ports"),
        ("allow quic any -> any", "expected udp, tcp, icmp, any or a number"),
        ("allow 256 any -> any", "expected udp, tcp, icmp, any or a number"),
        ("allow udp 10.0.0/8 -> any", "expected an address such as"),
        ("allow udp 10.0.0.0/33 -> any", "expected an address such as"),
        ("allow udp 10.0.0.1/8 -> any", "write 10.0.0.0/8"),
        ("allow udp any 70000 -> any", "expected ports such as"),
        ("allow udp any 9-8 -> any", "expected ports such as"),
        ("allow icmp any 8 -> any", "ports are those of udp or tcp"),
        ("allow any any -> any 53", "ports are those of udp or tcp"),
        ("default allow\nallow udp any -> any", "nothing may stand behind the default"),
        ("default maybe", "expected allow, deny or default"),
    ] {
        let error = format!("# first\n{rule}").parse::<Rules>().unwrap_err();
        assert!(error.what.contains(why), "{rule}: {error}");
        assert_eq!(error.line, 1 + rule.lines().count(), "{rule}");
    }
}

#[test]
fn rules_decide_as_bit_by_bit() {
    nebula_testing::seeded(|u| {
        let (mut text, mut model) = (String::new(), Vec::new());
        let small = |u: &mut nebula_testing::arbitrary::Unstructured<'_>| u.int_in_range(0..=3_u32);
        for _ in 0..u.int_in_range(0..=6)? {
            let (allows, bits) = (u.arbitrary::<bool>()?, u.int_in_range(0..=32_u32)?);
            let network =
                if bits == 0 { 0 } else { small(u)? << 30 | small(u)? } >> (32 - bits.max(1)) << (32 - bits.max(1));
            let (first, more) = (u.int_in_range(0..=4_u16)?, u.int_in_range(0..=4_u16)?);
            let verdict = if allows { "allow" } else { "deny" };
            let ip = std::net::Ipv4Addr::from(network);
            writeln!(text, "{verdict} udp {ip}/{bits} {first}-{} -> any", first + more).unwrap();
            model.push((allows, network, bits, first..=first + more));
        }
        let rules: Rules = text.parse().unwrap();
        for _ in 0..20 {
            let from = Endpoint { ip: (small(u)? << 30 | small(u)?).into(), port: u.int_in_range(0..=9)? };
            let ip = u32::from(from.ip);
            let same = |network: u32, bits: u32| (0..bits).all(|bit| (ip ^ network) >> (31 - bit) & 1 == 0);
            let rule =
                model.iter().find(|(_, network, bits, ports)| same(*network, *bits) && ports.contains(&from.port));
            let expected = if rule.is_some_and(|rule| rule.0) { Verdict::Allow } else { Verdict::Deny };
            assert_eq!(
                rules.verdict(&Flow { protocol: Protocol::Udp, from, to: end("1.2.3.4:5") }),
                expected,
                "{text}{from}"
            );
        }
        Ok(())
    });
}
