//! Rates, sweeps and mixes: accepted spellings and errors.

use nebula_workload::{Mix, Op, Rate, Seed, Sweep};

fn rps(text: &str) -> f64 {
    text.parse::<Rate>().expect("a rate").as_rps()
}

#[test]
fn rates_take_units_in_either_case_with_or_without_rps() {
    for text in ["200k", "200K", "200krps", "200kRPS", "200000", "200000rps", "0.2M", "0.2MRPS", " 200 k "] {
        assert_eq!(rps(text), 200_000.0, "{text}");
    }
    assert_eq!(rps("22MRPS"), 22e6);
    assert_eq!(rps("1.5G"), 1.5e9);
    assert_eq!(rps("0.5"), 0.5);
}

#[test]
fn rates_show_the_largest_unit_that_fits() {
    for text in ["200k", "1.5M", "22M", "999", "1k", "0.5", "2G"] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
    assert_eq!(format!("{:.2}", Rate::try_new(1_234_567.0).unwrap()), "1.23M");
}

#[test]
fn invalid_rates_are_refused_in_one_line() {
    for text in ["", "k", "fast", "-5k", "0", "nan", "inf", "1e13", "200kk", "200 k rps x"] {
        let error = text.parse::<Rate>().unwrap_err().to_string();
        assert_eq!(error, format!("rate {text:?} is not understood: write RPC/s such as 200k, 1.5M or 22MRPS"));
    }
    assert!(Rate::try_new(f64::NAN).is_err());
}

#[test]
fn scaled_rates_stay_within_limits() {
    let rate = Rate::try_new(1000.0).unwrap();
    assert_eq!(rate.scaled(2.5).as_rps(), 2500.0);
    assert_eq!(rate.scaled(1e300), Rate::MAX);
    assert_eq!([rate.scaled(0.0), rate.scaled(-1.0), rate.scaled(f64::NAN)], [Rate::MIN; 3]);
}

#[test]
fn sweeps_are_lists_or_ranges_with_both_ends() {
    let rates =
        |text: &str| text.parse::<Sweep>().unwrap().rates().iter().map(|rate| rate.as_rps()).collect::<Vec<_>>();
    assert_eq!(rates("200k,1M,500k"), [2e5, 1e6, 5e5]);
    assert_eq!(rates("100k"), [1e5]);
    assert_eq!(rates("100k..500k:5"), [1e5, 2e5, 3e5, 4e5, 5e5]);
    assert_eq!(rates("1M..1k:2"), [1e6, 1e3]);
}

#[test]
fn invalid_sweeps_are_refused_in_one_line() {
    for text in ["", "1k,", "1k..2k", "1k..2k:1", "1k..2k:0", "1k..2k:x", "1..2:10001", "1k;2k"] {
        let error = text.parse::<Sweep>().unwrap_err().to_string();
        assert_eq!(error, format!("sweep {text:?} is not understood: write rates such as 200k,500k,1M or 200k..2M:10"));
    }
}

#[test]
fn mixes_keep_their_weights_in_one_order() {
    for (text, shown) in [
        ("get=50,set=50", "get=50,set=50"),
        ("set=1,get=3", "get=3,set=1"),
        ("delete=1", "delete=1"),
        ("get=0, set=2 ,delete = 1", "set=2,delete=1"),
        ("scan=1,get=99", "get=99,scan=1"),
    ] {
        assert_eq!(text.parse::<Mix>().unwrap().to_string(), shown);
    }
    assert_eq!("get=50,set=45,delete=5".parse::<Mix>().unwrap().share(Op::Delete), 0.05);
}

#[test]
fn invalid_mixes_are_refused_in_one_line() {
    for text in ["", "get", "get=", "get=-1", "get=0", "get=1,get=2", "put=1", "get=1,,set=1", "get=5000000000"] {
        let error = text.parse::<Mix>().unwrap_err().to_string();
        let expected = "each operation once with a whole weight, not all 0, such as get=50,set=45,delete=5";
        assert_eq!(error, format!("mix {text:?} is not understood: write {expected}"));
    }
}

#[test]
fn operations_are_drawn_by_their_weights() {
    let mix: Mix = "get=40,set=45,delete=5,scan=10".parse().unwrap();
    let mut rng = Seed(1).stream("operations");
    let mut counts = [0.0; 4];
    for _ in 0..100_000 {
        counts[mix.pick(&mut rng) as usize] += 1e-5;
    }
    for op in Op::ALL {
        // Four standard deviations of the largest share.
        assert!((counts[op as usize] - mix.share(op)).abs() < 0.0064, "{op}: {counts:?}");
    }
}

#[test]
fn weights_at_their_limit_do_not_overflow() {
    let mix: Mix = "get=4294967295,set=4294967295,delete=4294967295".parse().unwrap();
    assert_eq!(mix.share(Op::Set), 1.0 / 3.0);
}
