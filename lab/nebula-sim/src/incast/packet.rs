//! How long is a packet?

use nebula_nic::Mtu;

/// Payload of a packet: that of the runtime over UDP.
pub const PACKET_BYTES: u32 = 1088;

/// Bytes on the link of a packet without its payload: frame and message of the UDP transport, UDP,
/// IPv4, and Ethernet with preamble and gap.
pub const OVERHEAD_BYTES: u32 = 32 + 32 + 8 + 20 + 38;

pub(crate) const fn mtu() -> Mtu {
    match Mtu::try_new(PACKET_BYTES) {
        Ok(mtu) => mtu,
        Err(_) => Mtu::MIN,
    }
}
