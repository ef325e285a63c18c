//! A group of packets is decided as one after another would be: random packets of a few RPCs to two
//! back ends.

use arbitrary::Unstructured;
use nebula_nic::{Backend, BackendConfig, Header, NodeId, Policy, Timestamp, TransferId, Verdict};

fn backend() -> Backend {
    let config = BackendConfig::new(1, Policy::SingleQueue).slots(40).queue_bound(40).rpc_bytes_max(1024);
    Backend::try_new(config.reassembler_entries(3)).expect("possible")
}

/// Some packets have a wrong size, lie beyond the last one, or are repeated.
fn packets(draw: &mut Unstructured<'_>) -> arbitrary::Result<(Header, u32)> {
    let tid = TransferId(draw.int_in_range(0..=4)?);
    let rpc_bytes = *draw.choose(&[600, 600, 600, 64, 500])?;
    let pkt_idx = *draw.choose(&[0, 0, 1, 1, 2, 5, 9, 10, u32::MAX])?;
    Ok((Header { snid: NodeId(1), tid, rpc_bytes, pkt_idx, ..Header::default() }, draw.int_in_range(1..=10)?))
}

fn one_by_one(backend: &mut Backend, now: Timestamp, header: Header, packets: u32) -> Verdict {
    let mut verdict = backend.handle_packet(now, header);
    for later in 1..packets {
        if matches!(verdict, Verdict::Write { .. }) {
            verdict = backend.handle_packet(now, Header { pkt_idx: header.pkt_idx.saturating_add(later), ..header });
        }
    }
    verdict
}

#[test]
fn packets_that_come_together_are_decided_about_as_one_after_the_other() {
    nebula_testing::seeded(|draw| {
        let (mut together, mut each) = (backend(), backend());
        let mut step = 0;
        while !draw.is_empty() {
            step += 1;
            let now = Timestamp::from_ps(1000 * step);
            let (header, packets) = packets(draw)?;
            let expected = one_by_one(&mut each, now, header, packets);
            assert_eq!(
                together.handle_packets(now, header, packets),
                expected,
                "step {step}: {packets} from {header:?}"
            );
            assert_eq!(together.counters(), each.counters(), "step {step}");
            assert_eq!(together.incomplete(), each.incomplete(), "step {step}");
            if draw.ratio(1, 3)? {
                assert_eq!(together.poll_dispatch(), each.poll_dispatch(), "step {step}");
            }
        }
        Ok(())
    })
    .size_min(64)
    .size_max(4096)
    .runs(300);
}
