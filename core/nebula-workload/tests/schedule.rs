//! Schedules: repeatable, never early, complete, and ended at the right time.

use nebula_nic::{Span, Timestamp};
use nebula_workload::{Arrivals, Key, Keys, Length, Mix, Op, Operation, Rate, Schedule, Seed, Workload};

const FOREVER: Timestamp = Timestamp::from_ps(u64::MAX);

fn workload() -> Workload {
    Workload { rate: Rate::try_new(1e6).expect("a rate"), length: Length::Operations(1000), ..Workload::default() }
}

fn at_us(us: u64) -> Timestamp {
    Timestamp::ZERO + Span::from_us(us)
}

fn all(mut schedule: Schedule) -> Vec<Operation> {
    std::iter::from_fn(|| schedule.pop_due(FOREVER)).collect()
}

fn drawn(workload: &Workload, seed: u64) -> Vec<Operation> {
    all(workload.schedule(Seed(seed), Timestamp::ZERO).expect("a workload"))
}

#[test]
fn one_seed_gives_one_load() {
    assert_eq!(drawn(&workload(), 1), drawn(&workload(), 1));
    assert_ne!(drawn(&workload(), 1), drawn(&workload(), 2));
}

#[test]
fn other_keys_and_mixes_do_not_change_the_arrivals() {
    let times = |workload: &Workload| drawn(workload, 1).iter().map(|operation| operation.at).collect::<Vec<_>>();
    let skewed = Workload { keys: Keys::Zipf { theta: 0.99 }, mix: Mix::READ_ONLY, ..workload() };
    assert_eq!(times(&workload()), times(&skewed));
    let keys = |workload: &Workload| drawn(workload, 1).iter().map(|operation| operation.key).collect::<Vec<_>>();
    assert_eq!(keys(&workload()), keys(&Workload { arrivals: Arrivals::Paced, mix: Mix::READ_ONLY, ..workload() }));
}

#[test]
fn times_keys_and_operations_do_not_correlate() {
    let mix = "get=1,set=1".parse().unwrap();
    let paired = drawn(&Workload { mix, length: Length::Operations(100_000), ..workload() }, 1);
    let long = |pair: &[Operation]| pair[1].at - pair[0].at > Span::from_ns(693);
    let high = |pair: &[Operation]| pair[1].key.0 >= 800_000;
    let set = |pair: &[Operation]| pair[1].op == Op::Set;
    let both = |left: &dyn Fn(&[Operation]) -> bool, right: &dyn Fn(&[Operation]) -> bool| {
        paired.windows(2).filter(|pair| left(pair) && right(pair)).count()
    };
    // Each is true for half of the operations; one standard deviation is 137.
    for count in [both(&long, &high), both(&long, &set), both(&high, &set)] {
        assert!(count.abs_diff(25_000) < 600, "{count}");
    }
}

#[test]
fn a_later_start_shifts_every_time() {
    let later = all(workload().schedule(Seed(1), at_us(77)).unwrap());
    let shifted = drawn(&workload(), 1).into_iter().map(|op| Operation { at: op.at + Span::from_us(77), ..op });
    assert_eq!(later, shifted.collect::<Vec<_>>());
}

#[test]
fn nothing_is_sent_before_it_is_due() {
    let mut schedule = workload().schedule(Seed(1), Timestamp::ZERO).unwrap();
    let due = schedule.peek_due().unwrap();
    assert_eq!(schedule.pop_due(due - Span::from_ps(1)), None);
    assert_eq!(schedule.peek_due(), Some(due));
    assert_eq!(schedule.pop_due(due).unwrap().at, due);
    assert!(schedule.peek_due().unwrap() > due);
}

#[test]
fn a_late_caller_gets_every_operation_with_its_own_time() {
    let mut on_time = workload().schedule(Seed(1), Timestamp::ZERO).unwrap();
    let punctual: Vec<Operation> = std::iter::from_fn(|| on_time.pop_due(on_time.peek_due()?)).collect();
    assert_eq!(punctual.len(), 1000);
    assert_eq!(drawn(&workload(), 1), punctual);
}

#[test]
fn a_duration_ends_before_its_end() {
    let length = Length::Duration(Span::from_us(10));
    let paced = Workload { arrivals: Arrivals::Paced, length, ..workload() };
    let times: Vec<u64> = drawn(&paced, 1).iter().map(|operation| operation.at.as_ps() / 1_000_000).collect();
    assert_eq!(times, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let schedule = paced.schedule(Seed(1), at_us(5)).unwrap();
    assert_eq!((schedule.start(), schedule.end()), (at_us(5), at_us(15)));
}

#[test]
fn an_ended_schedule_stays_ended() {
    let mut schedule = workload().schedule(Seed(1), Timestamp::ZERO).unwrap();
    while schedule.pop_due(FOREVER).is_some() {}
    assert_eq!((schedule.peek_due(), schedule.pop_due(FOREVER)), (None, None));
    let empty = Workload { length: Length::Operations(0), ..workload() };
    assert_eq!(drawn(&empty, 1), []);
}

#[test]
fn only_sets_carry_a_value() {
    let operations = drawn(&workload(), 1);
    assert!(operations.iter().all(|operation| operation.value_bytes == if operation.op == Op::Set { 512 } else { 0 }));
    assert!(operations.iter().any(|operation| operation.op == Op::Set));
}

#[test]
fn clients_that_share_a_load_make_poisson_arrivals_together() {
    let share =
        Workload { rate: Rate::try_new(1e5).unwrap(), length: Length::Duration(Span::from_secs(1)), ..workload() };
    let mut times: Vec<Timestamp> = (0..4u64)
        .flat_map(|client| all(share.schedule(Seed(1).replica(client), Timestamp::ZERO).unwrap()))
        .map(|operation| operation.at)
        .collect();
    times.sort();
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_ns_f64() / 2500.0).collect();
    let cv2 = gaps.iter().map(|gap| (gap - 1.0).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!(times.len().abs_diff(400_000) < 2600, "{}", times.len());
    // Clients in lockstep would give batches: CV² 7.
    assert!((cv2 - 1.0).abs() < 0.02, "CV² {cv2}");
}

#[test]
fn a_trace_is_replayed_from_the_start_given() {
    let recorded = |us| Operation { at: at_us(us), op: Op::Get, key: Key(us), value_bytes: 0 };
    let schedule = Schedule::from_trace(vec![recorded(0), recorded(4), recorded(4), recorded(8)], at_us(100));
    assert_eq!(schedule.rate_rps(), 500_000.0);
    assert_eq!(schedule.peek_due(), Some(at_us(100)));
    let times: Vec<Timestamp> = all(schedule).iter().map(|operation| operation.at).collect();
    assert_eq!(times, [100, 104, 104, 108].map(at_us));
}

#[test]
fn an_empty_trace_is_over_at_once() {
    let schedule = Schedule::from_trace(Vec::new(), at_us(5));
    assert_eq!((schedule.peek_due(), schedule.rate_rps(), schedule.end()), (None, 0.0, at_us(5)));
}
