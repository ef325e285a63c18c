//! Request types: their names, shares and times.

use nebula_nic::Span;
use nebula_workload::{Rng, Seed, ServiceTime, Streams, TypeId};

const DRAWS: u32 = 100_000;

fn persephone() -> ServiceTime {
    "mix:short=0.995*fixed:500ns;long=0.005*fixed:500us".parse().expect("a mix")
}

#[test]
fn types_have_their_names_and_shares() {
    assert_eq!(persephone().types(), [("short".to_owned(), 0.995), ("long".to_owned(), 0.005)]);
    assert_eq!("exp:1us".parse::<ServiceTime>().unwrap().types(), [("all".to_owned(), 1.0)]);
}

#[test]
fn each_type_is_drawn_by_its_share_with_its_times() {
    let service = persephone();
    let mut rng = Seed(1).stream("service");
    let mut long = 0;
    for _ in 0..DRAWS {
        match service.sample_typed(&mut rng) {
            (TypeId(0), time) => assert_eq!(time, Span::from_ns(500)),
            (TypeId(1), time) => {
                assert_eq!(time, Span::from_us(500));
                long += 1;
            }
            (other, _) => panic!("unknown type {other:?}"),
        }
    }
    let deviation = (0.005f64 * 0.995 / f64::from(DRAWS)).sqrt();
    assert!((f64::from(long) / f64::from(DRAWS) - 0.005).abs() < 4.5 * deviation, "{long}");
}

#[test]
fn typed_and_untyped_draws_are_the_same_times() {
    for spelling in ["mix:a=0.5*exp:1us;b=0.5*lognormal:mean=1us,sigma=1+exp:3us", "exp:1us", "exp:1us+exp:2us"] {
        let service: ServiceTime = spelling.parse().unwrap();
        let (mut typed, mut untyped) = (Seed(2).stream("service"), Seed(2).stream("service"));
        for _ in 0..1000 {
            assert_eq!(service.sample_typed(&mut typed).1, service.sample(&mut untyped));
        }
    }
}

#[test]
fn times_that_are_drawn_in_blocks_are_those_drawn_one_by_one() {
    for spelling in [
        "mix:a=0.5*exp:1us;b=0.5*lognormal:mean=1us,sigma=1+exp:3us",
        "exp:1us",
        "fixed:1us",
        "bimodal:500ns@0.9,5500ns@0.1",
        "uniform:0ns-2us",
        "exp:1us+exp:2us",
    ] {
        let service: ServiceTime = spelling.parse().unwrap();
        let (mut blocks, mut singles) = (Seed(2).stream("service"), Seed(2).stream("service"));
        let (mut types, mut times) = ([TypeId(7); 1000], [Span::ZERO; 1000]);
        service.fill_typed(&mut blocks, &mut types[..3], &mut times[..3]);
        service.fill_typed(&mut blocks, &mut types[3..], &mut times[3..]);
        for drawn in types.into_iter().zip(times) {
            assert_eq!(drawn, service.sample_typed(&mut singles), "{spelling}");
        }
    }
}

#[test]
fn times_drawn_side_by_side_are_those_that_each_stream_draws_alone() {
    for spelling in [
        "exp:1us",
        "exp:7ns",
        "fixed:1us",
        "bimodal:500ns@0.9,5500ns@0.1",
        "bimodal:5500ns@0.1,500ns@0.9",
        "bimodal:1us@0.5,2us@0.5",
        "bimodal:1us@0.5,2us@0.3,9us@0.2",
        "lognormal:mean=1us,scv=3",
        "mix:a=0.5*exp:1us;b=0.5*fixed:3us",
    ] {
        let service: ServiceTime = spelling.parse().unwrap();
        let mut alone: [Rng; 8] = std::array::from_fn(|lane| Seed(2).replica(lane as u64).stream("service"));
        let mut together = Streams::new(alone.clone());
        for _ in 0..200 {
            let mut rows = [[0.0; 8]; 50];
            service.fill_side_by_side(&mut together, &mut rows);
            for row in rows {
                let expected = alone.each_mut().map(|stream| service.sample(stream).as_ps() as f64);
                assert_eq!(row, expected, "{spelling}");
            }
        }
    }
}

#[test]
fn the_times_of_a_type_can_be_asked_for() {
    let service = persephone();
    let mean_ps = |index| service.of_type(TypeId(index)).map(ServiceTime::mean_ps);
    assert_eq!([mean_ps(0), mean_ps(1), mean_ps(2)], [Some(5e5), Some(5e8), None]);
    let plain: ServiceTime = "exp:1us".parse().unwrap();
    assert_eq!(plain.of_type(TypeId(0)), Some(&plain));
    assert_eq!(plain.of_type(TypeId(1)), None);
}

#[test]
fn at_most_256_types_are_accepted() {
    let mix = |count: u32| {
        let types: Vec<String> =
            (0..count).map(|index| format!("t{index}={}*fixed:1us", 1.0 / f64::from(count))).collect();
        format!("mix:{}", types.join(";")).parse::<ServiceTime>()
    };
    let most = mix(256).unwrap();
    let mut rng = Seed(3).stream("service");
    assert!((0..10_000).any(|_| most.sample_typed(&mut rng).0 == TypeId(255)));
    let error = mix(257).unwrap_err().to_string();
    assert_eq!(error, "number of request types 257 is out of range: use at most 256");
}
