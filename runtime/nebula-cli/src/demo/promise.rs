//! Which SLO can this machine promise?
//!
//! The SLO is the first of [`STEPS`] above three times the p99.9 that the pair had under load. A
//! machine whose cores have too much other work for the last step promises nothing.

use nebula_nic::Span;
use nebula_workload::{Latency, LatencyRecorder};

use nebula_ui::output::units;

const STEPS: [Span; 9] = [
    Span::from_us(100),
    Span::from_us(200),
    Span::from_us(500),
    Span::from_ms(1),
    Span::from_ms(2),
    Span::from_ms(5),
    Span::from_ms(10),
    Span::from_ms(20),
    Span::from_ms(50),
];
const MARGIN: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct UnderLoad {
    /// The rate that the pair serves when it is offered more.
    pub(super) saturation_rps: f64,
    /// The load as a share of that rate, and its duration.
    pub(super) load: f64,
    pub(super) time: Span,
    pub(super) p999: Latency,
    /// The share of time, in 0 to 1, in which the server did not have its core.
    pub(super) server_share_lost: f64,
    pub(super) client_share_lost: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// From the command line.
    Given(Span),
    /// From the measurement.
    Chosen(Span),
    /// Not even the last step is possible.
    Nothing,
}

impl Promise {
    pub(super) fn of(given: Option<Span>, measured: &UnderLoad) -> Self {
        match given {
            Some(slo) => Self::Given(slo),
            None => first_above(measured.p999).map_or(Self::Nothing, Self::Chosen),
        }
    }

    pub(super) const fn slo(self) -> Option<Span> {
        match self {
            Self::Given(slo) | Self::Chosen(slo) => Some(slo),
            Self::Nothing => None,
        }
    }

    pub(super) fn sentence(self, measured: &UnderLoad) -> String {
        let p999 = measured.in_words();
        let last = units::span(longest());
        match self {
            Self::Given(slo) => format!("The SLO is {}, as --slo says. Under {p999}.", units::span(slo)),
            Self::Chosen(slo) => {
                format!("The SLO is {}: the first step above three times the p99.9. Under {p999}.", units::span(slo))
            }
            Self::Nothing => format!(
                "Other work holds the cores, so this machine cannot promise even {last}: under {p999}. All \
                 rows are simulated from the handler times just measured."
            ),
        }
    }
}

impl UnderLoad {
    fn in_words(&self) -> String {
        let p999 = match self.p999 {
            Latency::Finite(p999) => format!("99.9 % of the RPCs took up to {}", units::span(p999)),
            Latency::Infinite => "more than 0.1 % of the RPCs got no answer".to_owned(),
        };
        let (offered, most) = (self.load * self.saturation_rps, self.saturation_rps);
        let (offered, most) = (units::rate(offered), units::rate(most));
        format!("{offered} of at most {most} RPC/s, for {}, {p999}", units::span(self.time))
    }

    /// The part of `slo` that RPCs may spend in the server's queue and in service.
    ///
    /// The promise holds for the client, which waits for pauses of the machine too. The queue gets
    /// the rest of the SLO, scaled by the share of time in which the server has its core.
    pub(super) fn server_slo(&self, slo: Span) -> Span {
        let pauses = match self.p999 {
            Latency::Finite(p999) if p999 * MARGIN <= slo => p999,
            // Pauses this long miss the SLO in any case.
            _ => Span::ZERO,
        };
        let runs = (1.0 - self.server_share_lost).clamp(SHARE_LEAST, 1.0);
        scaled(slo.saturating_sub(pauses), runs)
    }
}

/// A server counts as having at least this share of its core.
const SHARE_LEAST: f64 = 0.1;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a time")]
fn scaled(span: Span, share: f64) -> Span {
    Span::from_ps((span.as_ps() as f64 * share) as u64)
}

/// The SLO of a simulated run, also from the p99.9 of its RPCs.
pub(super) fn in_simulated_time(latencies: &LatencyRecorder) -> Span {
    let slo = latencies.quantile(0.999).and_then(first_above);
    slo.unwrap_or(longest())
}

pub(super) const fn longest() -> Span {
    STEPS[STEPS.len() - 1]
}

fn first_above(p999: Latency) -> Option<Span> {
    let least = p999.finite()? * MARGIN;
    STEPS.into_iter().find(|&step| step > least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(p999: Latency) -> UnderLoad {
        UnderLoad {
            saturation_rps: 600e3,
            load: 0.7,
            time: Span::from_secs(2),
            p999,
            server_share_lost: 0.5,
            client_share_lost: 0.0,
        }
    }

    fn chosen(p999: Span) -> Promise {
        Promise::of(None, &measured(Latency::Finite(p999)))
    }

    #[test]
    fn the_slo_is_the_first_step_above_three_times_the_p999() {
        for (p999_us, slo_us) in
            [(0, 100), (33, 100), (34, 200), (66, 200), (310, 1000), (333, 1000), (334, 2000), (16_600, 50_000)]
        {
            assert_eq!(chosen(Span::from_us(p999_us)), Promise::Chosen(Span::from_us(slo_us)), "{p999_us}");
        }
    }

    #[test]
    fn a_step_that_is_not_above_three_times_the_p999_is_not_taken() {
        assert_eq!(chosen(Span::from_ns(100_000) / 3), Promise::Chosen(Span::from_us(100)));
        assert_eq!(chosen(Span::from_ns(100_002) / 3), Promise::Chosen(Span::from_us(200)));
    }

    #[test]
    fn a_machine_without_its_cores_promises_nothing_and_says_so_first() {
        for p999 in [Latency::Finite(Span::from_us(16_667)), Latency::Infinite] {
            let (measured, promise) = (measured(p999), Promise::of(None, &measured(p999)));
            assert_eq!((promise, promise.slo()), (Promise::Nothing, None));
            let said = promise.sentence(&measured);
            assert!(
                said.starts_with("Other work holds the cores, so this machine cannot promise even 50 ms: "),
                "{said}"
            );
            assert!(said.contains("simulated"), "{said}");
        }
    }

    #[test]
    fn the_sentence_has_the_slo_and_what_it_follows_from() {
        let p999 = Latency::Finite(Span::from_us(310));
        assert_eq!(
            chosen(Span::from_us(310)).sentence(&measured(p999)),
            "The SLO is 1 ms: the first step above three times the p99.9. Under 420k of at most 600k RPC/s, for 2 s, \
             99.9 % of the RPCs took up to 310 µs."
        );
        let given = Promise::of(Some(Span::from_ms(10)), &measured(p999)).sentence(&measured(p999));
        assert!(given.starts_with("The SLO is 10 ms, as --slo says. Under 420k"), "{given}");
    }

    #[test]
    fn an_slo_that_is_given_is_the_slo_on_any_machine() {
        let slo = Some(Span::from_us(7));
        assert_eq!(Promise::of(slo, &measured(Latency::Infinite)).slo(), slo);
    }

    #[test]
    fn the_queue_gets_what_the_pauses_leave() {
        let of = |p999, slo| measured(p999).server_slo(slo);
        // A third of the SLO may be pauses, and the server has its core half of the time.
        assert_eq!(of(Latency::Finite(Span::from_ms(2)), Span::from_ms(10)), Span::from_ms(4));
        assert_eq!(of(Latency::Finite(Span::from_ms(9)), Span::from_ms(10)), Span::from_ms(5));
        assert_eq!(of(Latency::Infinite, Span::from_ms(10)), Span::from_ms(5));
        let hardly = UnderLoad { server_share_lost: 1.0, ..measured(Latency::Infinite) };
        assert_eq!(hardly.server_slo(Span::from_ms(10)), Span::from_ms(1));
    }
}
