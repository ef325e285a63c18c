//! Kernel UDP over the loopback network: boundaries, offloads, many peers, refusals, addresses,
//! waiting.
#![cfg(not(loom))]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failing step fails the test; skipped cases are printed"
)]

use nebula_sys::udp::{DATAGRAM_BYTES_MAX, DROP_RULES_MAX, DropRule, GroupKey, Offload, Received, UdpSocket};
use nebula_testing::wait::{Limit, WAIT_MAX};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

const V4: &str = "127.0.0.1:0";
const V6: &str = "[::1]:0";
/// The loopback addresses of this machine; IPv6 may be switched off.
fn families() -> Vec<SocketAddr> {
    let families = [V4, V6].map(|text| text.parse::<SocketAddr>().unwrap());
    let (here, missing): (Vec<_>, Vec<_>) = families.into_iter().partition(|&at| UdpSocket::bind(at).is_ok());
    missing.iter().for_each(|at| println!("skipped: this machine has no {at}"));
    here
}

/// Every offload that the kernel supports, each offload alone, and none.
const OFFLOADS: [Offload; 4] = [
    Offload { gso: true, gro: true },
    Offload { gso: true, gro: false },
    Offload { gso: false, gro: true },
    Offload::OFF,
];

/// Client and server at `at` with these offloads, as far as the kernel supports them.
fn pair(at: SocketAddr, offload: Offload) -> (UdpSocket, UdpSocket) {
    let mut server = UdpSocket::bind(at).unwrap();
    let mut client = UdpSocket::connect(server.local()).unwrap();
    server.set_offload(offload).unwrap();
    client.set_offload(offload).unwrap();
    (client, server)
}

/// Receives `count` datagrams.
fn take(socket: &mut UdpSocket, count: usize) -> Vec<(Received, Vec<u8>)> {
    let (limit, mut taken) = (Limit::new("datagrams"), Vec::new());
    while taken.len() < count {
        limit.check();
        socket.wait(Some(Duration::from_millis(100)), None).unwrap();
        socket.recv(&mut |received, datagram| taken.push((received, datagram.to_vec()))).unwrap();
    }
    assert_eq!(socket.recv(&mut |_, _| {}).unwrap(), 0, "nothing arrives twice");
    taken
}

/// A datagram that encodes its number and its length.
fn datagram(n: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| u8::try_from((n * 31 + at * 7 + bytes) % 251).unwrap()).collect()
}

/// Sends datagrams of `lengths` one by one and expects them in order.
fn boundaries_are_kept(at: SocketAddr, offload: Offload, lengths: &[usize]) {
    let (mut client, mut server) = pair(at, offload);
    let sent: Vec<_> = lengths.iter().enumerate().map(|(n, &bytes)| datagram(n, bytes)).collect();
    for datagram in &sent {
        client.queue(server.local(), None, datagram, datagram.len()).unwrap();
    }
    client.flush().unwrap();
    let taken = take(&mut server, sent.len());
    for ((received, datagram), sent) in taken.iter().zip(&sent) {
        assert!(datagram == sent, "a datagram of {} bytes arrived with {}", sent.len(), datagram.len());
        assert_eq!(received.from.ip(), at.ip());
    }
    assert_eq!((client.dropped(), server.dropped()), (0, 0));
}

fn everywhere(test: impl Fn(SocketAddr, Offload)) {
    for at in families() {
        OFFLOADS.iter().for_each(|&offload| test(at, offload));
    }
}

#[test]
fn datagrams_of_one_length_keep_their_boundaries() {
    everywhere(|at, offload| boundaries_are_kept(at, offload, &[64; 300]));
}

#[test]
fn datagrams_of_mixed_lengths_keep_their_boundaries() {
    let lengths: Vec<_> = (0..300).map(|n| [1, 64, 64, 64, 63, 1200, 1200, 7, 1500, 1500][n * n % 10]).collect();
    everywhere(|at, offload| boundaries_are_kept(at, offload, &lengths));
}

#[test]
fn a_datagram_can_be_as_short_as_1_byte_and_as_long_as_the_link_takes() {
    everywhere(|at, offload| {
        let longest = if at.is_ipv4() { DATAGRAM_BYTES_MAX } else { 65_536 - 48 };
        boundaries_are_kept(at, offload, &[1, longest, 2, 40_000, 40_000, longest, 1]);
    });
}

#[test]
fn a_run_of_bytes_is_cut_into_datagrams() {
    everywhere(|at, offload| {
        let (mut client, mut server) = pair(at, offload);
        let bytes = datagram(3, 300 * 100 + 17);
        client.queue(server.local(), None, &bytes, 100).unwrap();
        client.flush().unwrap();
        let taken = take(&mut server, 301);
        let lengths: Vec<_> = taken.iter().map(|(_, datagram)| datagram.len()).collect();
        assert_eq!(lengths[..300], [100; 300]);
        assert_eq!(taken.concat_bytes(), bytes);
    });
}

trait ConcatBytes {
    fn concat_bytes(&self) -> Vec<u8>;
}

impl ConcatBytes for Vec<(Received, Vec<u8>)> {
    fn concat_bytes(&self) -> Vec<u8> {
        self.iter().flat_map(|(_, datagram)| datagram.iter().copied()).collect()
    }
}

#[test]
fn a_full_arena_is_flushed() {
    everywhere(|at, offload| {
        let (mut client, mut server) = pair(at, offload);
        for n in 0..40 {
            client.queue(server.local(), None, &datagram(n, 20_000), 10_000).unwrap();
        }
        client.flush().unwrap();
        assert_eq!(take(&mut server, 80).concat_bytes().len(), 800_000);
    });
}

#[test]
fn one_flush_serves_many_peers() {
    everywhere(|at, offload| {
        let mut server = UdpSocket::bind(at).unwrap();
        server.set_offload(offload).unwrap();
        let mut clients: Vec<_> = (0..100).map(|_| UdpSocket::connect(server.local()).unwrap()).collect();
        for (n, client) in clients.iter_mut().enumerate() {
            client.queue(server.local(), None, &datagram(n, 90), 30).unwrap();
            client.flush().unwrap();
        }
        for (received, datagram) in take(&mut server, 300) {
            server.queue(received.from, None, &datagram, datagram.len()).unwrap();
        }
        server.flush().unwrap();
        for (n, client) in clients.iter_mut().enumerate() {
            assert_eq!(take(client, 3).concat_bytes(), datagram(n, 90), "client {n} gets its own");
        }
    });
}

#[test]
fn a_connected_socket_exchanges_datagrams_only_with_its_peer() {
    everywhere(|at, offload| {
        let (mut client, mut server) = pair(at, offload);
        let mut stranger = UdpSocket::bind(at).unwrap();
        client.queue(server.local(), None, b"hello", 5).unwrap();
        client.flush().unwrap();
        let (received, _) = take(&mut server, 1)[0];
        stranger.queue(received.from, None, b"forged", 6).unwrap();
        stranger.flush().unwrap();
        server.queue(received.from, None, b"true", 4).unwrap();
        server.flush().unwrap();
        let taken = take(&mut client, 1);
        assert_eq!(taken[0].1, b"true");
        assert_eq!(taken[0].0.from, server.local());
        assert_eq!(client.queue(stranger.local(), None, b"x", 1).unwrap_err().kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_refusal_is_reported_and_later_datagrams_are_sent() {
    for at in families() {
        let first = UdpSocket::bind(at).unwrap();
        let address = first.local();
        let mut client = UdpSocket::connect(address).unwrap();
        drop(first);
        client.queue(address, None, b"into the void", 13).unwrap();
        client.flush().unwrap();
        // On the loopback network the refusal has arrived when the send returns.
        assert_eq!(client.recv(&mut |_, _| {}).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(client.recv(&mut |_, _| {}).unwrap(), 0, "a refusal is reported once");
        client.queue(address, None, b"into the void", 13).unwrap();
        client.flush().unwrap();
        let mut second = UdpSocket::bind(address).unwrap();
        client.queue(address, None, b"heard", 5).unwrap();
        assert_eq!(client.flush().unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert_eq!(take(&mut second, 1)[0].1, b"heard");
        assert_eq!(client.dropped(), 0);
    }
}

#[test]
fn an_unspecified_socket_replies_from_the_address_it_was_addressed_at() {
    let cases = [("0.0.0.0:0", "127.0.0.2"), ("[::]:0", "::1"), ("[::]:0", "127.0.0.2")];
    for (at, asked) in cases {
        let Ok(mut server) = UdpSocket::bind(at.parse().unwrap()) else {
            println!("skipped: this machine has no {at}");
            continue;
        };
        let asked: IpAddr = asked.parse().unwrap();
        // The client's socket is connected, so it receives nothing from another address.
        let mut client = UdpSocket::connect((asked, server.local().port()).into()).unwrap();
        for segments in [1, 5] {
            client.queue(client.peer().unwrap(), None, &vec![5; 10 * segments], 10).unwrap();
            client.flush().unwrap();
            for (received, datagram) in take(&mut server, segments) {
                assert_eq!(received.to.map(|to| to.to_canonical()), Some(asked));
                server.queue(received.from, received.to, &datagram, 10).unwrap();
            }
            server.flush().unwrap();
            assert_eq!(take(&mut client, segments).concat_bytes(), vec![5; 10 * segments]);
        }
    }
}

#[test]
fn a_socket_with_an_address_reports_no_local_address() {
    for at in families() {
        let (mut client, mut server) = pair(at, Offload::OFF);
        client.queue(server.local(), None, b"x", 1).unwrap();
        client.flush().unwrap();
        assert_eq!(take(&mut server, 1)[0].0.to, None);
    }
}

#[test]
fn what_the_kernel_does_not_accept_is_dropped_and_counted() {
    let (mut client, server) = pair(V4.parse().unwrap(), Offload::OFF);
    let mut unconnected = UdpSocket::bind(V4.parse().unwrap()).unwrap();
    // Port 0 is not reachable; the datagrams before and after it are.
    for to in [server.local(), "127.0.0.1:0".parse().unwrap(), server.local()] {
        unconnected.queue(to, None, &[1; 30], 10).unwrap();
    }
    unconnected.flush().unwrap();
    assert_eq!(unconnected.dropped(), 3);
    assert_eq!(
        unconnected.offload(),
        UdpSocket::bind(V4.parse().unwrap()).unwrap().offload(),
        "segmentation is not to blame"
    );
    let mut server = server;
    assert_eq!(take(&mut server, 6).len(), 6);
    assert_eq!(client.queue(server.local(), None, &[0; 70_000], 70_000).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn an_offload_that_is_off_stays_off() {
    let (client, _) = pair(V4.parse().unwrap(), Offload::OFF);
    assert_eq!(client.offload(), Offload::OFF);
}

#[test]
fn the_route_over_the_loopback_network_has_its_mtu() {
    for at in families() {
        let (client, server) = pair(at, Offload::OFF);
        assert!(client.route_mtu().is_some_and(|mtu| mtu >= 1280), "{:?}", client.route_mtu());
        assert_eq!(server.route_mtu(), None, "an unconnected socket has no single route");
    }
}

#[test]
fn a_wait_ends_by_a_datagram_a_wakeup_or_a_timeout() {
    let (mut client, server) = pair(V4.parse().unwrap(), Offload::OFF);
    let (wake, mut waker) = std::os::unix::net::UnixStream::pair().unwrap();
    let woken = server.wait(Some(Duration::from_millis(20)), Some(wake.as_fd())).unwrap();
    assert!(!woken.datagram && !woken.wake);
    client.queue(server.local(), None, b"x", 1).unwrap();
    client.flush().unwrap();
    let woken = server.wait(Some(WAIT_MAX), Some(wake.as_fd())).unwrap();
    assert!(woken.datagram && !woken.wake);
    waker.write_all(b"!").unwrap();
    let woken = server.wait(None, Some(wake.as_fd())).unwrap();
    assert!(woken.datagram && woken.wake);
}

#[test]
fn a_wait_ends_when_a_datagram_comes_from_another_thread() {
    let (mut client, server) = pair(V4.parse().unwrap(), Offload::OFF);
    let to = server.local();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| server.wait(None, None).unwrap());
        client.queue(to, None, b"x", 1).unwrap();
        client.flush().unwrap();
        assert!(waiter.join().unwrap().datagram);
    });
}

/// Byte 0 says 9 where any socket will do; byte 2 names the socket.
const KEY: GroupKey = GroupKey { owner_at: 2, kind_at: 0, for_anyone: 9 };

#[test]
fn a_group_of_sockets_divides_datagrams_by_what_they_say_and_not_by_where_they_come_from() {
    for at in families() {
        let mut group = UdpSocket::bind_group(at, 3, Some(KEY)).unwrap();
        let to = group[0].local();
        assert!(group.iter().all(|socket| socket.local() == to));
        for _ in 0..4 {
            let mut client = UdpSocket::connect(to).unwrap();
            for owner in 0..12 {
                client.queue(to, None, &[1, 0, owner, 7], 4).unwrap();
                client.flush().unwrap();
            }
        }
        for (number, socket) in (0..).zip(&mut group) {
            let owners: Vec<u8> = take(socket, 16).iter().map(|(_, datagram)| datagram[2]).collect();
            assert_eq!(owners, [number, number + 3, number + 6, number + 9].repeat(4));
        }
    }
}

#[test]
fn without_a_key_each_sender_has_one_socket_of_a_group() {
    for at in families() {
        let mut group = UdpSocket::bind_group(at, 2, None).unwrap();
        let to = group[0].local();
        let mut clients: Vec<_> = (0..64).map(|_| UdpSocket::connect(to).unwrap()).collect();
        for (number, client) in (0..).zip(&mut clients) {
            (0..4).for_each(|_| client.queue(to, None, &[number], 1).unwrap());
            client.flush().unwrap();
        }
        let mut taken = [[0_usize; 2]; 64];
        let limit = Limit::new("datagrams of all senders");
        while taken.iter().flatten().sum::<usize>() < 64 * 4 {
            limit.check();
            for (place, socket) in group.iter_mut().enumerate() {
                socket.recv(&mut |_, datagram| taken[usize::from(datagram[0])][place] += 1).unwrap();
            }
        }
        assert!(taken.iter().all(|taken| *taken == [4, 0] || *taken == [0, 4]), "{taken:?}");
        // The kernel hashes: all 64 at one socket is as likely as 64 heads in a row.
        assert!((0..2).all(|place| taken.iter().any(|taken| taken[place] > 0)), "{taken:?}");
    }
}

#[test]
fn what_is_for_anyone_is_spread_over_a_group_and_what_is_too_short_goes_to_the_first() {
    let mut group = UdpSocket::bind_group(V4.parse().unwrap(), 2, Some(KEY)).unwrap();
    let to = group[0].local();
    let mut client = UdpSocket::connect(to).unwrap();
    for datagram in std::iter::repeat_n(&[9, 0, 1][..], 64).chain([&[1, 0][..], &[]]) {
        client.queue(to, None, datagram, 3).unwrap();
        client.flush().unwrap();
    }
    let mut taken = [0, 0];
    let limit = Limit::new("datagrams for anyone");
    while taken[0] + taken[1] < 65 {
        limit.check();
        for (socket, taken) in group.iter_mut().zip(&mut taken) {
            *taken += socket.recv(&mut |_, _| {}).unwrap();
        }
    }
    // The kernel draws: all 64 at one socket is as likely as 64 heads in a row.
    assert!(taken[0] > 1 && taken[1] > 0, "{taken:?}");
}

#[test]
fn an_address_that_a_group_has_is_taken_for_everybody_else() {
    let group = UdpSocket::bind_group(V4.parse().unwrap(), 2, Some(KEY)).unwrap();
    let at = group[0].local();
    assert_eq!(UdpSocket::bind_group(at, 2, Some(KEY)).unwrap_err().kind(), ErrorKind::AddrInUse);
    assert_eq!(UdpSocket::bind(at).unwrap_err().kind(), ErrorKind::AddrInUse);
    for sockets in [0, 257] {
        let at = V4.parse().unwrap();
        assert_eq!(UdpSocket::bind_group(at, sockets, Some(KEY)).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

/// Datagrams of `senders[at]` for each `at`, of 1,000 that each sends and that have `word` at byte
/// 4.
fn passed(server: &mut UdpSocket, senders: &mut [UdpSocket], word: u32) -> Vec<usize> {
    let to = server.local();
    let mut counts = vec![0; senders.len()];
    let datagram = [[9; 4], word.to_be_bytes()].concat();
    for _ in 0..50 {
        for sender in senders.iter_mut() {
            (0..20).for_each(|_| sender.queue(to, None, &datagram, 8).unwrap());
            // One buffer each: what is sent as one is dropped as one.
            sender.flush().unwrap();
        }
        let mut visit = |received: Received, _: &mut [u8]| {
            let of_it = |sender: &UdpSocket| sender.local().port() == received.from.port();
            counts[senders.iter().position(of_it).unwrap()] += 1;
        };
        while server.recv(&mut visit).unwrap() > 0 {}
    }
    counts
}

#[test]
fn the_kernel_drops_what_the_rules_name_and_nothing_else() {
    for at in families() {
        let mut server = UdpSocket::bind(at).unwrap();
        let mut senders: Vec<_> = (0..3).map(|_| UdpSocket::connect(server.local()).unwrap()).collect();
        senders.iter_mut().for_each(|sender| sender.set_offload(Offload::OFF).unwrap());
        let rule = |sender: &UdpSocket, pass| DropRule { from: sender.local(), word_at: 4, word: [0, 0, 0, 7], pass };
        assert_eq!(passed(&mut server, &mut senders, 7), [1000, 1000, 1000]);
        server.set_drop_rules(&[rule(&senders[0], 0), rule(&senders[2], 1 << 31)]).unwrap();
        let half = passed(&mut server, &mut senders, 7);
        assert_eq!(half[..2], [0, 1000]);
        assert!((350..650).contains(&half[2]), "{half:?}");
        assert_eq!(passed(&mut server, &mut senders, 8), [1000, 1000, 1000], "another word");
        let (to, short) = (server.local(), [9; 7]);
        senders[0].queue(to, None, &short, 7).unwrap();
        senders[0].flush().unwrap();
        assert_eq!(take(&mut server, 1)[0].1, short, "too short to have the word");
        server.set_drop_rules(&[]).unwrap();
        server.set_drop_rules(&[]).unwrap();
        assert_eq!(passed(&mut server, &mut senders, 7), [1000, 1000, 1000]);
    }
}

#[test]
fn a_socket_takes_as_many_rules_as_are_promised() {
    for at in families() {
        let mut server = UdpSocket::bind(at).unwrap();
        let mut client = UdpSocket::connect(server.local()).unwrap();
        let other = DropRule { from: server.local(), word_at: 16, word: [0; 4], pass: 0 };
        let last = DropRule { from: client.local(), word_at: 0, word: *b"last", pass: 0 };
        let mut rules = vec![other; DROP_RULES_MAX - 1];
        rules.push(last);
        server.set_drop_rules(&rules).unwrap();
        let to = server.local();
        for said in [b"last", b"next"] {
            client.queue(to, None, said, 4).unwrap();
            client.flush().unwrap();
        }
        assert_eq!(take(&mut server, 1)[0].1, b"next");
        rules.push(last);
        assert_eq!(server.set_drop_rules(&rules).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
