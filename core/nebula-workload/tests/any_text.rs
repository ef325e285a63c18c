//! No text makes the parsers of spellings and recorded times panic, or report more than one line.

use std::io;

use arbitrary::Unstructured;
use nebula_workload::{ArrivalTrace, Arrivals, Rate, Seed, ServiceTime, WorkloadError};

/// Spellings with places for times (T), numbers (N) and service times (S).
const FORMS: [&str; 17] = [
    "fixed:T",
    "exp:T",
    "uniform:T-T",
    "bimodal:T@N,T@N",
    "lognormal:mean=T,sigma=N",
    "lognormal:mean=T,scv=N",
    "gev:loc=T,scale=T,shape=N",
    "pareto:min=T,alpha=N",
    "pareto:min=T,alpha=N,max=T",
    "trace:T",
    "S+S",
    "mix:a=N*S;b=N*S",
    "poisson",
    "packets:N",
    "mmpp2:Nx,N,T",
    "on-off:T,T",
    "T",
];
const TIMES: [&str; 8] = ["0ns", "1ps", "1.5us", "100us", "1s", "18446744073709551615ps", "-1us", "1"];
const NUMBERS: [&str; 10] = ["0", "0.5", "1", "2", "0.999", "-0.3", "1e308", "1e-300", "nan", "x"];

/// Fills a form; one in eight places gets arbitrary text.
fn fill(u: &mut Unstructured<'_>, depth: u32) -> arbitrary::Result<String> {
    let mut filled = String::new();
    for place in u.choose(&FORMS)?.chars() {
        match place {
            'T' | 'N' | 'S' if u.ratio(1, 8)? => filled.push_str(u.arbitrary()?),
            'T' => filled.push_str(u.choose(&TIMES)?),
            'N' => filled.push_str(u.choose(&NUMBERS)?),
            'S' if depth < 3 => filled.push_str(&fill(u, depth + 1)?),
            other => filled.push(other),
        }
    }
    Ok(filled)
}

fn text(u: &mut Unstructured<'_>) -> arbitrary::Result<String> {
    if u.ratio(1, 4)? { u.arbitrary() } else { fill(u, 0) }
}

fn open(_: &str) -> io::Result<&'static [u8]> {
    Ok(b"1\n2\n4\n")
}

fn one_line<T>(read: Result<T, WorkloadError>) -> Option<T> {
    read.inspect_err(|error| assert!(!error.to_string().contains('\n'), "{error}")).ok()
}

#[test]
fn any_text_is_a_service_time_that_reads_back_or_an_error_of_one_line() {
    nebula_testing::seeded(|u| {
        let text = text(u)?;
        let Some(service) = one_line(ServiceTime::parse_with(&text, open)) else { return Ok(()) };
        assert!(service.mean_ps() > 0.0 && service.mean_ps().is_finite(), "{text:?}");
        assert!(service.scv().is_none_or(|scv| scv >= 0.0), "{text:?}");
        let (mut rng, mut again) = (Seed(1).stream("any"), Seed(1).stream("any"));
        assert_eq!(service.sample(&mut rng), service.sample_typed(&mut again).1, "{text:?}");
        assert_eq!(ServiceTime::parse_with(&service.to_string(), open), Ok(service), "{text:?}");
        Ok(())
    })
    .runs(600);
}

#[test]
fn any_text_is_arrivals_that_read_back_or_an_error_of_one_line() {
    nebula_testing::seeded(|u| {
        let text = text(u)?;
        let Some(arrivals) = one_line(Arrivals::parse_with(&text, open)) else { return Ok(()) };
        let rate = *u.choose(&[Rate::MIN, Rate::default(), Rate::MAX])?;
        let gaps = || {
            let (mut process, mut rng) = (arrivals.at(rate), Seed(1).stream("any"));
            [(); 10].map(|()| process.next_gap(&mut rng))
        };
        assert_eq!(gaps(), gaps(), "{text:?}");
        assert_eq!(Arrivals::parse_with(&arrivals.to_string(), open), Ok(arrivals), "{text:?}");
        Ok(())
    })
    .runs(600);
}

#[test]
fn any_bytes_are_recorded_times_or_an_error_of_one_line() {
    nebula_testing::seeded(|u| {
        let bytes: Vec<u8> = u.arbitrary()?;
        one_line(ServiceTime::from_samples("any.csv", bytes.as_slice()));
        one_line(ArrivalTrace::read("any.csv", bytes.as_slice()));
        Ok(())
    })
    .runs(300);
}
