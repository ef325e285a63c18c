//! The kernel's tables of neighbors and routes, of the network namespace of this thread.

use super::headers::Mac;
use std::fs;
use std::io;
use std::net::Ipv4Addr;

pub(super) fn arp() -> io::Result<String> {
    fs::read_to_string("/proc/thread-self/net/arp")
}

pub(super) fn routes() -> io::Result<String> {
    fs::read_to_string("/proc/thread-self/net/route")
}

/// The Ethernet address of `peer` (columns of `/proc/net/arp`: address, kind, flags, Ethernet
/// address, mask, interface).
pub(super) fn neighbor(table: &str, interface: &str, peer: Ipv4Addr) -> Option<Mac> {
    const IS_COMPLETE: u32 = 2;
    table.lines().skip(1).find_map(|line| {
        let [ip, _, flags, mac, _, device] = line.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
        let flags = u32::from_str_radix(flags.strip_prefix("0x")?, 16).ok()?;
        let is_it = ip.parse() == Ok(peer) && device == interface && flags & IS_COMPLETE != 0;
        let bytes = mac.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect::<Option<Vec<u8>>>()?;
        is_it.then(|| bytes.try_into().ok()).flatten()
    })
}

/// The next hop to `peer` by the most specific route: the peer or a router. Columns of
/// `/proc/net/route`: interface, destination, router, …, mask as the 8th; addresses in the
/// machine's byte order.
pub(super) fn next_hop(table: &str, interface: &str, peer: Ipv4Addr) -> Option<Ipv4Addr> {
    let ip = |text: &str| Some(Ipv4Addr::from(u32::from_str_radix(text, 16).ok()?.to_ne_bytes()));
    let routes = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let &[device, destination, router, _, _, _, _, mask, ..] = columns.as_slice() else { return None };
        let (destination, router, mask) = (ip(destination)?, ip(router)?, ip(mask)?);
        (device == interface && peer & mask == destination).then_some((mask, router))
    });
    let (_, router) = routes.max_by_key(|(mask, _)| *mask)?;
    Some(if router.is_unspecified() { peer } else { router })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARP: &str = "IP address       HW type     Flags       HW address            Mask     Device
10.77.0.2        0x1         0x2         02:00:00:00:00:2a     *        veth0
10.77.0.3        0x1         0x0         00:00:00:00:00:00     *        veth0
10.77.0.4        0x1         0x2         02:00:00:00:00:2b     *        eth0
nonsense
";
    const ROUTE: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
veth0\t00000000\t01004D0A\t0003\t0\t0\t0\t00000000\t0\t0\t0
veth0\t00004D0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth0\t00000B0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
nonsense
";

    fn ip(text: &str) -> Ipv4Addr {
        text.parse().unwrap()
    }

    #[test]
    fn the_kernel_knows_who_has_answered_on_this_interface() {
        assert_eq!(neighbor(ARP, "veth0", ip("10.77.0.2")), Some([2, 0, 0, 0, 0, 0x2a]));
        for unknown in ["10.77.0.3", "10.77.0.4", "10.77.0.5"] {
            assert_eq!(neighbor(ARP, "veth0", ip(unknown)), None);
        }
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn the_most_specific_route_wins() {
        assert_eq!(next_hop(ROUTE, "veth0", ip("10.77.0.9")), Some(ip("10.77.0.9")));
        assert_eq!(next_hop(ROUTE, "veth0", ip("10.11.0.9")), Some(ip("10.77.0.1")));
        assert_eq!(next_hop(ROUTE, "eth0", ip("10.11.0.9")), Some(ip("10.11.0.9")));
        assert_eq!(next_hop(ROUTE, "eth0", ip("10.12.0.9")), None);
    }
}
