//! Whole numbers and byte counts with suffixes.

/// A whole number such as `1600000`, `1_600_000`, `1600k` or `1.6M`.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a whole number such as 1600000 or 1.6M, not {text:?}");
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1e3),
        Some(b'M') => (&text[..text.len() - 1], 1e6),
        Some(b'G') => (&text[..text.len() - 1], 1e9),
        _ => return text.replace('_', "").parse().map_err(|_| wrong()),
    };
    let exact = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    let whole = exact.round();
    let is_whole = (exact - whole).abs() < 1e-6 * unit && (0.0..=1e15).contains(&whole);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and from 0 to 1e15")]
    is_whole.then_some(whole as u64).ok_or_else(wrong)
}

/// A size in bytes such as `4096`, `64KiB`, `512MiB` or `2GiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("", 1_u64)];
    let number =
        |&(suffix, unit): &(&str, u64)| text.strip_suffix(suffix)?.trim_end().parse::<u64>().ok()?.checked_mul(unit);
    units
        .iter()
        .find_map(number)
        .ok_or_else(|| format!("expected a size such as 4096, 64KiB, 512MiB or 2GiB, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_bytes_read_as_people_write_them() {
        assert_eq!(
            ["1600000", "1_600_000", "1.6M", "1600k", "2G"].map(count),
            [1_600_000, 1_600_000, 1_600_000, 1_600_000, 2_000_000_000].map(Ok)
        );
        assert!(["", "k", "1.5", "-1", "1.0001k", "1e9G", "NaNk", "1.6m"].iter().all(|text| count(text).is_err()));
        assert_eq!(["4096", "64KiB", "2 GiB"].map(bytes), [4096, 65_536, 2 << 30].map(Ok));
        assert!(["", "KiB", "1.5GiB", "1KB", "99999999999999999GiB"].iter().all(|text| bytes(text).is_err()));
    }
}
