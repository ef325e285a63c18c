//! Whose name a request may give for this server.
//!
//! A web page of anybody's can have its own name resolve to this machine, and would then be allowed
//! to read the answers (DNS rebinding). Its requests carry that name: only addresses, `localhost`
//! and the machine's own name are answered.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether `host`, with or without a port, names this machine, which calls itself `machine`.
pub(super) fn is_ours(host: &[u8], machine: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let host = host.trim();
    if let Some((address, port)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.parse::<Ipv6Addr>().is_ok() && (port.is_empty() || port.starts_with(':'));
    }
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_machine = !machine.is_empty() && name.as_bytes().eq_ignore_ascii_case(machine);
    name.parse::<Ipv4Addr>().is_ok() || name.eq_ignore_ascii_case("localhost") || is_machine
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn addresses_localhost_and_the_machine_are_ours_and_other_names_are_not() {
        let ours = "127.0.0.1:9464 10.1.2.3 [::1]:9464 [fe80::1] localhost LOCALHOST:80 localhost. db1 DB1:9464 db1.";
        for host in ours.split(' ') {
            assert!(is_ours(host.as_bytes(), b"db1"), "{host}");
        }
        let foreign = "evil.example evil.example:9464 127.0.0.1.evil.example localhost.evil.example db1.evil.example \
                       [evil.example] [::1]x 2130706433 0x7f.1 db2";
        for host in foreign.split(' ') {
            assert!(!is_ours(host.as_bytes(), b"db1"), "{host}");
        }
        for (host, machine) in [(&b""[..], &b""[..]), (b":80", b""), (b"\xff", b"\xff"), (b"", b"db1")] {
            assert!(!is_ours(host, machine));
        }
    }
}
