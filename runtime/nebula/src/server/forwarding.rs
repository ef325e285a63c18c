//! Servers that packets pass through.

use super::parts::part;
use super::running::{Ground, RunningServer, assemble, checked};
use crate::config::error::ServeError;
use crate::config::server::ServerConfig;
use crate::endpoint::Endpoint;
use crate::net::{Forwarding, PACKET_PREFIX_BYTES, Time};
use crate::nic::transport::Transport;
use crate::transport::packets::counters::PacketCounters;
use crate::transport::packets::port::PacketPort;
use crate::worker::Worker;
use std::sync::Arc;

pub(super) fn open(forwarding: Forwarding, config: ServerConfig) -> Result<(RunningServer, Vec<Worker>), ServeError> {
    let endpoint = Endpoint::Packets(forwarding.device.sides());
    let mut config = checked(&endpoint, config)?;
    if config.parts() > 1 {
        return Err(ServeError::EnginesOverOneWire { engines: config.parts() });
    }
    // Every packet is one of the NIC's, so none waits for the rest of it in the receive buffer.
    let frame_bytes_max = forwarding.device.frame_bytes_max();
    config.rpc_bytes_max = u32::try_from(PACKET_PREFIX_BYTES + frame_bytes_max).unwrap_or(u32::MAX);
    config.mtu_bytes = config.rpc_bytes_max.next_multiple_of(64);
    config.reply_bytes_max = u32::try_from(frame_bytes_max).ok();
    let parts = part(&config, PacketPort::SOURCES)?;
    let counters = Arc::new(PacketCounters::default());
    let port = PacketPort::new(forwarding, config.backend_config()?.slots, counters.clone());
    let ground = Ground::new(endpoint, &config, &Time::Machine)?;
    let (mut running, workers) = assemble(parts, ground, vec![port])?;
    running.set_packets(counters);
    Ok((running, workers))
}
