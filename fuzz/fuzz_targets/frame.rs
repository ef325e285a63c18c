//! Any bytes as an Ethernet frame: no panic, and a datagram that is read lies in the frame, behind
//! its headers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula::net::datagram_in;

fuzz_target!(|bytes: &[u8]| {
    let mut frame = bytes.to_vec();
    let Some((from, to, datagram)) = datagram_in(&mut frame) else { return };
    let length = datagram.len();
    assert_eq!(datagram, &bytes[42..42 + length]);
    assert_eq!((from.ip().octets().as_slice(), to.ip().octets().as_slice()), (&bytes[26..30], &bytes[30..34]));
    assert_eq!([from.port(), to.port()].map(u16::to_be_bytes).concat(), bytes[34..38]);
});
