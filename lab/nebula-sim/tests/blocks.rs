//! The block level: its limits, what has to add up, and that what ships with Nebula runs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use nebula_nic::{Policy, ScrubMode, Span};
use nebula_sim::blocks::{
    Application, BlocksTally, Buffers, Design, Machine, Part, Scenario, Stage, estimate, highest_rate, rate_at_slo,
    run, service_time,
};
use nebula_sim::{Bracket, Effort, Length, Load, SearchEnd, System};
use nebula_workload::{Rate, Seed};

const WARM: u64 = 45_000;

fn mrps(rate: f64) -> Rate {
    Rate::try_new(rate * 1e6).unwrap()
}

fn scenario(design: &str) -> Scenario {
    Scenario::named("isca20", design, "kvs").unwrap()
}

fn measured(scenario: &Scenario, rate: f64, rpcs: u64) -> BlocksTally {
    run(scenario, mrps(rate), Length { warmup: WARM, rpcs }, Seed(1)).unwrap()
}

/// Memory that takes no time, a NIC that takes none, and an application that only computes.
fn without_memory(policy: &str) -> Scenario {
    let mut machine = Machine::named("isca20").unwrap();
    let memory = &mut machine.memory;
    memory.l1.latency_cycles = 0;
    memory.llc.latency_cycles = 0;
    memory.llc.nic_cache_cycles = 0;
    (memory.mesh.hop_cycles, memory.mesh.link_bytes) = (0, 0);
    let dram = &mut memory.dram;
    (dram.gb_per_s, dram.path_ns, dram.hit_ns, dram.closed_ns, dram.conflict_ns) = (f64::INFINITY, 0.0, 0.0, 0.0, 0.0);
    (dram.ras_ns, dram.refresh_ns, dram.turnaround_ns) = (0.0, 0.0, 0.0);
    machine.nic.link_gbps = 100_000.0;
    (machine.nic.notify_ns, machine.nic.dispatch_ns, machine.nic.free_ns) = (0.0, 0.0, 0.0);
    machine.core.issue_ns = 0.0;
    machine.deployment.receive_buffer_bytes = 4 << 20;
    let design = format!("name = 'x'\npolicy = '{policy}'\nbuffers = 'shared'");
    let application = "kind = 'network-function'\npacket_bytes = 64\nstate_bytes = 64\nstate_reads = 0\nstate_writes = 0\nservice = 'exp:1us'";
    Scenario::new(machine, Design::parse(&design).unwrap(), Application::parse(application).unwrap())
}

#[test]
fn without_memory_and_latencies_it_gives_the_queueing_levels_answer() {
    for (policy, load) in [("single-queue", 0.9), ("jbsq:2", 0.8), ("random", 0.7)] {
        let policy_of: Policy = policy.parse().unwrap();
        let length = Length { warmup: 20_000, rpcs: 300_000 };
        let server = run(&without_memory(policy), mrps(16.0 * load), length, Seed(2)).unwrap();
        let load = Load::open("exp:1us".parse().unwrap(), load);
        let queueing = nebula_sim::run(&System::new(policy_of, 16), &load, length, Seed(3)).unwrap();
        for (got, wanted, slack) in [
            (server.latency.mean(), queueing.latency.mean(), 0.02),
            (server.latency.quantile(0.5), queueing.latency.quantile(0.5), 0.02),
            (server.latency.quantile(0.99), queueing.latency.quantile(0.99), 0.05),
        ] {
            assert!((got / wanted - 1.0).abs() < slack, "{policy}: {got} ps here, {wanted} ps there");
        }
    }
}

#[test]
fn an_rpc_alone_takes_what_the_machine_is_calibrated_to() {
    for machine in ["isca20", "isca20-unfitted"] {
        let scenario = Scenario::named(machine, "nebula-base", "kvs").unwrap();
        let effort = Effort::default().rpcs(20_000).replications(2);
        let mean_ns = service_time(&scenario, &effort).unwrap().value / 1e3;
        assert!((mean_ns / 630.0 - 1.0).abs() < 0.005, "{machine}: {mean_ns} ns");
    }
}

#[test]
fn stages_add_up_to_the_latency_and_every_rpc_ends_once() {
    for design in Design::shipped() {
        for (application, rate) in [("kvs", 11.0), ("kvs", 30.0), ("network-function", 10.0), ("replication", 4.0)] {
            let scenario = Scenario::named("isca20", design, application).unwrap();
            // A sum holds cold caches or warm.
            let length = Length { warmup: 5_000, rpcs: 5_000 };
            let tally = run(&scenario, mrps(rate), length, Seed(1)).unwrap();
            assert_eq!(tally.ended(), 5_000, "{design} {application}");
            assert_eq!(tally.latency.count(), tally.served);
            let latency_ps = tally.latency.mean() * tally.served as f64;
            let stages_ps = tally.stages.total() as f64;
            assert!((stages_ps / latency_ps - 1.0).abs() < 1e-9, "{design} {application}: {stages_ps} of {latency_ps}");
        }
    }
}

#[test]
fn a_receive_buffer_larger_than_the_llc_is_bloat_and_a_small_one_stays_on_the_chip() {
    let blocks = |buffer_bytes| {
        let mut scenario = scenario("nebula-base");
        scenario.machine.deployment.receive_buffer_bytes = buffer_bytes;
        let tally = measured(&scenario, 8.0, 20_000);
        let nic = tally.traffic.blocks(Part::Payload.label(), nebula_memsys::Cause::NicFetch)
            + tally.traffic.blocks(Part::Payload.label(), nebula_memsys::Cause::NicWriteBack);
        nic as f64 / tally.arrived as f64
    };
    let (small, large) = (blocks(80 << 10), blocks(128 << 20));
    // Half of the RPCs are SETs of 9 blocks, half GETs of one: 5 blocks come in on the mean.
    assert!(small < 0.05, "{small}");
    assert!((large / 10.0 - 1.0).abs() < 0.1, "{large}: each block is fetched, and written back");
}

#[test]
fn buffers_for_each_connection_move_twenty_blocks_more() {
    let blocks = |design| measured(&scenario(design), 8.0, 20_000).blocks_per_rpc();
    let (connections, shared) = (blocks("rpcvalet"), blocks("nebula-base"));
    // Ten blocks a message both ways, fetched and written back, less what the shared pool of send
    // buffers misses.
    assert!((17.0..22.0).contains(&(connections - shared)), "{connections} against {shared}");
}

#[test]
fn nobody_is_refused_up_to_saturation_and_more_and_more_beyond() {
    let base = scenario("nebula-base");
    let accepted = |rate| measured(&base, rate, 40_000).accepted();
    assert_eq!(accepted(20.0), 1.0);
    let (beyond, far) = (accepted(25.0), accepted(30.0));
    assert!(beyond < 0.99 && far < beyond - 0.05, "{beyond}, {far}");
}

#[test]
fn one_queue_beats_a_queue_a_core_and_small_buffers_beat_large_ones() {
    let p99 = |design, rate| measured(&scenario(design), rate, 40_000).latency_with_nacks(0.99);
    assert!(1.3 * p99("rpcvalet", 10.0) < p99("rss", 10.0));
    assert!(2.0 * p99("nebula-base", 16.0) < p99("srq-emu", 16.0));
    let slo = scenario("nebula").slo(10.0, Seed(1)).unwrap().as_ps() as f64;
    assert!(p99("nebula", 20.0) < slo && p99("rpcvalet", 14.0) > slo);
}

#[test]
fn steering_takes_the_wait_for_the_payload_away() {
    let payload = |design| measured(&scenario(design), 22.0, 20_000).stage_ns(Stage::Payload);
    let (without, with) = (payload("nebula-base"), payload("nebula"));
    assert!(with < 0.7 * without, "{with} ns, {without} ns without");
    let look_ahead = |rate| measured(&scenario("nebula-swpref"), rate, 20_000).stage_ns(Stage::LookAhead);
    assert!(look_ahead(8.0) < 1.0 && look_ahead(21.0) > 20.0, "software looks for nothing where nothing waits");
}

#[test]
fn room_behind_a_slow_rpc_is_found_ahead_and_lost_where_it_is_looked_for_late_or_never() {
    let nacked = |scrub: ScrubMode| {
        let mut scenario = scenario("nebula");
        scenario.machine.nic.scrub = scrub;
        let text = include_str!("../data/applications/network-function.toml");
        let long = text.replace("uniform:300ns-1300ns", "bimodal:500ns@0.9999,200us@0.0001");
        assert_ne!(long, text);
        scenario.application = Application::parse(&long).unwrap();
        let length = Length { warmup: 2_000, rpcs: 60_000 };
        run(&scenario, mrps(6.0), length, Seed(1)).unwrap().nacked
    };
    let modes = [ScrubMode::OnFull, ScrubMode::AfterNack, ScrubMode::Ahead, ScrubMode::Off];
    let [on_full, after_nack, ahead, off] = modes.map(nacked);
    assert_eq!((on_full, ahead), (0, 0), "{after_nack}");
    assert!(after_nack > 10, "{after_nack}: one for each lap of the head");
    // Beside each of some six slow RPCs 1,200 come, and there is room for 80.
    assert!(off > 50 * after_nack && off > 2_000, "{off} without scrubbing");
}

#[test]
fn a_link_that_brings_more_than_dram_takes_waits_for_it_and_cores_go_on() {
    let beyond = |client_gbps, write_buffer_bytes| {
        let mut scenario = Scenario::named("isca20", "rpcvalet", "network-function").unwrap();
        scenario.machine.deployment.client_gbps = client_gbps;
        scenario.machine.nic.write_buffer_bytes = write_buffer_bytes;
        // An LLC that few RPCs fill with blocks to write back.
        scenario.machine.memory.llc.bytes = 1 << 20;
        run(&scenario, mrps(22.0), Length { warmup: 2_000, rpcs: 1_000 }, Seed(1)).unwrap()
    };
    for (client_gbps, bytes) in [(None, 65_536), (None, 8_192), (Some(40.0), 8_192)] {
        let tally = beyond(client_gbps, bytes);
        assert_eq!((tally.served, tally.nacked), (1_000, 0), "{client_gbps:?}");
        // Five of its reads and stores wait for DRAM, and before each is at most what the NIC has
        // not written.
        let most_ns = 800.0 + 8.0 * f64::from(bytes) * 8.0 / 120.0;
        let service_ns = tally.service.mean() / 1e3;
        assert!(service_ns < most_ns, "{client_gbps:?}, {bytes} B: {service_ns} ns of {most_ns}");
        assert!(tally.stage_ns(Stage::Link) > 10_000.0, "{client_gbps:?}: the link waits");
    }
}

/// SETs alone, of several packets each, from clients with links of a lower rate.
fn from_clients(gbps: Option<f64>) -> Scenario {
    let mut scenario = scenario("nebula");
    scenario.application = Application::key_value(0.0, 512);
    scenario.machine.deployment.client_gbps = gbps;
    scenario
}

#[test]
fn packets_of_slow_clients_interleave_and_take_as_many_entries_as_littles_law_says() {
    let scenario = from_clients(Some(2.5));
    let bytes = scenario.application.request_bytes_mean(&scenario.machine).unwrap();
    let tally = measured(&scenario, 10.0, 20_000);
    // From the first packet until the last is known: the client sends all but the last in between.
    let sending_ns = 64.0 * ((bytes / 64.0).ceil() - 1.0) * 8.0 / 2.5;
    let wanted = 10e-3 * (sending_ns + scenario.machine.nic.notify_ns);
    // As it takes one, that one is among them.
    let mean = tally.incomplete.mean() - 1.0;
    assert!((mean / wanted - 1.0).abs() < 0.05, "{mean} entries, {wanted} by Little's law");
    assert_eq!(measured(&from_clients(None), 10.0, 5_000).nacked + tally.nacked, 0);
}

#[test]
fn a_message_alone_from_a_client_as_fast_as_the_server_is_received_as_one_that_comes_at_once() {
    let receive_ns = |gbps| measured(&from_clients(gbps), 0.05, 500).stage_ns(Stage::Receive);
    let (at_once, as_fast, slower) = (receive_ns(None), receive_ns(Some(120.0)), receive_ns(Some(12.0)));
    // Two of 500 messages may meet on the link.
    assert!((as_fast / at_once - 1.0).abs() < 0.01, "{as_fast} ns, {at_once} ns at once");
    assert!(slower > at_once + 300.0, "{slower} ns");
}

#[test]
fn a_full_reassembler_refuses() {
    let nacked = |entries| {
        let mut scenario = from_clients(Some(1.0));
        scenario.machine.nic.reassembler_entries = entries;
        measured(&scenario, 10.0, 5_000)
    };
    let (few, many) = (nacked(Some(20)), nacked(None));
    assert_eq!((few.incomplete.quantile(1.0), many.nacked), (20.0, 0));
    assert!(few.nacked > 500 && many.incomplete.quantile(1.0) > 40.0, "{}", few.nacked);
}

#[test]
fn what_runs_beside_takes_bandwidth_away() {
    let quiet = scenario("nebula");
    let loud = Scenario { hog_gb_per_s: 10.0, ..quiet.clone() };
    let (quiet, loud) = (measured(&quiet, 18.0, 20_000), measured(&loud, 18.0, 20_000));
    let hog_gb_per_s = loud.traffic.of_label(Part::Hog.label()) as f64 * 64.0 / loud.window.as_secs_f64() / 1e9;
    assert!((hog_gb_per_s / 10.0 - 1.0).abs() < 0.01, "{hog_gb_per_s}");
    assert!(loud.dram_gb_per_s() > quiet.dram_gb_per_s() + 9.0);
    assert!(loud.service.mean() > 1.05 * quiet.service.mean());
}

#[test]
fn every_update_brings_an_answer_of_every_follower() {
    let text = |followers| {
        let shipped = include_str!("../data/applications/replication.toml");
        shipped.replace("followers = 2", &format!("followers = {followers}"))
    };
    let busy_ns = |followers| {
        let application = Application::parse(&text(followers)).unwrap();
        let machine = Machine::named("isca20").unwrap();
        let scenario = Scenario::new(machine, Design::named("nebula").unwrap(), application);
        measured(&scenario, 12.0, 20_000).stage_ns(Stage::Queue)
    };
    // At 12 M updates a second, six followers' answers take most of what the updates leave of 16
    // cores.
    assert!(busy_ns(6) > 5.0 * busy_ns(1));
}

fn of(design: &str, application: Application) -> Scenario {
    Scenario::new(Machine::named("isca20").unwrap(), Design::named(design).unwrap(), application)
}

/// Whether the times of all stages are the latencies: the mean is exact.
fn adds_up(tally: &BlocksTally) -> bool {
    let mean_ps = tally.stages.total() as f64 / tally.served as f64;
    (mean_ps / tally.latency.mean() - 1.0).abs() < 1e-9
}

#[test]
fn one_sided_operations_take_no_core_no_slot_and_as_long_as_memory_does() {
    for design in ["nebula", "rpcvalet"] {
        let scenario = of(design, Application::named("remote-memory").unwrap());
        let tally = measured(&scenario, 5.0, 20_000);
        assert_eq!((tally.served, tally.nacked, tally.busy_ps, tally.queued_at_core), (20_000, 0, 0, 0), "{design}");
        assert!(adds_up(&tally), "{design}: stages add up to latencies");
        for stage in [Stage::Dispatch, Stage::Queue, Stage::Payload, Stage::Reply, Stage::Compute, Stage::LookAhead] {
            assert_eq!(tally.stages.of(stage), 0, "{design}: {}", stage.name());
        }
        // A gigabyte is in no cache: nearly each block of half the operations is read from DRAM,
        // and each of the others written to it in the end.
        let blocks = tally.traffic.of_label(Part::Log.label()) as f64 / tally.arrived as f64;
        assert!((7.5..17.0).contains(&blocks), "{design}: {blocks} blocks an operation of 8");
        // The unloaded DRAM of this machine takes 45 to 50 ns, one block beside the other.
        assert!((40.0..400.0).contains(&tally.stage_ns(Stage::Log)), "{design}: {}", tally.stage_ns(Stage::Log));
    }
}

#[test]
fn gets_by_one_sided_reads_leave_cores_to_the_sets() {
    let store = |name: &str| of("nebula", Application::named(name).unwrap());
    let (rpc, one_sided) = (measured(&store("kvs"), 15.0, 20_000), measured(&store("kvs-one-sided"), 15.0, 20_000));
    let share = one_sided.busy_ps as f64 / rpc.busy_ps as f64;
    assert!((0.35..0.65).contains(&share), "half of the RPCs are left: {share} of the time");
    // What no server of 16 cores and RPCs alone can serve: its bound is 25.3 MRPS.
    let beyond = measured(&store("kvs-one-sided"), 28.0, 20_000);
    assert!(beyond.nacked == 0 && beyond.latency.quantile(0.99) < 10e6, "{} ps", beyond.latency.quantile(0.99));
    assert!(adds_up(&beyond));
}

#[test]
fn memory_of_others_that_cannot_be_simulated_is_refused() {
    let text = include_str!("../data/applications/remote-memory.toml");
    for (text, words) in [
        (text.replace("objects = 2_097_152", "objects = 0"), "objects = 0"),
        (text.replace("object_bytes = 512", "object_bytes = 0"), "object_bytes = 0"),
        (text.replace("read_share = 0.5", "read_share = 1.5"), "shares"),
        (text.replace("objects = 2_097_152", "objects = 4_000_000_000"), "the memory of others"),
    ] {
        let error = of("nebula", Application::parse(&text).unwrap()).validate().unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn the_same_seed_gives_the_same_tally() {
    let show = |seed| {
        let tally = run(&scenario("nebula"), mrps(20.0), Length { warmup: 5_000, rpcs: 5_000 }, Seed(seed)).unwrap();
        format!("{tally:?}")
    };
    assert_eq!(show(1), show(1));
    assert_ne!(show(1), show(2));
}

#[test]
fn all_that_ships_with_nebula_runs_together() {
    for machine in Machine::shipped() {
        for application in Application::shipped() {
            for design in Design::shipped() {
                let scenario = Scenario::named(machine, design, application).unwrap();
                assert_eq!(scenario.design.name, design);
                assert_eq!(scenario.machine.name, machine);
                let tally = run(&scenario, mrps(1.0), Length { warmup: 100, rpcs: 200 }, Seed(1)).unwrap();
                assert_eq!(tally.served, 200, "{machine} {application} {design}");
            }
        }
    }
}

#[test]
fn values_of_any_length_are_served() {
    for value_bytes in [1, 63, 64, 65, 4096, 16 * 1024] {
        let mut scenario = scenario("nebula");
        scenario.application = Application::key_value(0.5, value_bytes);
        scenario.machine.deployment.receive_buffer_bytes = 1 << 20;
        let tally = run(&scenario, mrps(0.5), Length { warmup: 100, rpcs: 1_000 }, Seed(1)).unwrap();
        assert_eq!(tally.served, 1_000, "{value_bytes} bytes");
    }
}

#[test]
fn mistakes_in_files_are_said_in_one_line() {
    let machine = include_str!("../data/machines/isca20.toml");
    for (text, words) in [
        (machine.replace("link_gbps = 120.0", "link_gbps = -1.0"), "nic.link_gbps = -1"),
        (machine.replace("load_window = 3", "load_window = 0"), "core.load_window = 0"),
        (machine.replace("load_window = 3", "load_windows = 3"), "load_windows"),
        (machine.replace("ways = 16", "ways = 17"), "17"),
        (machine.replace("compute_ns = 349.0", "compute_ns = nan"), "core.compute_ns = NaN"),
        (machine.replace("[deployment]", "[deployment]\nclient_gbps = 0.0"), "deployment.client_gbps = 0"),
        (machine.replace("[nic]", "[nic]\nreassembler_entries = 0"), "nic.reassembler_entries = 0"),
        (machine.replace("[nic]", "[nic]\nscrub = 'never'"), "on-full, after-nack, ahead or off"),
        ("name = 3".to_owned(), "line 1"),
    ] {
        let error = Machine::parse(&text).unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains('\n'), "{error}");
    }
    let error = Design::parse("name = 'x'\npolicy = 'fifo'\nbuffers = 'shared'").unwrap_err().to_string();
    assert!(error.contains("fifo") && !error.contains('\n'), "{error}");
    let mut scenario = scenario("nebula");
    scenario.machine.deployment.receive_buffer_bytes = 512;
    let error = scenario.validate().unwrap_err().to_string();
    assert!(error.contains("536 bytes"), "{error}");
    scenario.application = Application::key_value(1.5, 512);
    assert!(scenario.validate().unwrap_err().to_string().contains("shares"));
}

#[test]
fn a_search_that_stops_runs_early_finds_what_whole_runs_say() {
    let scenario = scenario("nebula-base");
    let slo = Span::from_ns(2_000);
    let effort = Effort { warmup: Some(5_000), ..Effort::default().rpcs(10_000).replications(2) };
    let bracket = Bracket { lowest: 10e6, highest: 30e6, width: 0.5e6 };
    let found = rate_at_slo(&scenario, slo, bracket, &effort, &|| ()).unwrap();
    for (replica, &rps) in (0..).zip(&found.rates_rps) {
        let keeps = |rps| {
            let length = Length { warmup: 5_000, rpcs: 10_000 };
            let tally = run(&scenario, Rate::try_new(rps).unwrap(), length, effort.seed.replica(replica)).unwrap();
            tally.latency_with_nacks(0.99) <= slo.as_ps() as f64
        };
        // Bisecting 20 MRPS to less than half of one ends at steps of 20 / 64.
        assert!(keeps(rps) && !keeps(rps + 20e6 / 64.0), "{rps}");
    }
    let hopeless = rate_at_slo(&scenario, Span::from_ns(100), bracket, &effort, &|| ()).unwrap_err().to_string();
    assert!(hopeless.contains("misses the SLO of 100 ns"), "{hopeless}");
    let vague = rate_at_slo(&scenario, slo, bracket, &effort.precision(0.0), &|| ()).unwrap_err().to_string();
    assert!(vague.contains("precision"), "{vague}");
}

#[test]
fn a_rate_is_judged_by_all_replications_together() {
    let scenario = scenario("nebula-base");
    let slo = Span::from_ns(2_000);
    let effort = Effort { warmup: Some(5_000), ..Effort::default().rpcs(5_000).replications(4).precision(0.5) };
    let bracket = Bracket { lowest: 10e6, highest: 30e6, width: 0.4e6 };
    let found = highest_rate(&scenario, slo, bracket, &effort, &|| ()).unwrap();
    let p99_ps = |rps: f64| {
        let replications = u32::try_from(found.at.replications.len()).unwrap();
        let once = Effort { precision: None, replications, ..effort };
        estimate(&scenario, Rate::try_new(rps).unwrap(), &once, &|| ()).unwrap().tally.latency_with_nacks(0.99)
    };
    let (rps, slo_ps) = (found.load.value, slo.as_ps() as f64);
    assert_eq!(p99_ps(rps), found.at.tally.latency_with_nacks(0.99));
    assert!(p99_ps(rps) <= slo_ps && p99_ps(rps + 2.0 * bracket.width) > slo_ps, "{rps}");
    assert!(found.end == SearchEnd::Missed && found.load.lo < rps && rps < found.load.hi, "{:?}", found.load);
    let highest = Bracket { highest: 11e6, ..bracket };
    let end = highest_rate(&scenario, slo, highest, &effort, &|| ()).unwrap();
    assert_eq!((end.end, end.load.value), (SearchEnd::Highest, 11e6));
    let hopeless = highest_rate(&scenario, Span::from_ns(100), bracket, &effort, &|| ()).unwrap_err().to_string();
    assert!(hopeless.contains("misses the SLO of 100 ns"), "{hopeless}");
}

#[test]
fn an_slo_is_ten_times_the_service_of_an_rpc_alone() {
    let slo = scenario("rss").slo(10.0, Seed(1)).unwrap();
    assert!(slo > Span::from_ns(6_200) && slo < Span::from_ns(6_400), "{slo}");
    assert_eq!(slo, scenario("nebula").slo(10.0, Seed(1)).unwrap(), "one for all designs");
}

#[test]
fn a_designs_share_of_the_cache_is_that_of_a_machine_with_it() {
    let of_design = measured(&scenario("rpcvalet-ddio"), 8.0, 4_000);
    let mut of_machine = scenario("rpcvalet");
    of_machine.machine.memory.llc.nic_ways = Some(2);
    let of_machine = measured(&of_machine, 8.0, 4_000);
    assert_eq!((of_design.latency, of_design.traffic), (of_machine.latency, of_machine.traffic));
    let mut tenth = scenario("srq-emu");
    tenth.machine.memory.llc.nic_ways = Some(2);
    tenth.machine.deployment.receive_buffer_bytes = 838_860;
    tenth.machine.deployment.send_pool_bytes = 838_860;
    let (resq, tenth) = (measured(&scenario("resq"), 8.0, 4_000), measured(&tenth, 8.0, 4_000));
    assert_eq!((&resq.latency, resq.traffic), (&tenth.latency, tenth.traffic));
    // Buffers of a tenth of the cache stay in it; a pool of 6 MB does not.
    let srq = measured(&scenario("srq-emu"), 8.0, 4_000);
    assert!(resq.dram_gb_per_s() < 0.85 * srq.dram_gb_per_s(), "{} of {}", resq.dram_gb_per_s(), srq.dram_gb_per_s());
}

#[test]
fn a_header_next_to_its_core_is_read_over_a_shorter_way() {
    let near = scenario("cachedirector");
    let mut anywhere = near.clone();
    anywhere.design.header_near_core = false;
    // What the NIC wrote stays in its cache: the way from the core to the bank is saved, a mean of
    // 2.5 hops of 1.5 ns, once an RPC.
    let payload = |scenario: &Scenario| measured(scenario, 4.0, 8_000).stage_ns(Stage::Payload);
    let saved_ns = payload(&anywhere) - payload(&near);
    assert!((1.0..8.0).contains(&saved_ns), "{saved_ns}");
    let read = |reason: &str, edit: &dyn Fn(&mut Scenario)| {
        let mut scenario = near.clone();
        edit(&mut scenario);
        let error = scenario.validate().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    };
    read("give policy = 'rss'", &|scenario| scenario.design.policy = Policy::Random);
    read("give buffers = 'per-connection'", &|scenario| scenario.design.buffers = Buffers::Shared);
}

#[test]
fn polling_the_slots_of_all_nodes_takes_half_a_round_where_one_rpc_waits() {
    let effort = Effort::default().rpcs(1_000).replications(2);
    let alone = |scenario: &Scenario| service_time(scenario, &effort).unwrap().value / 1e3;
    let polled = alone(&scenario("one-sided"));
    let extra = polled - alone(&scenario("rss"));
    assert!((extra / (2.5 * 1024.0 / 2.0) - 1.0).abs() < 0.02, "{extra} ns");
    let mut few = scenario("one-sided");
    few.machine.deployment.nodes = 64;
    assert!(alone(&few) < polled - 1100.0, "fewer nodes are polled sooner");
    // The more wait, the sooner one is found.
    let loaded = measured(&scenario("one-sided"), 10.0, 4_000);
    assert!(loaded.service.mean() < 0.85e3 * polled, "{}", loaded.service.mean());
}

#[test]
fn a_design_that_contradicts_itself_says_so() {
    let with = |text: &str| {
        let design = Design::parse(&format!("name = 'x'\n{text}")).unwrap();
        Scenario { design, ..scenario("nebula") }.validate().unwrap_err().to_string()
    };
    for (text, word) in [
        ("policy = 'random'\nbuffers = 'per-connection'\nbuffers_llc_share = 0.1", "buffers = 'shared'"),
        ("policy = 'random'\nbuffers = 'shared'\nbuffers_llc_share = 2.0", "0.001 to 1"),
        ("policy = 'random'\nbuffers = 'shared'\npolls = true", "per-connection"),
        ("policy = 'jbsq:2'\nbuffers = 'per-connection'\npolls = true", "a sender chooses"),
        ("policy = 'random'\nbuffers = 'per-connection'\npolls = true\nsteering = true", "told of no next RPC"),
    ] {
        assert!(with(text).contains(word), "{}", with(text));
    }
}
