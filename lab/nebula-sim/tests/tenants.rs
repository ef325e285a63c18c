//! Tenants that share cores: alone they are M/M/1, weights hold at saturation, and a noisy one is
//! its own loss.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

use nebula_sim::{Effort, Interval, Met, Tenants, TenantsEstimate};

fn tenant(name: &str, weight: u16, load: f64, more: &str) -> String {
    format!("\n[[tenants]]\nname = '{name}'\nweight = {weight}\nslo = '50us'\nload = {load:?}\n{more}\n")
}

fn estimate(file: &str) -> TenantsEstimate {
    estimate_of(file, 100_000)
}

fn estimate_of(file: &str, rpcs: u64) -> TenantsEstimate {
    let effort = Effort::default().rpcs(rpcs).replications(6);
    Tenants::parse(file).unwrap().estimate(&effort, &|| ()).unwrap()
}

#[track_caller]
fn assert_agrees(what: &str, theory: f64, found: Interval, tolerance: f64) {
    let agrees = found.contains(theory) || (found.value / theory - 1.0).abs() < tolerance;
    assert!(agrees && found.relative() < 0.1, "{what}: theory {theory}, found {found:?}");
}

#[test]
fn one_tenant_alone_is_mm1_at_each_core() {
    for (cores, load) in [(1, 0.3), (1, 0.8), (4, 0.8)] {
        let file = format!("cores = {cores}{}", tenant("alone", 3, load, "service = 'exp:1us'"));
        let found = &estimate(&file).tenants[0];
        assert_agrees("mean latency", 1.0 / (1.0 - load), found.mean_ps.scaled(1e-6), 0.02);
        // The latency of M/M/1 is itself exponential.
        assert_agrees("p99", -(0.01_f64.ln()) / (1.0 - load), found.p99_ps.scaled(1e-6), 0.03);
        assert_agrees("median", -(0.5_f64.ln()) / (1.0 - load), found.p50_ps.scaled(1e-6), 0.02);
        assert_agrees("busy", load, found.busy, 0.01);
        assert_eq!((found.share.value, found.fair_share, found.nacked.value), (1.0, 1.0, 0.0));
        assert_eq!(found.met, Met::Yes);
    }
}

#[test]
fn a_full_queue_is_mm1k() {
    // At most 5 in the server: four that wait and one that is served.
    let file = format!("cores = 1{}", tenant("alone", 1, 0.9, "service = 'exp:1us'\nqueue_bound = 4"));
    let found = &estimate(&file).tenants[0];
    let (rho, most) = (0.9_f64, 5);
    let states: f64 = (0..=most).map(|n| rho.powi(n)).sum();
    assert_agrees("NACKed", rho.powi(most) / states, found.nacked, 0.02);
    assert_eq!(found.met, Met::No, "more than 1 % are refused");
}

#[test]
fn weights_hold_at_saturation_whatever_rpcs_take_and_is_refused() {
    for weights in [&[1, 1][..], &[1, 3], &[5, 1, 2]] {
        let mut file = "cores = 2\nrefusal = '100ns'\n".to_owned();
        for (index, &weight) in weights.iter().enumerate() {
            // The first ones' RPCs take four times as long, and the last ones are offered most.
            let service = if index == 0 { "exp:4us" } else { "fixed:1us" };
            let more = format!("service = '{service}'\nqueue_bound = 32");
            file += &tenant(&index.to_string(), weight, 2.0 + 2.0 * f64::from(u8::try_from(index).unwrap()), &more);
        }
        let found = estimate(&file);
        let all: u16 = weights.iter().sum();
        for (found, &weight) in found.tenants.iter().zip(weights) {
            let fair = f64::from(weight) / f64::from(all);
            assert_eq!(found.fair_share, fair);
            assert!((found.share.value - fair).abs() <= 0.02 * fair, "{:?} where {fair} is fair", found.share);
            assert!(found.nacked.value > 0.3, "it is offered more than there is: {:?}", found.nacked);
        }
    }
}

#[test]
fn a_tenant_at_ten_times_its_share_moves_anothers_p99_by_less_than_a_tenth() {
    for load in [0.1, 0.2, 0.4] {
        let beside = |noisy: f64| {
            let more = "service = 'exp:1us'\nqueue_bound = 64";
            let both = [tenant("quiet", 1, load, more), tenant("noisy", 1, noisy, more)].concat();
            // As many RPCs of the quiet one in either case.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some million")]
            let rpcs = (15_000.0 * (load + noisy) / load) as u64;
            estimate_of(&format!("cores = 2\nrefusal = '100ns'\n{both}"), rpcs)
        };
        // What the quiet one leaves of its half is the noisy one's share too.
        let (at_share, at_ten) = (beside(1.0 - load), beside(10.0 * (1.0 - load)));
        let [before, after] = [&at_share, &at_ten].map(|found| found.tenants[0].p99_ps);
        assert!(
            after.value <= 1.1 * before.value,
            "{after:?} beside ten times its share, {before:?} beside it, at {load}"
        );
        assert_eq!((at_ten.tenants[0].nacked.value, at_ten.tenants[0].met), (0.0, Met::Yes), "at {load}");
        let used = at_ten.tenants[1].busy.value;
        assert!((used - (1.0 - load)).abs() < 0.02, "the noisy one has what is left: {used} at {load}");
    }
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let effort = Effort::default().rpcs(20_000).replications(2);
    let tenants = Tenants::named("noisy").unwrap();
    let [one, other] = [(); 2].map(|()| format!("{:?}", tenants.estimate(&effort, &|| ()).unwrap()));
    assert_eq!(one, other);
}
