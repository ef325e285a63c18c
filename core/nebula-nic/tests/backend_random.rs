//! The whole back end compared with the naive model over long random histories, which must reach
//! rare branches.

use crate::support::op::{Op, STEP};
use crate::support::pair::Pair;
use crate::support::reach::Reach;
use arbitrary::Unstructured;
use nebula_nic::{BackendConfig, Mtu, Policy, ScrubMode, SlotOrder};

/// A back end so small that its bounds are always met.
fn config(draw: &mut Unstructured<'_>) -> arbitrary::Result<BackendConfig> {
    let mtu = Mtu::try_new(64 * *draw.choose(&[1, 1, 2, 3])?).expect("a multiple of 64");
    let cores = *draw.choose(&[1, 2, 3, 64, 65, 130])?;
    Ok(BackendConfig::new(cores, draw.choose(Policy::SAMPLES)?.parse().expect("a sample is a policy"))
        .slots(draw.int_in_range(8..=150)?)
        .mtu(mtu)
        .rpc_bytes_max(draw.int_in_range(1..=512)?)
        .reassembler_entries(draw.int_in_range(1..=5)?)
        .incomplete_per_peer(*draw.choose(&[0, 1, 2, u32::MAX])?)
        .queue_bound(draw.int_in_range(1..=12)?)
        .scrub(if draw.arbitrary()? { ScrubMode::OnFull } else { ScrubMode::AfterNack })
        .slot_order(if draw.arbitrary()? { SlotOrder::Circular } else { SlotOrder::FirstWhenEmpty })
        .reassembly_timeout(STEP * draw.int_in_range(1..=6)?)
        .seed(draw.arbitrary()?))
}

fn history(draw: &mut Unstructured<'_>) -> arbitrary::Result<Pair> {
    let mut pair = Pair::new(config(draw)?);
    while !draw.is_empty() {
        pair.apply(draw.arbitrary::<Op>()?);
    }
    Ok(pair)
}

fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn long_histories_agree_with_the_model() {
    nebula_testing::seeded(|draw| history(draw).map(drop)).size_min(64).size_max(16_384).runs(900);
}

#[test]
fn fixed_seeds_get_to_every_rare_branch() {
    let mut reach = Reach::default();
    for seed in 0..50 {
        let bytes = bytes(seed, 16_384);
        reach.add(&history(&mut Unstructured::new(&bytes)).unwrap().model.reach);
    }
    reach.assert_reached(&[
        "several packets became whole",
        "the reassembler was full",
        "a peer had its share of the reassembler",
        "the queue was at its bound",
        "the head went round",
        "scrub found a hole",
        "scrub found none",
        "a free was refused",
        "a timeout abandoned",
        "a lost peer abandoned",
        "a refused RPC was recalled",
    ]);
}

#[test]
fn all_that_came_in_goes_out_again() {
    nebula_testing::seeded(|draw| {
        let mut pair = history(draw)?;
        pair.apply(Op::Timeout { steps: 7 });
        for core in (0..=255).cycle().take(255 * 150) {
            pair.apply(Op::Free { core, nth: 0 });
        }
        assert_eq!((pair.real.slots_used(), pair.real.queue_depth(), pair.real.incomplete()), (0, 0, 0));
        let counters = pair.real.counters();
        assert_eq!(counters.completed, counters.freed, "each whole RPC was served once");
        Ok(())
    })
    .size_max(2048)
    .runs(300);
}
