//! After construction, a million RPCs allocate nothing.

use nebula_nic::{Span, Timestamp};
use nebula_testing::allocations::{Counting, allocations};
use nebula_workload::{
    Arrivals, GapDetector, Generator, GeneratorConfig, Keys, Length, Rate, Seed, ServiceTime, Workload,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// Sends everything due, blocking every third operation once; answers, refuses and loses them in
/// turn.
fn drive(generator: &mut Generator, detector: &mut GapDetector) {
    let mut now = Timestamp::ZERO;
    let mut turns = 0u64;
    while !generator.is_finished() {
        turns += 1;
        now += Span::from_ns(if turns.is_multiple_of(1000) { 12_000 } else { 700 });
        detector.observe(now);
        while let Some((token, _)) = generator.poll_send(now) {
            if turns.is_multiple_of(3) {
                generator.handle_blocked(token);
                break;
            }
            match turns % 7 {
                2 => generator.handle_refused(now, token),
                0 => generator.handle_nack(now, token),
                1 => generator.handle_lost(now, token),
                _ => generator.handle_reply(now, token, true),
            };
        }
        if turns.is_multiple_of(100) {
            generator.latency_mut().settle(detector.log(), now);
        }
    }
}

#[test]
fn a_million_operations_allocate_nothing() {
    let workload = Workload {
        rate: Rate::try_new(2e6).unwrap(),
        keys: Keys::Zipf { theta: 0.99 },
        length: Length::Operations(1_000_000),
        ..Workload::default()
    };
    let schedule = workload.schedule(Seed(1), Timestamp::ZERO).unwrap();
    let mut generator = Generator::new(schedule, GeneratorConfig { pending_max: 1000, ..GeneratorConfig::default() });
    // A small log, since dropping old gaps must not allocate either.
    let mut detector = GapDetector::new(GapDetector::THRESHOLD, 16);
    let before = allocations();
    drive(&mut generator, &mut detector);
    assert_eq!(allocations(), before);
    assert!(before > 0 && generator.counts().settled() == 1_000_000 && detector.log().forgotten() > 100);
}

#[test]
fn draws_of_arrivals_and_service_times_allocate_nothing() {
    let open = |_: &str| Ok("1\n2\n4\n".as_bytes());
    let arrivals = ["poisson", "paced", "packets:8", "mmpp2:5x,0.1,100us", "on-off:1us,3us", "trace:day.csv"];
    let mut processes = arrivals.map(|text| Arrivals::parse_with(text, open).unwrap().at(Rate::default()));
    let services = [
        "mix:a=0.5*exp:1us+lognormal:mean=1us,sigma=1;b=0.5*trace:day.csv",
        "bimodal:1us@0.5,2us@0.5+gev:loc=1us,scale=1us,shape=0.1+pareto:min=1us,alpha=2+uniform:1us-2us",
    ];
    let services = services.map(|text| ServiceTime::parse_with(text, open).unwrap());
    let mut rng = Seed(1).stream("draws");
    let before = allocations();
    let mut total = Span::ZERO;
    for _ in 0..100_000 {
        total += processes.iter_mut().map(|process| process.next_gap(&mut rng)).sum();
        total += services.iter().map(|service| service.sample_typed(&mut rng).1).sum();
    }
    assert_eq!(allocations(), before);
    assert!(before > 0 && total > Span::from_secs(1));
}
