//! The final output: packets received, sent and dropped.

use std::fs;
use std::path::Path;

use nebula::{PacketStatus, Status};
use nebula_nf::DropReason;

use super::service::NfService;
use nebula_ui::output::{self, Failure, Row, units};

/// The packets as a row: received ones were sent or dropped.
pub(super) fn summary(statuses: &[Status], packets: PacketStatus, service: &NfService) -> Row {
    let received: u64 = packets.received.iter().sum();
    let sent: u64 = packets.sent.iter().sum();
    let mut row = Row::new()
        .field("received", received)
        .field("received_inside", packets.received[0])
        .field("received_outside", packets.received[1])
        .field("sent", sent)
        .field("sent_inside", packets.sent[0])
        .field("sent_outside", packets.sent[1])
        .field("dropped", received.saturating_sub(sent))
        .field("dropped_refused", packets.refused)
        .field("dropped_no_neighbor", packets.no_neighbor)
        .field("dropped_no_room", packets.no_room)
        .field("dropped_too_long", packets.too_long)
        .field("dropped_failed", packets.failed);
    for reason in DropReason::ALL {
        row = row.field(format!("dropped_{}", reason.name()), service.dropped(reason));
    }
    row = row.field("lost", packets.lost);
    if let Some(status) = statuses.first() {
        row = row
            .field("queue_depth_max", status.queue_depth_max)
            .field("queue_bound", status.queue_bound)
            .field("service_ns_mean", status.service.as_ns_f64())
            .shown("service", units::span(status.service));
    }
    if let Some((total, flows)) = service.counted() {
        row =
            row.field("counted", total.packets).field("counted_bytes", total.bytes).field("counted_flows", flows.len());
    }
    row.shown("received", received.to_string())
        .shown("sent", sent.to_string())
        .shown("dropped", received.saturating_sub(sent).to_string())
        .shown("lost", packets.lost.to_string())
}

/// Writes the flows of the first counter.
pub(super) fn write_flows(file: &Path, service: &NfService) -> Result<(), Failure> {
    let Some((_, mut flows)) = service.counted() else { return Ok(()) };
    flows.sort_by_key(|&(flow, count)| (std::cmp::Reverse(count.packets), flow));
    let row = |&(flow, count): &(nebula_nf::Flow, nebula_nf::counter::Count)| {
        Row::new()
            .field("protocol", flow.protocol.to_string())
            .field("from", flow.from.to_string())
            .field("to", flow.to.to_string())
            .field("packets", count.packets)
            .field("bytes", count.bytes)
    };
    let rows: Vec<Row> = flows.iter().map(row).collect();
    fs::write(file, output::csv(&rows)).map_err(|error| Failure::fault(format!("--flows {}: {error}", file.display())))
}
