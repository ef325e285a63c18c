//! Headers on the wire: written ones read back, and no bytes cause a panic.

use nebula_nic::{DecodeError, DomainId, Header, Kind, Mtu, NodeId, TransferId};

fn header(draw: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<Header> {
    Ok(Header {
        kind: *draw.choose(&[Kind::Request, Kind::Reply, Kind::Nack, Kind::Ack])?,
        snid: NodeId(draw.arbitrary()?),
        tid: TransferId(draw.arbitrary()?),
        rpc_bytes: draw.arbitrary()?,
        pkt_idx: draw.arbitrary()?,
        key_hash: draw.arbitrary()?,
    })
}

#[test]
fn every_header_reads_back_as_written() {
    nebula_testing::seeded(|draw| {
        let (header, domain) = (header(draw)?, DomainId(draw.arbitrary()?));
        assert_eq!(Header::decode_in(&header.encode_in(domain), domain), Ok(header));
        Ok(())
    })
    .runs(200);
}

#[test]
fn any_bytes_decode_without_panic_and_to_what_they_say() {
    nebula_testing::seeded(|draw| {
        let bytes: Vec<u8> = draw.arbitrary()?;
        if let Ok(header) = Header::decode(&bytes) {
            assert_eq!(header.encode(), bytes[..Header::BYTES]);
            let _ = (header.nack_reason(), Mtu::MIN.packets(header.rpc_bytes));
        }
        Ok(())
    })
    .runs(200);
}

#[test]
fn each_fault_has_its_error() {
    let good = Header::default().encode();
    let with = |at: usize, byte: u8| {
        let mut bytes = good;
        bytes[at] = byte;
        Header::decode(&bytes)
    };
    assert_eq!(Header::decode(&good[..23]), Err(DecodeError::TooShort { got: 23 }));
    assert_eq!(with(0, 2), Err(DecodeError::Version { got: 2 }));
    assert_eq!((with(1, 0), with(1, 5)), (Err(DecodeError::Kind { got: 0 }), Err(DecodeError::Kind { got: 5 })));
    assert_eq!(with(3, 1), Err(DecodeError::Domain { got: DomainId(256), expected: DomainId(0) }));
}

#[test]
fn the_bytes_are_where_the_picture_says() {
    let header = Header {
        kind: Kind::Nack,
        snid: NodeId(0x0403_0201),
        tid: TransferId(0x0807_0605),
        rpc_bytes: 0x0c0b_0a09,
        pkt_idx: 0x100f_0e0d,
        key_hash: 0x1413_1211,
    };
    let bytes = header.encode_in(DomainId(0x2221));
    assert_eq!(bytes[..4], [1, 3, 0x21, 0x22]);
    assert!(bytes[4..].iter().copied().eq(1..=20));
}
