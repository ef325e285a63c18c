//! The memory-bandwidth model against another simulation of it, against closed forms, and against
//! itself.

use nebula_nic::Policy;
use nebula_sim::memory::{
    Bandwidth, Design, Dice, MemoryError, MemoryModel, MemoryRun, MemoryTally, Odds, PacketGaps, run,
};
use nebula_workload::Seed;

/// Median over seeds of what `value` says of runs of `rpcs` RPCs.
fn median(model: &MemoryModel, design: &Design, load: f64, rpcs: u64, value: impl Fn(&MemoryTally) -> f64) -> f64 {
    let seeds = 1..=3;
    let run_at = |seed| MemoryRun { seed: Seed(seed), ..MemoryRun::of(load, rpcs) };
    let mut values: Vec<f64> = seeds.map(|seed| value(&run(model, design, &run_at(seed)).expect("a run"))).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

fn one(design: &Design, load: f64, rpcs: u64) -> MemoryTally {
    run(&MemoryModel::default(), design, &MemoryRun::of(load, rpcs)).expect("a run")
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} is not within {tolerance} of {expected}");
}

/// Another simulation of the model, written apart from this one, with one process a block: p99 in
/// µs from one run of 300,000 RPCs a point, whose own spread is the tolerance.
#[test]
fn tails_are_those_of_an_independent_simulation() {
    let model = MemoryModel::default();
    let six_channels = MemoryModel { channels: 6, banks_per_channel: 16, ..MemoryModel::default() };
    for (model, design, load, p99_us, tolerance) in [
        (&model, Design::rss(), 0.50, 2.82, 0.05),
        (&model, Design::rss(), 0.56, 3.55, 0.05),
        (&model, Design::rss(), 0.60, 5.47, 0.05),
        (&model, Design::rpcvalet(), 0.50, 0.70, 0.02),
        (&model, Design::rpcvalet(), 0.56, 0.73, 0.02),
        (&model, Design::rpcvalet(), 0.60, 0.95, 0.03),
        (&six_channels, Design::rpcvalet(), 0.60, 1.11, 0.03),
        (&model, Design::srq(), 0.50, 2.75, 0.05),
        (&model, Design::srq(), 0.60, 3.51, 0.05),
        (&model, Design::srq(), 0.76, 5.95, 0.05),
        (&model, Design::srq(), 0.85, 9.80, 0.08),
        (&model, Design::nebula(), 0.56, 0.69, 0.01),
        (&model, Design::nebula(), 0.97, 0.70, 0.02),
        (&model, Design::nebula(), 0.985, 0.77, 0.03),
    ] {
        let ours_us = median(model, &design, load, 100_000, |tally| tally.latency_ns(0.99) / 1e3);
        assert!((ours_us / p99_us - 1.0).abs() < tolerance, "{design:?} at {load}: p99 {ours_us} µs and not {p99_us}");
    }
}

#[test]
fn bandwidths_are_those_of_an_independent_simulation() {
    for (design, load, gb_per_s) in [
        (Design::rss(), 0.50, 103.6),
        (Design::rss(), 0.60, 124.2),
        (Design::rpcvalet(), 0.56, 116.0),
        (Design::srq(), 0.50, 31.0),
        (Design::srq(), 0.76, 47.0),
        (Design::nebula(), 0.76, 47.1),
        (Design::nebula(), 0.97, 60.0),
    ] {
        assert_near(one(&design, load, 100_000).dram_gb_per_s, gb_per_s, 0.005);
    }
}

/// The same simulation with Poisson arrivals.
#[test]
fn poisson_arrivals_lengthen_the_tail_as_in_an_independent_simulation() {
    let model = MemoryModel { packet_gaps: PacketGaps::Poisson, ..MemoryModel::default() };
    for (design, load, p99_us, tolerance) in
        [(Design::rss(), 0.56, 4.3, 0.08), (Design::srq(), 0.76, 6.45, 0.08), (Design::nebula(), 0.90, 0.92, 0.1)]
    {
        let ours_us = median(&model, &design, load, 200_000, |tally| tally.latency_ns(0.99) / 1e3);
        assert_near(ours_us, p99_us, tolerance);
    }
}

#[test]
fn buffers_a_connection_saturate_when_their_blocks_fill_the_dram() {
    let model = MemoryModel::default();
    for design in [Design::rss(), Design::rpcvalet()] {
        let bytes = model.blocks_per_rpc(&design) * 64.0;
        let full_load = model.dram_gb_per_s_max() * 1e9 / bytes / model.rps_at_full_load();
        assert!((0.61..0.62).contains(&full_load), "{full_load}");
        assert!(!one(&design, full_load - 0.012, 300_000).is_saturated);
        assert!(one(&design, full_load + 0.012, 300_000).is_saturated);
    }
}

#[test]
fn buffers_in_the_llc_never_fill_the_dram() {
    let always_hits = Design::rpcvalet().llc_hit(1.0);
    for load in [0.62, 0.9] {
        assert!(one(&Design::rpcvalet(), load, 300_000).is_saturated);
        let tally = one(&always_hits, load, 300_000);
        assert!(!tally.is_saturated && tally.latency_ns(0.99) < 1_000.0);
    }
}

#[test]
fn a_saturated_dram_moves_what_its_banks_can() {
    let models = [MemoryModel::default(), MemoryModel { channels: 6, banks_per_channel: 16, ..MemoryModel::default() }];
    for model in models {
        let tally = run(&model, &Design::rpcvalet(), &MemoryRun::of(0.7, 100_000)).unwrap();
        assert_near(tally.dram_gb_per_s, model.dram_gb_per_s_max(), 0.01);
        assert!(tally.dram_gb_per_s < 1.002 * model.dram_gb_per_s_max());
        assert!(tally.achieved_rps < 0.95 * tally.offered_rps);
    }
}

#[test]
fn an_rpc_moves_34_blocks_with_bloat_and_10_without() {
    let model = MemoryModel { dice: Dice::Exact, ..MemoryModel::default() };
    for (design, blocks) in
        [(Design::rpcvalet().llc_hit(0.0), 34.0), (Design::nebula(), 10.0), (Design::nebula().llc_hit(0.5), 20.0)]
    {
        assert_near(model.blocks_per_rpc(&design), blocks, 1e-9);
        let tally = run(&model, &design, &MemoryRun::of(0.2, 100_000)).unwrap();
        assert_near(tally.bytes_per_rpc, blocks * 64.0, 0.005);
        assert_near(tally.dram_gb_per_s * 1e9, tally.achieved_rps * tally.bytes_per_rpc, 1e-9);
        assert_near(tally.achieved_rps, 0.2 * model.rps_at_full_load(), 0.005);
    }
}

/// A lone RPC takes its two accesses and its computation, and nothing else.
#[test]
fn an_idle_server_takes_two_accesses_and_the_computation() {
    let model = MemoryModel::default();
    for design in [Design::rss(), Design::rpcvalet(), Design::srq(), Design::nebula()] {
        let tally = run(&model, &design, &MemoryRun::of(0.001, 50_000)).unwrap();
        let computes_ns = 540.0;
        assert_near(tally.latency.mean() / 1e3, computes_ns + 2.0 * model.access_ns_mean(), 0.002);
        assert_near(tally.latency_ns(0.99), computes_ns + 2.0 * 77.0, 1e-3);
        assert_near(tally.latency_ns(0.01), computes_ns + 2.0 * 39.0, 1e-3);
        assert_eq!(tally.bank_wait.max(), 0);
    }
}

/// With memory to spare and one row time, one queue per core is M/D/1.
#[test]
fn a_queue_a_core_waits_as_in_m_d_1() {
    let row_hits = Odds { numerator: 1, denominator: 1 };
    let model =
        MemoryModel { channels: 64, banks_per_channel: 64, row_hits, dice: Dice::Exact, ..MemoryModel::textbook() };
    let service_ns = 540.0 + 2.0 * 39.0;
    for load in [0.5, 0.8] {
        let utilization = load * service_ns / 630.0;
        let expected_ns = service_ns * (1.0 + utilization / (2.0 * (1.0 - utilization)));
        let mean_ns = median(&model, &Design::srq(), load, 300_000, |tally| tally.latency.mean() / 1e3);
        assert_near(mean_ns, expected_ns, 0.015);
    }
}

#[test]
fn one_seed_gives_one_tally_and_another_seed_another() {
    let digest = |seed| {
        let tally =
            run(&MemoryModel::default(), &Design::rss(), &MemoryRun { seed: Seed(seed), ..MemoryRun::of(0.6, 20_000) })
                .unwrap();
        let latencies = [0.1, 0.5, 0.9, 0.99, 0.999].map(|share| tally.latency_ns(share));
        (latencies, tally.latency.mean(), tally.bank_wait.mean(), tally.bytes_per_rpc, tally.bandwidth, tally.window)
    };
    assert_eq!(digest(1), digest(1));
    assert_ne!(digest(1), digest(2));
}

#[test]
fn designs_under_one_seed_meet_the_same_arrivals() {
    let window = |design| one(&design, 0.5, 20_000).window;
    let nebula = window(Design::nebula());
    for design in [Design::rss(), Design::rpcvalet(), Design::srq(), Design::of(Policy::Jbsq(2), 1 << 40)] {
        assert_eq!(window(design), nebula);
    }
}

/// The NIC's buffer grows by beginning again, which leaves no trace: a run that has outgrown it has
/// the bandwidth and the order that the model prescribes.
#[test]
fn a_backlog_beyond_the_first_buffer_is_served_in_order() {
    let tally = one(&Design::nebula(), 1.2, 200_000);
    assert!(tally.queue_depth.max() > 1 << 14, "{}", tally.queue_depth.max());
    assert!(tally.is_saturated && tally.unserved == 0);
    // One queue, first come first served: who comes in the middle of a linear growth waits half of
    // the last one's time.
    let run_at = MemoryRun { warmup: 0, ..MemoryRun::of(1.2, 200_000) };
    let from_empty = run(&MemoryModel::default(), &Design::nebula(), &run_at).unwrap();
    assert_near(from_empty.latency_ns(0.5), from_empty.latency_ns(0.99) / 0.99 * 0.5, 0.02);
}

#[test]
fn rpcs_that_no_core_gets_to_count_as_infinite_latency() {
    let tally = one(&Design::rpcvalet(), 2.0, 20_000);
    assert!(tally.unserved > 0 && tally.is_saturated);
    assert_eq!((tally.rpcs(), tally.latency_ns(0.99)), (20_000, f64::INFINITY));
}

#[test]
fn bandwidth_over_time_agrees_with_its_mean() {
    for (load, rpcs) in [(0.05, 20_000), (0.5, 100_000)] {
        let tally = one(&Design::rss(), load, rpcs);
        let Bandwidth { interval, gb_per_s } = tally.bandwidth;
        assert!(
            (50..=Bandwidth::POINTS_MAX).contains(&gb_per_s.len()) && interval.as_ns() >= 10_000,
            "{}",
            gb_per_s.len()
        );
        let mean = gb_per_s.iter().sum::<f64>() / gb_per_s.len() as f64;
        assert_near(mean, tally.dram_gb_per_s, 0.01);
    }
}

#[test]
fn scenarios_come_from_text_and_misspelled_ones_do_not() {
    let design: Design = toml::from_str("policy = 'jbsq:2'\nbuffer_bytes = 134_000_000").unwrap();
    assert_eq!(design, Design::of(Policy::Jbsq(2), 134_000_000));
    let model: MemoryModel = toml::from_str("dice = 'exact'\nrow_hits = { numerator = 3, denominator = 4 }").unwrap();
    assert_eq!(model, MemoryModel { packet_gaps: PacketGaps::Link, ..MemoryModel::textbook() });
    assert!(toml::from_str::<MemoryModel>("chanels = 6").is_err());
    let error = toml::from_str::<Design>("policy = 'fifo'\nbuffer_bytes = 1").unwrap_err().to_string();
    assert!(error.contains("single-queue"), "{error}");
}

#[test]
fn what_cannot_be_simulated_is_said_in_one_line() {
    let model = MemoryModel::default;
    let no_row = Odds { numerator: 2, denominator: 1 };
    let at = |load, rpcs| MemoryRun { warmup: 0, ..MemoryRun::of(load, rpcs) };
    let fine = at(0.5, 1000);
    for (model, design, run_at, said) in [
        (MemoryModel { channels: 0, ..model() }, Design::rss(), fine, "0 channels"),
        (MemoryModel { banks_per_channel: 5000, ..model() }, Design::rss(), fine, "5000 banks"),
        (MemoryModel { row_miss_ns: 0, ..model() }, Design::rss(), fine, "row misses"),
        (MemoryModel { row_hits: no_row, ..model() }, Design::rss(), fine, "2 in 1"),
        (MemoryModel { rpc_bytes: 0, ..model() }, Design::rss(), fine, "0 bytes"),
        (MemoryModel { service_ns: 90, ..model() }, Design::rss(), fine, "more than 90 ns"),
        (MemoryModel { stream_gap_ns: 1 << 40, ..model() }, Design::rss(), fine, "ns apart"),
        (MemoryModel { cores: 0, ..model() }, Design::rss(), fine, "cores"),
        (model(), Design::rss().llc_hit(1.5), fine, "1.5"),
        (model(), Design::of(Policy::Jbsq(0), 1), fine, "jbsq:0"),
        (model(), Design::rss(), at(0.0, 1000), "load of 0"),
        (model(), Design::rss(), at(f64::NAN, 1000), "load of NaN"),
        (model(), Design::rss(), at(0.5, 10), "10 RPCs"),
        (model(), Design::rss(), at(1e-9, 1_000_000), "simulated hours"),
    ] {
        let error: MemoryError = run(&model, &design, &run_at).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(said) && !text.contains('\n'), "{text}");
    }
}
