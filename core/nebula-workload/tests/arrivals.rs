//! Arrivals: one suite for every kind, and each kind's law.

use nebula_nic::Span;
use nebula_workload::{ArrivalProcess, ArrivalTrace, Arrivals, Rate, Seed};

fn gaps(arrivals: &Arrivals, rps: f64, seed: u64, count: usize) -> Vec<Span> {
    let mut rng = Seed(seed).stream("arrivals");
    let mut process: ArrivalProcess = arrivals.at(Rate::try_new(rps).expect("a rate"));
    (0..count).map(|_| process.next_gap(&mut rng)).collect()
}

fn mean_ps(gaps: &[Span]) -> f64 {
    gaps.iter().map(|gap| gap.as_ps() as f64).sum::<f64>() / gaps.len() as f64
}

/// Squared coefficient of variation: 1 for Poisson arrivals, 0 for equal gaps.
fn cv2(gaps: &[Span]) -> f64 {
    let mean = mean_ps(gaps);
    gaps.iter().map(|gap| (gap.as_ps() as f64 / mean - 1.0).powi(2)).sum::<f64>() / gaps.len() as f64
}

const GAPS: usize = 250_000;

/// A bound on the index of dispersion of counts over a long time: variance over mean.
///
/// For Markov-modulated arrivals it is 1 + 2 (variance of the rate) (mean time a deviation lasts) /
/// (mean rate).
fn dispersion(arrivals: &Arrivals, rps: f64) -> f64 {
    match arrivals {
        // Calm at 5/7 and bursts at 25/7 of the mean rate; a deviation lasts 90 us.
        Arrivals::Mmpp2(_) => 1.0 + 2.0 * 0.735 * rps * 90e-6,
        // 4 and 0 times the mean rate; a deviation lasts 75 us.
        Arrivals::OnOff(_) => 1.0 + 2.0 * 3.0 * rps * 75e-6,
        _ => 1.0,
    }
}

mod suite {
    use super::*;

    pub(crate) fn is_repeatable(arrivals: &Arrivals) {
        assert_eq!(gaps(arrivals, 1e6, 4, 1000), gaps(arrivals, 1e6, 4, 1000));
    }

    pub(crate) fn fills_with_the_gaps_that_it_draws(arrivals: &Arrivals) {
        let mut filled = [Span::ZERO; 1000];
        let (mut process, mut rng) = (arrivals.at(Rate::try_new(1e6).expect("a rate")), Seed(4).stream("arrivals"));
        // In pieces, the second of which is empty.
        process.fill(&mut rng, &mut filled[..7]);
        process.fill(&mut rng, &mut []);
        process.fill(&mut rng, &mut filled[7..]);
        assert_eq!(filled[..], gaps(arrivals, 1e6, 4, 1000));
    }

    pub(crate) fn keeps_its_rate(arrivals: &Arrivals) {
        for rps in [0.5, 1e3, 1e6 / 3.0, 22e6] {
            let ratio = mean_ps(&gaps(arrivals, rps, 1, GAPS)) * rps / 1e12;
            // Four standard deviations of a mean of this many gaps, bursts included.
            let bound = 4.0 * (dispersion(arrivals, rps) / GAPS as f64).sqrt();
            assert!((ratio - 1.0).abs() < bound, "{arrivals} at {rps}: {ratio}, not 1 ± {bound}");
        }
    }

    pub(crate) fn keeps_its_spelling(arrivals: &Arrivals) {
        let text = arrivals.to_string();
        let again = match arrivals {
            Arrivals::Trace(_) => Arrivals::parse_with(&text, |_| Ok("0\n1\n3\n10\n11\n".as_bytes())),
            _ => text.parse(),
        };
        assert_eq!(again, Ok(arrivals.clone()));
    }
}

macro_rules! conforms {
    ($($kind:ident => $arrivals:expr),*) => {$(
        mod $kind {
            use super::*;

            #[test]
            fn is_repeatable() {
                suite::is_repeatable(&$arrivals);
            }

            #[test]
            fn fills_with_the_gaps_that_it_draws() {
                suite::fills_with_the_gaps_that_it_draws(&$arrivals);
            }

            #[test]
            fn keeps_its_rate() {
                suite::keeps_its_rate(&$arrivals);
            }

            #[test]
            fn keeps_its_spelling() {
                suite::keeps_its_spelling(&$arrivals);
            }
        }
    )*};
}

fn trace() -> Arrivals {
    let read = ArrivalTrace::read("day.csv", "0\n1\n3\n10\n11\n".as_bytes());
    Arrivals::Trace(read.expect("a trace"))
}

conforms!(
    poisson => Arrivals::Poisson,
    paced => Arrivals::Paced,
    packets => "packets:8".parse().unwrap(),
    mmpp2 => "mmpp2:5x,0.1,100us".parse().unwrap(),
    on_off => "on-off:100us,300us".parse().unwrap(),
    trace => trace()
);

#[test]
fn poisson_gaps_are_exponential() {
    let gaps = gaps(&Arrivals::Poisson, 1e6, 2, 1_000_000);
    // The standard deviation of CV² is √(8/n) = 0.0028 for exponential gaps.
    assert!((cv2(&gaps) - 1.0).abs() < 0.012, "CV² {}", cv2(&gaps));
    for (ns, expected) in [(100, 0.904_84), (1000, 0.367_88), (3000, 0.049_79), (7000, 0.000_912)] {
        let bound = Span::from_ns(ns);
        let longer = gaps.iter().filter(|&&gap| gap > bound).count() as f64 / 1e6;
        assert!((longer - expected).abs() < 4.5 * (expected / 1e6f64).sqrt(), "P(gap > {ns} ns) = {longer}");
    }
}

#[test]
fn poisson_gaps_do_not_depend_on_the_gap_before() {
    let gaps = gaps(&Arrivals::Poisson, 1e6, 3, 1_000_000);
    let centered: Vec<f64> = gaps.iter().map(|gap| gap.as_ps() as f64 / 1e6 - 1.0).collect();
    let lag1 = centered.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / 1e6;
    assert!(lag1.abs() < 0.005, "autocorrelation {lag1}");
}

#[test]
fn poisson_gaps_lose_nothing_to_whole_picoseconds() {
    // At a mean of 2 ps, truncating each gap would lose a quarter of the time.
    let mean = mean_ps(&gaps(&Arrivals::Poisson, 5e11, 1, 1_000_000));
    assert!((mean - 2.0).abs() < 0.009, "mean {mean} ps");
}

#[test]
fn paced_gaps_do_not_drift() {
    for rps in [3u64, 7, 999_983, 22_000_000] {
        // Exactly `rps` gaps take one second to the picosecond, ten times in a row.
        let mut rng = Seed(1).stream("unused");
        let mut process = Arrivals::Paced.at(Rate::try_new(rps as f64).unwrap());
        let sent = if rps > 1_000_000 { rps } else { 10 * rps };
        let total: Span = (0..sent).map(|_| process.next_gap(&mut rng)).sum();
        assert_eq!(total, Span::from_secs(sent / rps), "{rps} RPC/s");
    }
}

#[test]
fn paced_gaps_differ_by_a_picosecond_at_most() {
    let gaps = gaps(&Arrivals::Paced, 3e6, 1, 3000);
    assert!(gaps.iter().all(|gap| [333_333, 333_334].contains(&gap.as_ps())));
}

#[test]
fn gaps_of_packets_vary_by_the_square_of_their_number() {
    for packets in [1.0, 4.0, 8.0] {
        let arrivals: Arrivals = format!("packets:{packets}").parse().unwrap();
        let gaps = gaps(&arrivals, 1e6, 2, 1_000_000);
        let scv = cv2(&gaps) * packets * packets;
        assert!((scv - 1.0).abs() < 0.012, "{packets} packets: {scv}");
        let least = gaps.iter().map(|gap| gap.as_ps()).min().unwrap() as f64;
        let fixed = (packets - 1.0) / packets * 1e6;
        assert!(least + 1.0 >= fixed && least < fixed + 100.0, "{packets} packets: {least} ps");
    }
}

#[test]
fn packets_one_by_one_are_poisson() {
    assert_eq!(gaps(&"packets:1".parse().unwrap(), 1e6, 9, 1000), gaps(&Arrivals::Poisson, 1e6, 9, 1000));
}

#[test]
fn other_spellings_are_shown_in_the_usual_one() {
    for (text, shown) in [
        ("deterministic", "paced"),
        (" poisson ", "poisson"),
        ("packets: 8", "packets:8"),
        ("mmpp2:5, 1e-1, 0.1ms", "mmpp2:5x,0.1,100us"),
        ("on-off: 100000ns , 1s", "on-off:100us,1s"),
    ] {
        assert_eq!(text.parse::<Arrivals>().unwrap().to_string(), shown);
    }
    assert_eq!(
        format!("{:>8}|{:>10}|", Arrivals::Paced, "packets:8".parse::<Arrivals>().unwrap()),
        "   paced| packets:8|"
    );
}

const ANY: &str = "poisson, paced, packets:N, mmpp2:RATIO,SHARE,SOJOURN, on-off:ON,OFF or trace:FILE";
const PACKETS: &str = "packets:N such as packets:8";
const MMPP2: &str = "mmpp2:RATIO,SHARE,SOJOURN such as mmpp2:5x,0.1,100us";
const ON_OFF: &str = "on-off:ON,OFF such as on-off:100us,300us";

#[test]
fn unknown_arrivals_are_refused_in_one_line() {
    for (text, expected) in [
        ("poison", ANY),
        ("", ANY),
        ("poisson:1", ANY),
        ("trace:", ANY),
        ("packets:0", PACKETS),
        ("packets:1.5", PACKETS),
        ("packets:-1", PACKETS),
        ("mmpp2:5x,0.1", MMPP2),
        ("mmpp2:5x,0.1,100", MMPP2),
        ("mmpp2:fivex,0.1,100us", MMPP2),
        ("mmpp2:5x,0.1,100us,1", MMPP2),
        ("mmpp2:nan,0.1,100us", MMPP2),
        ("on-off:100us", ON_OFF),
        ("on-off:100us,-1us", ON_OFF),
    ] {
        let error = text.parse::<Arrivals>().unwrap_err().to_string();
        assert_eq!(error, format!("arrivals {text:?} is not understood: write {expected}"));
    }
}

#[test]
fn arrivals_out_of_range_are_refused_in_one_line() {
    for (text, said) in [
        ("mmpp2:0.5x,0.1,100us", "mmpp2 ratio 0.5 is out of range: use 1 to 1e6"),
        ("mmpp2:5x,0,100us", "mmpp2 share of bursts 0 is out of range: use 1e-6 to 1 - 1e-6"),
        ("mmpp2:5x,1,100us", "mmpp2 share of bursts 1 is out of range: use 1e-6 to 1 - 1e-6"),
        ("mmpp2:5x,0.1,0us", "mmpp2 mean burst in ps 0 is out of range: use a time above 0"),
        ("on-off:0us,1us", "on period in ps 0 is out of range: use a time above 0"),
        ("on-off:1us,0us", "off period in ps 0 is out of range: use a time above 0"),
    ] {
        assert_eq!(text.parse::<Arrivals>().unwrap_err().to_string(), said);
    }
    let said = "arrivals \"trace:day.csv\" names a file, which cannot be used here: write a law such as poisson";
    assert_eq!("trace:day.csv".parse::<Arrivals>().unwrap_err().to_string(), said);
}
