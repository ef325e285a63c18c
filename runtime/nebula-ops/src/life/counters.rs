//! The counters that a server prints at its end.

use nebula::Status;

use nebula_ui::output::{Row, units};

/// A server's counters as a row.
pub fn counters(status: &Status) -> Row {
    Row::new()
        .field("served", status.freed)
        .field("nacked", status.nacked())
        .field("nacked_queue_bound", status.nacked_queue_bound)
        .field("nacked_buffer_full", status.nacked_buffer_full)
        .field("nacked_too_large", status.nacked_too_large)
        .field("queue_depth_max", status.queue_depth_max)
        .field("queue_bound", status.queue_bound)
        .field("service_ns_mean", status.service.as_ns_f64())
        .field("buffer_bytes", status.buffer_bytes())
        .field("buffer_bytes_used_max", status.slots_used_max * u64::from(nebula_nic::SLOT_BYTES))
        .field("migrated_out", status.migrated_out)
        .field("migrated_in", status.migrated_in)
        .field("violations", status.violations)
        .field("stolen", status.stolen)
        .field("steered", status.steered)
        .field("repeated", status.repeated)
        .field("nacked_stale", status.nacked_stale)
        .field("nacked_expired", status.nacked_expired)
        .field("cancelled", status.cancelled)
        .field("one_sided", status.operations)
        .field("one_sided_refused", status.operations_refused)
        .shown("served", status.freed.to_string())
        .shown("NACKed", status.nacked().to_string())
        .shown("queue max", status.queue_depth_max.to_string())
        .shown("service", units::span(status.service))
        .shown("receive buffer", units::bytes(status.buffer_bytes()))
        .shown("most used", units::bytes(status.slots_used_max * u64::from(nebula_nic::SLOT_BYTES)))
}
