//! Any bytes as a packet's header: decoding never panics, and decoded headers encode to the same
//! bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula_nic::{DomainId, Header, Mtu};

fuzz_target!(|bytes: &[u8]| {
    let domain = match bytes {
        [_, _, low, high, ..] => DomainId(u16::from_le_bytes([*low, *high])),
        _ => DomainId(0),
    };
    assert_eq!(Header::decode(bytes).is_ok(), domain == DomainId(0) && Header::decode_in(bytes, domain).is_ok());
    if let Ok(header) = Header::decode_in(bytes, domain) {
        assert_eq!(header.encode_in(domain), bytes[..Header::BYTES]);
        assert!(Header::decode_in(&bytes[..Header::BYTES - 1], domain).is_err(), "a header cut short was read");
        assert!(
            header.nack_reason().is_none_or(|reason| Header::nack(header.rpc(), reason).nack_reason() == Some(reason))
        );
        cut(&header);
    }
});

/// Splitting an RPC of any length finds each packet's offset in it, whatever the index.
fn cut(header: &Header) {
    for mtu_bytes in [64, 192, 4096] {
        let Ok(mtu) = Mtu::try_new(mtu_bytes) else { continue };
        let packets = mtu.packets(header.rpc_bytes);
        assert_eq!(packets, header.rpc_bytes.div_ceil(mtu_bytes).max(1));
        let bytes = mtu.packet_bytes(header.rpc_bytes, header.pkt_idx);
        assert!(bytes <= mtu_bytes);
        assert_eq!(bytes > 0, header.rpc_bytes > 0 && header.pkt_idx < packets);
    }
}
