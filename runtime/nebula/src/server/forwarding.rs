//! Servers that packets pass through.

use super::drain::Draining;
use super::parts::part;
use super::running::{Ground, RunningServer, assemble, checked, run_workers};
use crate::config::error::ServeError;
use crate::config::server::ServerConfig;
use crate::endpoint::Endpoint;
use crate::net::{Forwarding, PACKET_PREFIX_BYTES, Time, Watch};
use crate::nic::transport::Transport;
use crate::status::Layout;
use crate::transport::packets::counters::PacketCounters;
use crate::transport::packets::port::PacketPort;
use crate::worker::Worker;
use nebula_sys::shared::SharedMemory;
use std::sync::Arc;

pub(super) fn serve(
    forwarding: Forwarding,
    config: ServerConfig,
    run: Arc<dyn Fn(Worker) + Send + Sync>,
) -> Result<RunningServer, ServeError> {
    let (config, threads) = config.with_threads_chosen();
    let (pins, engines) = (config.pin.clone(), config.engine_threads());
    let mut running = run_workers(open(forwarding, config)?, (&pins, engines), &run)?;
    running.set_threads(threads);
    Ok(running)
}

fn open(forwarding: Forwarding, config: ServerConfig) -> Result<(RunningServer, Vec<Worker>), ServeError> {
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
    let (parts, layout) = (part(&config, PacketPort::SOURCES)?, Layout::of(&config));
    let counters = Arc::new(PacketCounters::default());
    let port = PacketPort::new(forwarding, config.backend_config()?.slots, counters.clone());
    let ground = Ground {
        threads: config.threads_of_own(),
        endpoint,
        page: (Arc::new(SharedMemory::create_published("nebula-status", layout.bytes())?), layout),
        draining: Draining::default(),
        registry: Arc::default(),
        listener_waker: None,
        watch: Watch::new(&Time::Machine),
        pin: config.pin,
    };
    let (mut running, workers) = assemble(parts, ground, vec![port])?;
    running.set_packets(counters);
    Ok((running, workers))
}
