//! The lines that tell of the tiers, one at a time.

use std::collections::BTreeMap;
use std::fmt::Write;

use nebula_nic::Span;

use crate::edge::EdgeReport;
use crate::page::{Calls, Load, Tiers};
use crate::show::Line;
use crate::tier::Threads;
use nebula_ui::output::units;

/// All that was told.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    threads: Vec<String>,
    /// Since the last load ended, by caller and callee: the sum of counts, and the latencies of the
    /// interval with the most replies.
    calls: BTreeMap<(String, String), Kept>,
    loads: Vec<Load>,
    highest: BTreeMap<String, Option<f64>>,
    ratio: (Option<f64>, Option<f64>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Kept {
    calls: Calls,
    most: u64,
    /// In the latest interval.
    latest: Calls,
}

impl Seen {
    /// Takes a line; the load that it ends, if it ends one.
    pub(super) fn take(&mut self, line: Line) -> Option<&Load> {
        match line {
            Line::Clients { threads, edges } => self.take_edges(threads, "clients", edges),
            Line::Tier { threads, report } => self.take_edges(threads, &report.tier, report.edges),
            Line::Highest { threads, rps, .. } => drop(self.highest.insert(threads.name().to_owned(), rps)),
            Line::Ratio { load, latency_p50, .. } => self.ratio = (load, latency_p50),
            Line::Killed { .. } | Line::Restarted { .. } => {}
            Line::Load {
                threads,
                offered_rps,
                replied_rps,
                refused,
                failed,
                latency_us_p50,
                latency_us_p99,
                meets_slo,
                ..
            } => {
                let threads = threads.name().to_owned();
                let calls = std::mem::take(&mut self.calls).into_iter().map(|(of, kept)| (of, kept.calls)).collect();
                let (p50, p99) = (latency_us_p50.map(span_of_us), latency_us_p99.map(span_of_us));
                let load = Load { threads, offered_rps, replied_rps, refused, failed, p50, p99, meets_slo, calls };
                self.loads.push(load);
                return self.loads.last();
            }
        }
        None
    }

    fn take_edges(&mut self, threads: Threads, from: &str, edges: Vec<EdgeReport>) {
        if !self.threads.iter().any(|one| one == threads.name()) {
            self.threads.push(threads.name().to_owned());
        }
        for EdgeReport { to, replied, refused, failed, latency_us_p50, latency_us_p99, .. } in edges {
            let (p50, p99) = (span_of_us(latency_us_p50), span_of_us(latency_us_p99));
            let kept = self.calls.entry((from.to_owned(), to)).or_default();
            kept.latest = Calls { replied, refused, failed, p50, p99 };
            let calls = &mut kept.calls;
            (calls.replied, calls.refused) = (calls.replied + replied, calls.refused + refused);
            calls.failed += failed;
            if replied >= kept.most {
                (kept.most, calls.p50, calls.p99) = (replied, p50, p99);
            }
        }
    }

    /// The latest interval, as lines of text.
    pub(super) fn now(&self) -> String {
        let threads = self.threads.last().map_or("", String::as_str);
        let mut text = format!(
            "{:<26}{:>9}{:>9}{:>9}{:>10}{:>10}",
            format!("{threads} threads"),
            "replied",
            "refused",
            "failed",
            "p50",
            "p99"
        );
        for ((from, to), Kept { latest, .. }) in &self.calls {
            let Calls { replied, refused, failed, p50, p99 } = latest;
            let (call, p50, p99) = (format!("{from} → {to}"), units::span(*p50), units::span(*p99));
            let _ = write!(text, "\n{call:<26}{replied:>9}{refused:>9}{failed:>9}{p50:>10}{p99:>10}");
        }
        text
    }

    pub(super) fn into_tiers(self, slo: Span) -> Tiers {
        let verdict = self.verdict(slo);
        Tiers { slo, threads: self.threads, loads: self.loads, highest_rps: self.highest, verdict }
    }

    fn verdict(&self, slo: Span) -> String {
        let highest = |(threads, rps): (&String, &Option<f64>)| {
            let highest = rps.map_or("no load".to_owned(), |rps| format!("{} RPC/s", units::rate(rps)));
            format!("{} threads: {highest} within the SLO of {}.", capital(threads), units::span(slo))
        };
        let mut sentences: Vec<_> = self.highest.iter().map(highest).collect();
        if let (Some(load), Some(latency)) = self.ratio {
            sentences.push(format!(
                "Worker threads carry {load:.1} times the load of dispatch threads, at {latency:.1} times the median latency of a light load."
            ));
        }
        sentences.join(" ")
    }
}

/// A word at the beginning of a sentence.
fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time that was measured; `as` saturates")]
fn span_of_us(us: f64) -> Span {
    Span::from_ps((us * 1e6) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Line {
        serde_json::from_str(text).expect("a line")
    }

    #[test]
    fn intervals_are_summed_until_their_load_ends() {
        let edge = |replied, refused, p50: u32| {
            format!(
                r#"{{"kind":"tier","threads":"worker","tier":"staff","interval_ms":250.0,"served":1,"refused":0,"waiting":0,"edges":[{{"to":"airport",
                "replied":{replied},"refused":{refused},"failed":0,"latency_us_p50":{p50},"latency_us_p99":9.0,"refusal_us_p50":0.0}}]}}"#
            )
        };
        let mut seen = Seen::default();
        for text in [edge(10, 1, 5), edge(30, 2, 7), edge(20, 0, 8)] {
            assert!(seen.take(line(&text)).is_none());
        }
        assert!(seen.now().lines().nth(1).expect("a call").starts_with("staff → airport"), "{}", seen.now());
        let load = r#"{"kind":"load","threads":"worker","offered_rps":100.0,"replied_rps":60.0,"offered":63,"replied":60,"refused":3,"failed":0,
            "latency_us_p50":7.5,"latency_us_p99":null,"meets_slo":false}"#;
        let load = seen.take(line(load)).expect("it has ended");
        assert_eq!((load.p50, load.p99), (Some(Span::from_ns(7500)), None));
        let calls = load.calls[&("staff".to_owned(), "airport".to_owned())];
        assert_eq!((calls.replied, calls.refused, calls.p50), (60, 3, Span::from_us(7)));
        seen.take(line(r#"{"kind":"highest","threads":"worker","rps":100.0,"missed_rps":null}"#));
        seen.take(line(r#"{"kind":"ratio","load":8.46,"latency_p50":1.13,"latency_p99":1.0}"#));
        let tiers = seen.into_tiers(Span::from_ms(5));
        assert_eq!(
            tiers.verdict,
            "Worker threads: 100 RPC/s within the SLO of 5 ms. Worker threads carry 8.5 times the load of dispatch threads, at 1.1 times the \
             median latency of a light load."
        );
    }
}
