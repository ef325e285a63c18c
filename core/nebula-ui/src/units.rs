//! Numbers for people: three significant digits, and a unit.

use nebula_nic::Span;
use nebula_workload::{Latency, Rate};

/// `630 ns`, `12.5 µs`, `1.81 ms`.
#[must_use]
pub fn span(span: Span) -> String {
    let ns = span.as_ns_f64();
    match ns {
        _ if ns < 999.5 => format!("{ns:.0} ns"),
        _ if ns < 999.5e3 => format!("{} µs", three_digits(ns / 1e3)),
        _ if ns < 999.5e6 => format!("{} ms", three_digits(ns / 1e6)),
        _ => format!("{} s", three_digits(ns / 1e9)),
    }
}

/// A latency; infinite for a NACK and for a lost RPC.
#[must_use]
pub fn latency(latency: Option<Latency>) -> String {
    match latency {
        Some(Latency::Finite(finite)) => span(finite),
        Some(Latency::Infinite) => "∞".to_owned(),
        None => "–".to_owned(),
    }
}

/// `200k`, `1.52M`.
#[must_use]
pub fn rate(rps: f64) -> String {
    match Rate::try_new(rps) {
        Ok(_) if rps >= 1e9 => format!("{}G", three_digits(rps / 1e9)),
        Ok(_) if rps >= 999.5e3 => format!("{}M", three_digits(rps / 1e6)),
        Ok(_) if rps >= 999.5 => format!("{}k", three_digits(rps / 1e3)),
        _ => format!("{rps:.0}"),
    }
}

/// `540 KiB`, `879 MiB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let exact = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..0x10_0000 => format!("{} KiB", three_digits(exact / 1024.0)),
        0x10_0000..0x4000_0000 => format!("{} MiB", three_digits(exact / f64::from(1 << 20))),
        _ => format!("{} GiB", three_digits(exact / f64::from(1 << 30))),
    }
}

/// A share of 0 to 1 in percent. Shares near 1 or 0 are not rounded to 100 % or 0 %.
#[must_use]
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.01 => "<0.01 %".to_owned(),
        percent if (99.995..100.0).contains(&percent) => ">99.99 %".to_owned(),
        percent if percent == 0.0 || percent == 100.0 => format!("{percent:.0} %"),
        percent => format!("{} %", three_digits(percent)),
    }
}

/// Three significant digits of a number from 1 to 1000, without trailing zeros.
fn three_digits(number: f64) -> String {
    let decimals = match number {
        _ if number >= 99.95 => 0,
        _ if number >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{number:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_count_at_every_size() {
        let spans = [999, 1_000, 12_345, 99_960, 999_600, 1_810_000, 2_000_000_000];
        let shown = ["999 ns", "1 µs", "12.3 µs", "100 µs", "1 ms", "1.81 ms", "2 s"];
        assert_eq!(spans.map(|ns| span(Span::from_ns(ns))), shown);
        assert_eq!(
            [3.0, 950.0, 1_000.0, 200e3, 999_700.0, 1.523e6].map(rate),
            ["3", "950", "1k", "200k", "1M", "1.52M"]
        );
        assert_eq!([1000, 552_960, 921_600_000, 3 << 30].map(bytes), ["1000 B", "540 KiB", "879 MiB", "3 GiB"]);
    }

    #[test]
    fn a_share_that_is_almost_all_is_not_shown_as_all() {
        let shares = [0.0, 1e-6, 0.0123, 0.951, 0.99996, 1.0];
        assert_eq!(shares.map(percent), ["0 %", "<0.01 %", "1.23 %", "95.1 %", ">99.99 %", "100 %"]);
    }

    #[test]
    fn a_nack_is_infinitely_late() {
        assert_eq!(latency(Some(Latency::Infinite)), "∞");
        assert_eq!(latency(None), "–");
    }
}
