//! Any frames through a chain of all functions: no panic, each passes or is dropped once, and right
//! checksums stay right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula_nf::{ChainConfig, Direction, DropReason, flow_hash};
use nebula_nic::{Span, Timestamp};
use std::sync::LazyLock;

const CHAIN: &str = "firewall:rules,nat:192.0.2.1,lb:10.9.0.1:53=10.2.0.2:53+10.2.0.3:53,counter";
const RULES: &str = "deny tcp any -> any 1-22\ndefault allow";

static CONFIG: LazyLock<ChainConfig> =
    LazyLock::new(|| ChainConfig::parse(CHAIN, |_| Ok(RULES.to_owned())).expect("a chain"));

/// Whether the checksums of the IP header and of a complete UDP or TCP payload are right; UDP may
/// have none.
fn is_right(frame: &[u8]) -> bool {
    let Some(ip) = frame.get(14..).filter(|ip| ip.len() >= 20) else { return false };
    let header_bytes = usize::from(ip[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let (Some(header), Some(carried)) = (ip.get(..header_bytes), ip.get(header_bytes..total)) else { return false };
    let is_fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0;
    let has_none = ip[9] == 17 && carried.get(6..8) == Some(&[0, 0]);
    let is_covered = matches!(ip[9], 6 | 17) && !is_fragment && !has_none;
    let length = (carried.len() as u16).to_be_bytes();
    let carried_sum = sum(&[&ip[12..20], &[0, ip[9]], &length, carried]);
    sum(&[header]) == 0xffff && (!is_covered || carried_sum == 0xffff)
}

fn sum(parts: &[&[u8]]) -> u64 {
    let halves = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u64 = halves.map(|half| u64::from(half[0]) << 8 | u64::from(*half.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

// Each frame has its length in one byte and its direction in the next. Time advances by a minute
// with each.
fuzz_target!(|bytes: &[u8]| {
    let (mut chain, mut rest, mut now) = (CONFIG.shard(0, 4), bytes, Timestamp::ZERO);
    let mut frames = 0;
    while let Some((&[length, direction], behind)) = rest.split_first_chunk() {
        let (frame, behind) = behind.split_at(behind.len().min(length.into()));
        rest = behind;
        let direction = if direction & 1 == 0 { Direction::Outward } else { Direction::Inward };
        let _ = flow_hash(frame);
        let (was_right, mut frame) = (is_right(frame), frame.to_vec());
        if let Ok(left) = chain.handle(now, direction, &mut frame) {
            assert!(left <= frame.len());
            assert!(!was_right || is_right(&frame[..left]));
        }
        now += Span::from_secs(60);
        frames += 1;
    }
    let dropped: u64 = DropReason::ALL.iter().map(|&reason| chain.dropped(reason)).sum();
    assert_eq!(chain.passed() + dropped, frames);
});
