//! The text form of decisions: written text reads back, and a log replays.

use crate::support::op::Op;
use crate::support::pair::Pair;
use nebula_nic::decision::{
    Beside, EarlyStep, GroupDecision, GroupInput, GroupLine, GroupSetup, LOG_HEADER, LongTurnStep, PaceStep, PoolStep,
    RefuseStep, read_text, replay_through,
};
use nebula_nic::ending::NEVER;
use nebula_nic::pool::PoolConfig;
use nebula_nic::schedule::{ManagerConfig, Migration, ThresholdRow, Thresholds};
use nebula_nic::turn::PaceConfig;
use nebula_nic::{
    Arrival, Backend, BackendConfig, CoreId, Decision, Dispatch, DropReason, Freed, GroupConfig, GroupId, Header,
    Input, LogLine, NackReason, NodeId, Policy, QueueRule, ReplayError, RpcKey, ScrubMode, SingleQueue, SlotRange,
    Sources, Span, Tenants, Timestamp, TransferId, Verdict, replay, replay_text,
};

/// The log of a random history.
fn log(draw: &mut arbitrary::Unstructured<'_>, policy: Policy) -> arbitrary::Result<(BackendConfig, Vec<LogLine>)> {
    let mut pair = Pair::tiny(policy, ScrubMode::OnFull);
    let mut lines = Vec::new();
    while !draw.is_empty() {
        lines.extend(pair.apply(draw.arbitrary::<Op>()?));
    }
    Ok((pair.model.config, lines))
}

fn text(config: BackendConfig, lines: &[LogLine]) -> String {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!("{LOG_HEADER} {config}\n{lines}")
}

#[test]
fn every_line_reads_back_as_written() {
    nebula_testing::seeded(|draw| {
        for line in log(draw, Policy::Jbsq(2))?.1 {
            assert_eq!(line.to_string().parse(), Ok(line.clone()));
            assert_eq!(line.input.to_string().parse(), Ok(line.input));
            for decision in line.decisions {
                assert_eq!(decision.to_string().parse(), Ok(decision));
            }
        }
        Ok(())
    })
    .runs(200);
}

/// An input of a machine outside the back end.
fn outside(draw: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<Input> {
    let rpc = RpcKey { snid: NodeId(draw.arbitrary()?), tid: TransferId(draw.arbitrary()?) };
    let deadlines = [Timestamp::ZERO, Timestamp::from_ps(draw.arbitrary()?), NEVER];
    let step = match draw.int_in_range(0..=2)? {
        0 => RefuseStep::Start { each: Span::from_ps(draw.int_in_range(1..=u64::MAX)?) },
        1 => RefuseStep::Judge { asks_little: draw.arbitrary()? },
        _ => RefuseStep::Count,
    };
    let over = PoolStep::Over { deadline: *draw.choose(&deadlines)?, is_cancelled: draw.arbitrary()? };
    let pool = match draw.int_in_range(0..=6)? {
        0 => PoolStep::Start(PoolConfig {
            slo: Span::from_ps(draw.arbitrary()?),
            threads: draw.arbitrary()?,
            most: draw.arbitrary()?,
            sources: *draw.choose(&[Sources::ONE, Sources { shift: 18, bits: 14 }])?,
            tenants: *draw.choose(&[Tenants::ONE, Tenants::new(28, &[1, 255, 3])])?,
        }),
        1 | 2 => PoolStep::Judge(NodeId(draw.arbitrary()?)),
        3 => PoolStep::Next,
        4 => over,
        _ => PoolStep::End(Span::from_ps(draw.int_in_range(0..=1 << 40)?)),
    };
    Ok(match draw.int_in_range(0..=9)? {
        0 => Input::Over { rpc, deadline: *draw.choose(&deadlines)?, is_cancelled: draw.arbitrary()? },
        1 => Input::Crowd { rpc, host: draw.arbitrary()?, bytes: draw.arbitrary()? },
        2 => Input::Hold { host: draw.arbitrary()?, slots: draw.arbitrary()? },
        3 => Input::GiveBack { host: draw.arbitrary()?, slots: draw.arbitrary()? },
        4 => Input::Keep { held: draw.arbitrary()?, bytes: draw.arbitrary()? },
        5 => Input::Pool(pool),
        6 => Input::Pace(pace_step(draw)?),
        7 => Input::LongTurn(long_turn_step(draw)?),
        8 => Input::Early(early_step(draw)?),
        _ => Input::Refuse(step),
    })
}

fn pace_step(draw: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<PaceStep> {
    let queue = QueueRule { slo: Span::from_us(100), workers: draw.arbitrary()?, in_worker_queues: 1 };
    let config = PaceConfig {
        slo: Span::from_ps(draw.arbitrary()?),
        service_mean: Span::from_ps(draw.int_in_range(1..=u64::MAX)?),
        workers: draw.arbitrary()?,
        is_inline: draw.arbitrary()?,
        replies_later: draw.arbitrary()?,
        queue: draw.arbitrary::<bool>()?.then_some(queue),
    };
    let (took, served) = (Span::from_ps(draw.arbitrary()?), draw.arbitrary()?);
    Ok(match draw.int_in_range(0..=10)? {
        0 => PaceStep::Start(config),
        1 | 2 => PaceStep::EndTurn { work: draw.arbitrary()?, served, waiting: draw.arbitrary()? },
        3 => PaceStep::Idle { turns: draw.int_in_range(0..=200)? },
        4 => PaceStep::EndServing { took, served, most: draw.arbitrary()? },
        5 => PaceStep::EndIngress { turned_away: served },
        6 => PaceStep::LeaveOut,
        7 => PaceStep::HasRested,
        8 => PaceStep::Unfinished,
        9 => PaceStep::Floor { bound: served },
        _ => PaceStep::BesideRefusals { ingress: took },
    })
}

fn long_turn_step(draw: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<LongTurnStep> {
    let span = Span::from_ps(draw.arbitrary()?);
    Ok(match draw.int_in_range(0..=2)? {
        0 => LongTurnStep::Start { slo: span },
        1 => LongTurnStep::End { elapsed: None },
        _ => LongTurnStep::End { elapsed: Some(span) },
    })
}

fn early_step(draw: &mut arbitrary::Unstructured<'_>) -> arbitrary::Result<EarlyStep> {
    let peer = *draw.choose(&["10.0.0.1:53", "[::1]:9"])?;
    let (snid, came) = (NodeId(draw.int_in_range(0..=1)?), draw.arbitrary()?);
    Ok(match draw.int_in_range(0..=7)? {
        0 => EarlyStep::Start { clients_max: draw.int_in_range(0..=2)? },
        1 => EarlyStep::End,
        2 | 3 => EarlyStep::EndTurn { is_idle: draw.arbitrary()? },
        _ => {
            let lost = draw.int_in_range(0..=came)?;
            EarlyStep::Note { peer: peer.parse().expect("an address"), snid, came, lost }
        }
    })
}

#[test]
fn what_is_decided_outside_the_back_end_reads_back_and_replays() {
    nebula_testing::seeded(|draw| {
        let config = BackendConfig::new(1, Policy::Jbsq(2));
        let (mut beside, mut lines) = (Beside::new(&config), Vec::new());
        while !draw.is_empty() {
            let (at, input) = (Timestamp::from_ps(draw.arbitrary()?), outside(draw)?);
            let line = LogLine { at, input, decisions: beside.decide(at, input) };
            assert_eq!(line.to_string().parse(), Ok(line.clone()));
            lines.push(line);
        }
        assert_eq!(replay_text(&text(config, &lines)), Ok(lines.len()));
        Ok(())
    })
    .runs(200);
}

#[test]
fn endings_crowding_and_refusals_are_decided_again() {
    let log = "nebula-nic 1 cores=1 policy=jbsq:2 slots=800 rpc_bytes_max=25600
        5 over 3.1 deadline=5 cancelled=0 -> nack expired
        6 over 3.2 deadline=never cancelled=1 -> nack cancelled
        7 crowd 3.3 host=9 bytes=25600 -> fits
        7 hold host=9 slots=400 -> -
        8 crowd 3.4 host=9 bytes=25600 -> nack buffer-full
        9 give-back host=9 slots=400 -> -
        9 crowd 3.4 host=9 bytes=25600 -> fits
        9 keep held=67108864 bytes=4096 -> fits
        9 keep held=67108864 bytes=4097 -> nack buffer-full
        9 refuse start each_ps=1000000 -> -
        9 refuse light=0 -> answered
        9 refuse sent -> -
        9 refuse light=1 -> answered
        9 pool start slo_ps=1000000000 threads=1 most=2 sources=0+0 tenants=one -> -
        9 pool client=7 -> last
        9 pool client=7 -> last
        9 pool client=7 -> nack queue-bound
        9 pool next -> last
        9 pool end took_ps=1000000 -> -
        9 pool over deadline=9 cancelled=0 -> nack expired";
    assert_eq!(replay_text(log), Ok(20));
    let differs = |from: &str, to: &str| match replay_text(&log.replace(from, to)) {
        Err(ReplayError::Difference(difference)) => difference.line,
        other => panic!("{other:?} for {to}"),
    };
    assert_eq!(differs("deadline=5", "deadline=6"), 1);
    assert_eq!(differs("never cancelled=1", "never cancelled=0"), 2);
    assert_eq!(differs("hold host=9 slots=400", "hold host=8 slots=0"), 5);
    assert_eq!(differs("give-back host=9 slots=400", "give-back host=9 slots=0"), 7);
    assert_eq!(differs("bytes=4096 -> fits", "bytes=4098 -> fits"), 8);
    assert_eq!(differs("light=1 -> answered", "light=1 -> silent"), 13);
    let sent = "9 refuse sent -> -\n".repeat(47);
    assert_eq!(differs("9 refuse light=1", &format!("{sent}9 refuse light=0")), 60);
    assert_eq!(differs("most=2", "most=1"), 16);
    assert_eq!(differs("9 pool end took_ps=1000000 -> -", "9 pool next -> first"), 19);
    for wrong in [
        "pool start slo_ps=1 threads=1 most=1 sources=30+9 tenants=one",
        "pool took",
        "over 3.1 deadline=5 cancelled=2",
        "refuse start each_ps=0",
        "refuse light=2",
        "crowd 3.1 host=256",
    ] {
        assert!(wrong.parse::<Input>().is_err(), "{wrong}");
    }
}

#[test]
fn the_pace_of_an_engine_its_turns_and_early_drop_are_decided_again() {
    // Each turn serves 32 RPCs in 64 us.
    let turn = |turn: u64| format!("{} pace turn work=64 served=32 waiting=100 -> -\n", turn * 64_000_000);
    let turns: String = (1..64).map(turn).collect();
    let log = format!(
        "nebula-nic 1 cores=1 policy=jbsq:2
        0 pace start slo_ps=100000000 service_ps=1000000 workers=1 inline=1 later=0 queue=100000000/1/0 -> -
        0 pace serving took_ps=3200000 served=32 most=32 -> together=8
        {turns}
        4096000000 pace turn work=64 served=32 waiting=100 -> bound=48
        4096000000 pace idle turns=15 -> -
        4096000000 pace turn work=0 served=0 waiting=0 -> bound=45
        4096000000 pace floor bound=74 -> bound=74
        4096000000 pace floor bound=5 -> -
        4096000000 pace ingress-took took_ps=8000000 -> together=8
        2000 long-turn start slo_ps=1000000000 -> -
        2000 long-turn end elapsed_ps=400000000 -> serves_ps=175000000
        3000 early start clients=4 -> -
        3000 early datagram 10.0.0.1:53 7 came=1000 lost=1000 -> -
        64000003000 early turn idle=0 -> pass peer=10.0.0.1:53 client=7 part=1073741823
        64000003000 early end -> pass-all"
    );
    assert_eq!(replay_text(&log), Ok(77));
    for wrong in [
        "pace start slo_ps=1 service_ps=0 workers=1 inline=1 later=0 queue=none",
        "pace idle turns=1048577",
        "long-turn end",
        "early datagram 10.0.0.1 7 came=1 lost=0",
        "early datagram 10.0.0.1:53 7 came=1 lost=2",
    ] {
        assert!(wrong.parse::<Input>().is_err(), "{wrong}");
    }
}

#[test]
fn every_reason_reads_back() {
    for reason in NackReason::ALL {
        let decision = Decision::Packet(Verdict::Nack { reason });
        assert_eq!(decision.to_string().parse(), Ok(decision));
        assert_eq!(NackReason::from_code(reason.code()), Some(reason));
    }
    for reason in DropReason::ALL {
        let decision = Decision::Packet(Verdict::Drop { reason });
        assert_eq!(decision.to_string().parse(), Ok(decision));
        assert_eq!(DropReason::from_code(reason.code()), Some(reason));
    }
    assert_eq!((NackReason::from_code(0), DropReason::from_code(99)), (None, None));
}

#[test]
fn a_log_replays_through_another_back_end() {
    nebula_testing::seeded(|draw| {
        for policy in [Policy::Jbsq(2), Policy::Random] {
            let (config, lines) = log(draw, policy)?;
            let count = lines.len();
            assert_eq!(replay_text(&text(config, &lines)), Ok(count));
            assert_eq!(replay(config, lines), Ok(count));
        }
        Ok(())
    })
    .runs(200);
}

/// The log of a back end that looks ahead: RPCs of one to three slots. Dispatched ones end, except
/// the oldest.
fn log_of_looking_ahead(seed: u64) -> (BackendConfig, Vec<LogLine>) {
    let config = BackendConfig::new(2, Policy::Jbsq(8)).slots(150).rpc_bytes_max(192).queue_bound(60);
    let config = config.scrub(ScrubMode::Ahead);
    let mut nic = Backend::try_new(config).expect("a configuration that is possible");
    let (mut state, mut given, mut lines) = (seed, Vec::new(), Vec::new());
    for number in 0..600_u32 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let slots = u32::try_from(state >> 60).expect("four bits") % 3 + 1;
        let mut inputs: Vec<Input> = (0..slots).map(|idx| Input::Packet(header(number, idx, 64 * slots))).collect();
        if given.len() > 12 {
            let nth = 1 + usize::try_from(state >> 40 & 7).expect("three bits");
            let Dispatch { core, arrival } = given.remove(nth);
            inputs.insert(0, Input::Free { core, slots: arrival.slots });
        }
        for input in inputs {
            let line = LogLine::record(&mut nic, Timestamp::from_ps(u64::from(number)), input);
            given.extend(line.decisions.iter().filter_map(|decision| match decision {
                Decision::Dispatch(dispatch) => Some(*dispatch),
                _ => None,
            }));
            lines.push(line);
        }
    }
    assert!(nic.counters().scrubs_found > 0, "the head has met the oldest RPC");
    (config, lines)
}

fn header(number: u32, pkt_idx: u32, rpc_bytes: u32) -> Header {
    Header { snid: NodeId(1), tid: TransferId(number), rpc_bytes, pkt_idx, ..Header::default() }
}

#[test]
fn what_looks_ahead_replays_and_is_no_other_modes_log() {
    for seed in 0..20 {
        let (config, lines) = log_of_looking_ahead(seed);
        let count = lines.len();
        assert_eq!(replay_text(&text(config, &lines)), Ok(count));
        let other = config.scrub(ScrubMode::AfterNack);
        assert!(replay_text(&text(other, &lines)).is_err(), "seed {seed}: it would have refused some");
    }
}

/// Two RPCs for one core with one credit, and the free between them.
const LOG: &str = "nebula-nic 1 cores=1 policy=single-queue slots=4 rpc_bytes_max=64
    0 packet request 3.1 bytes=64 idx=0 key=0 -> write slots=0+1 offset=0 bytes=64 complete
    1 poll -> dispatch core=0 rpc=3.1 slots=0+1 bytes=64 key=0 arrived=0
    2 packet request 3.2 bytes=64 idx=0 key=0 -> write slots=1+1 offset=0 bytes=64 complete
    2 poll -> -
    3 free core=0 slots=0+1 -> freed; dispatch core=0 rpc=3.2 slots=1+1 bytes=64 key=0 arrived=2
    4 timeout -> -
";

#[test]
fn a_log_may_leave_dispatches_to_a_later_line() {
    assert_eq!(replay_text(LOG), Ok(6));
}

#[test]
fn the_first_difference_is_found() {
    let line_of = |log: String| match replay_text(&log) {
        Err(ReplayError::Difference(difference)) => difference.line,
        other => panic!("{other:?} is no difference"),
    };
    assert_eq!(line_of(LOG.replace("slots=1+1 offset", "slots=2+1 offset")), 3);
    assert_eq!(line_of(LOG.replace("freed; ", "refused; ")), 5);
    assert_eq!(line_of(LOG.replace("dispatch core=0 rpc=3.2", "dispatch core=0 rpc=3.1")), 5);
    assert_eq!(
        line_of(LOG.replace("policy=single-queue", "policy=jbsq:2")),
        4,
        "it would have gone out before the free"
    );
    assert_eq!(line_of(LOG.replace("4 timeout -> -", "4 timeout -> freed")), 6);
    assert_eq!(line_of(LOG.replace("-> freed; dispatch", "-> freed; freed; dispatch")), 5);
}

/// Two cores that pull their RPCs, and a thief.
const PULLED: &str = "nebula-nic 1 cores=3 policy=mcs-lock slots=4 rpc_bytes_max=64 seed=5
    0 packet request 3.1 bytes=64 idx=0 key=0 -> write slots=0+1 offset=0 bytes=64 complete
    1 packet request 3.2 bytes=64 idx=0 key=0 -> write slots=1+1 offset=0 bytes=64 complete
    2 pull core=2 -> dispatch core=2 rpc=3.1 slots=0+1 bytes=64 key=0 arrived=0
    3 pull core=2 -> -
    4 steal core=0 queues=0 -> -
    5 steal core=0 queues=5 -> victim=0
    6 steal core=0 queues=4 -> victim=2
    7 free core=2 slots=0+1 -> freed
    8 pull core=2 -> dispatch core=2 rpc=3.2 slots=1+1 bytes=64 key=0 arrived=1
";

#[test]
fn pulls_and_steals_replay() {
    assert_eq!(replay_text(PULLED), Ok(9));
    let (config, lines) = read_text(PULLED).expect("a log");
    for line in &lines {
        assert_eq!(line.to_string().parse(), Ok(line.clone()));
    }
    let through = Backend::try_with(config, SingleQueue::new(3)).expect("the configuration's");
    assert_eq!(replay_through(through, Beside::new(&config), lines), Ok(9));
    for (from, to) in [
        ("pull core=2 -> -", "pull core=1 -> -"),
        ("pull core=2 -> dispatch core=2 rpc=3.2", "pull core=3 -> dispatch core=2 rpc=3.2"),
        ("victim=2", "victim=0"),
        ("queues=0 -> -", "queues=0 -> victim=0"),
    ] {
        assert!(matches!(replay_text(&PULLED.replace(from, to)), Err(ReplayError::Difference(_))), "{to}");
    }
}

#[test]
fn whom_a_thief_chooses_depends_on_all_it_chose_before() {
    let all = 0b1111_1110;
    let steal = |core| Input::Steal { core: CoreId(core), queues: all & !(1 << core) };
    let config = BackendConfig::new(8, Policy::WorkStealing).seed(1);
    let mut fresh = Beside::new(&config);
    let line = |number: u64, thieves: &mut Beside| LogLine {
        at: Timestamp::from_ps(number),
        input: steal(0),
        decisions: thieves.decide(Timestamp::ZERO, steal(0)).into_iter().collect(),
    };
    let mut lines: Vec<_> = (0..50).map(|number| line(number, &mut fresh)).collect();
    assert_eq!(replay(config, lines.clone()), Ok(50));
    lines.remove(7);
    assert!(replay(config, lines).is_err(), "a choice that is missing shifts those after it");
}

/// A core whose RPCs take turns of a nanosecond.
const IN_TURNS: &str = "nebula-nic 1 cores=2 policy=jbsq:4 slots=4 rpc_bytes_max=64
    0 turn core=1 start quantum_ps=1000 suspended=2 -> -
    0 turn core=1 given -> -
    1 turn core=1 next -> begin context=0
    1 turn core=1 given -> -
    500 turn core=1 yield -> runs
    1500 turn core=1 yield -> suspended
    1500 turn core=1 next -> begin context=1
    1600 turn core=1 end -> -
    1600 turn core=1 next-suspended -> resume context=0
    1700 turn core=1 end -> -
    1700 turn core=1 next -> -
";

#[test]
fn turns_at_a_core_replay() {
    assert_eq!(replay_text(IN_TURNS), Ok(11));
    for line in read_text(IN_TURNS).expect("a log").1 {
        assert_eq!(line.to_string().parse(), Ok(line.clone()));
    }
    for (from, to) in [
        ("500 turn core=1 yield -> runs", "500 turn core=1 yield -> suspended"),
        ("context=1", "context=2"),
        ("quantum_ps=1000", "quantum_ps=9000"),
    ] {
        assert!(matches!(replay_text(&IN_TURNS.replacen(from, to, 1)), Err(ReplayError::Difference(_))), "{to}");
    }
}

#[test]
fn what_is_no_log_says_why() {
    for (log, why) in [
        ("", "begins with"),
        ("nebula-nic 1 cores=many", "cores=many"),
        ("nebula-nic 1 slots=0", "at least"),
        ("nebula-nic 1\n0 pocket -> -", "packet, free, type, timeout"),
        ("nebula-nic 1\n0 poll", "INPUT -> DECISIONS"),
        ("nebula-nic 1\n0 poll -> nack because", "reason"),
        ("nebula-nic 1\n0 poll -> freed twice", "no further words"),
        ("nebula-nic 1\nsoon poll -> -", "picoseconds"),
        ("nebula-nic 1\n0 steal core=0 queues=x -> -", "queues=HEX"),
        ("nebula-nic 1\n0 steal core=0 queues=1 -> victim=me", "victim=CORE"),
        ("nebula-nic 1\n0 pull -> -", "core"),
        ("nebula-nic 1\n0 turn core=0 start quantum_ps=1 suspended=63 -> -", "AT_MOST_62"),
    ] {
        let error = replay_text(log).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{log:?}: {error}");
    }
}

#[test]
fn any_text_is_read_without_panic() {
    nebula_testing::seeded(|draw| {
        let text: String = draw.arbitrary()?;
        let words = [
            "packet ",
            "3.4 ",
            "free core=",
            " -> ",
            "; ",
            "slots=1+",
            "dispatch ",
            "steal core=1 queues=",
            "victim=",
            "manage waiting=1 published=",
            "1:2,",
            "adopt rpc=",
            "migrate to=",
            &text,
        ];
        let mixed: String = (0..12).map(|_| draw.choose(&words).copied()).collect::<arbitrary::Result<_>>()?;
        let _ = (mixed.parse::<Input>(), mixed.parse::<Decision>(), mixed.parse::<LogLine>(), replay_text(&mixed));
        let _ = (mixed.parse::<GroupLine>(), mixed.parse::<GroupSetup>());
        Ok(())
    })
    .runs(200);
}

#[test]
fn every_line_of_a_groups_log_reads_back_as_written() {
    let (to, by) = (GroupId(3), GroupId(1));
    let slots = SlotRange::new(70, 2);
    let arrival = Arrival { slots, bytes: 99, key_hash: 7, arrived: Timestamp::from_ps(5), ..Arrival::default() };
    let rows = vec![ThresholdRow { load_permille: 500, waiting: 9 }, ThresholdRow { load_permille: 900, waiting: 4 }];
    let thresholds = Thresholds::try_from_rows(rows).unwrap();
    let inputs = [
        GroupInput::Nic(Input::Poll),
        GroupInput::Nic(Input::Free { core: CoreId(1), slots }),
        GroupInput::Manage { waiting: 12, published: vec![(by, 5), (to, 0)] },
        GroupInput::Manage { waiting: 12, published: vec![] },
        GroupInput::Thresholds(thresholds.clone()),
        GroupInput::Take { to },
        GroupInput::Adopt(arrival),
        GroupInput::SentBack { by, arrival },
        GroupInput::Returned { by, slots },
    ];
    let decisions = vec![
        GroupDecision::Migrate(Migration { to, count: 2 }),
        GroupDecision::Handed(arrival),
        GroupDecision::Adopted,
        GroupDecision::TurnedAway,
        GroupDecision::WaitsAgain,
        GroupDecision::Nic(Decision::Free(Freed::Foreign { origin: by })),
        GroupDecision::Nic(Decision::Free(Freed::Taken)),
    ];
    for input in inputs {
        for decisions in [decisions.clone(), vec![]] {
            let line = GroupLine { at: Timestamp::from_ps(17), input: input.clone(), decisions };
            assert_eq!(line.to_string().parse(), Ok(line));
        }
    }
    let backend = BackendConfig::new(2, Policy::Jbsq(2)).slots(64);
    let group = GroupConfig { backend, group: by, groups: 4, foreign_max: 8 };
    let setup = GroupSetup { group, manager: ManagerConfig::new(by, 4, 2, Span::from_us(1), thresholds) };
    assert_eq!(setup.to_string().parse(), Ok(setup));
    for text in
        ["0 take -> -", "0 adopt rpc=1.2 -> adopted", "0 manage waiting=1 published=5 -> -", "0 poll -> migrate to=1"]
    {
        assert!(text.parse::<GroupLine>().is_err(), "{text}");
    }
}
