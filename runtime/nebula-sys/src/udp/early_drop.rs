//! Drops datagrams before they take room in the socket's buffer, by a program in classic BPF.
//!
//! The program runs where a datagram arrives: on the sender's core in the loopback network,
//! otherwise on the core that serves the network card's interrupt. Dropped datagrams cost the
//! reading thread nothing.

use super::program::{JUMP_IF_EQUAL, LOAD_HALF, LOAD_WORD, RANDOM_AT, attach, step};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Selects datagrams of a sender that the kernel drops by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropRule {
    /// Their source address.
    pub from: SocketAddr,
    /// The offset of `word` in a datagram. The sender's shorter datagrams, and those with other
    /// bytes there, are not dropped.
    pub word_at: u16,
    /// The four bytes at that offset.
    pub word: [u8; 4],
    /// How many of 2³² such datagrams pass; 0: none.
    pub pass: u32,
}

/// The most rules of one socket: their program is a fraction of the kernel's limit.
pub const DROP_RULES_MAX: usize = 32;

const JUMP_IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const LOAD_LENGTH: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_LEN;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
/// A socket's program sees a datagram from its UDP header on.
const UDP_HEADER_BYTES: u32 = 8;
/// The offset of the IP header: `SKF_NET_OFF` of `linux/filter.h`.
const IP_HEADER_AT: u32 = (-0x10_0000_i32).cast_unsigned();
const KEEP_ALL: u32 = u32::MAX;

pub(super) fn set_rules(socket: &UdpSocket, rules: &[DropRule]) -> io::Result<()> {
    if rules.is_empty() {
        return detach(socket);
    }
    if rules.len() > DROP_RULES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a socket has at most 32 rules"));
    }
    attach(socket, libc::SO_ATTACH_FILTER, &program(rules))
}

fn program(rules: &[DropRule]) -> Vec<libc::sock_filter> {
    rules.iter().flat_map(steps_of).chain([step(RETURN, KEEP_ALL, 0)]).collect()
}

/// A test: the load, its offset, the comparison, and the value compared with.
type Test = (u32, u32, u32, u32);

/// The tests of a rule, each of which leads to the next rule if it fails, and then the choice.
fn steps_of(rule: &DropRule) -> Vec<libc::sock_filter> {
    let word_at = UDP_HEADER_BYTES + u32::from(rule.word_at);
    let mut tests: Vec<Test> = vec![
        // First, because a load beyond the end of a datagram ends the program and drops it.
        (LOAD_LENGTH, 0, JUMP_IF_AT_LEAST, word_at + 4),
        (LOAD_WORD, word_at, JUMP_IF_EQUAL, u32::from_be_bytes(rule.word)),
        (LOAD_HALF, 0, JUMP_IF_EQUAL, rule.from.port().into()),
    ];
    match rule.from.ip().to_canonical() {
        IpAddr::V4(ip) => tests.push((LOAD_WORD, IP_HEADER_AT.wrapping_add(12), JUMP_IF_EQUAL, ip.to_bits())),
        IpAddr::V6(ip) => {
            tests.extend((8..).step_by(4).zip(ip.octets().as_chunks().0).map(|(at, bytes)| {
                (LOAD_WORD, IP_HEADER_AT.wrapping_add(at), JUMP_IF_EQUAL, u32::from_be_bytes(*bytes))
            }))
        }
    }
    let choice = [
        step(LOAD_WORD, RANDOM_AT, 0),
        step(JUMP_IF_AT_LEAST, rule.pass, 1),
        step(RETURN, 0, 0),
        step(RETURN, KEEP_ALL, 0),
    ];
    let mut left = 2 * tests.len() + choice.len();
    let mut steps = Vec::with_capacity(left);
    for (load, at, jump, value) in tests {
        left -= 2;
        let to_next_rule = u8::try_from(left).expect("a rule has some twenty steps");
        steps.extend([step(load, at, 0), step(jump, value, to_next_rule)]);
    }
    steps.extend(choice);
    steps
}

fn detach(socket: &UdpSocket) -> io::Result<()> {
    match super::option::detach_filter(socket) {
        // No program was attached.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        detached => detached,
    }
}
