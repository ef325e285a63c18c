//! Keys: the law of each popularity, and the bytes of a key.

use nebula_workload::{Key, Keys, Seed, key_bytes};

const DRAWS: u32 = 1_000_000;

fn shares(keys: Keys, count: u64, shown: usize) -> Vec<f64> {
    let mut rng = Seed(11).stream("keys");
    let mut picker = keys.over(count).expect("a population");
    let mut counts = vec![0u32; shown];
    for _ in 0..DRAWS {
        let Key(key) = picker.next_key(&mut rng);
        assert!(key < count);
        if let Some(seen) = usize::try_from(key).ok().and_then(|key| counts.get_mut(key)) {
            *seen += 1;
        }
    }
    counts.into_iter().map(|seen| f64::from(seen) / f64::from(DRAWS)).collect()
}

/// The shares by the definition of Zipf's law, summed term by term.
fn zipf_shares(theta: f64, count: u64, shown: usize) -> Vec<f64> {
    let total: f64 = (1..=count).rev().map(|rank| (rank as f64).powf(-theta)).sum();
    (1..=shown).map(|rank| (rank as f64).powf(-theta) / total).collect()
}

fn assert_close(drawn: &[f64], expected: &[f64], what: &str) {
    for (rank, (&drawn, &expected)) in drawn.iter().zip(expected).enumerate() {
        let deviation = (expected * (1.0 - expected) / f64::from(DRAWS)).sqrt();
        assert!((drawn - expected).abs() < 4.5 * deviation, "{what}, rank {rank}: {drawn}, not {expected}");
    }
}

#[test]
fn zipf_matches_its_definition_for_every_key_of_a_small_population() {
    for theta in [0.1, 0.5, 0.99, 0.999_999_999, 1.0, 1.2, 2.0, 5.0] {
        let keys = Keys::Zipf { theta };
        assert_close(&shares(keys, 10, 10), &zipf_shares(theta, 10, 10), &format!("theta {theta}"));
    }
}

#[test]
fn zipf_head_matches_its_definition_in_a_large_population() {
    for theta in [0.5, 0.99, 1.0, 1.3] {
        let keys = Keys::Zipf { theta };
        assert_close(&shares(keys, 1_600_000, 20), &zipf_shares(theta, 1_600_000, 20), &format!("theta {theta}"));
    }
}

#[test]
fn zipf_tail_has_its_share_too() {
    let mut rng = Seed(12).stream("keys");
    let mut picker = Keys::Zipf { theta: 0.99 }.over(1_600_000).unwrap();
    let in_tail = (0..DRAWS).filter(|_| picker.next_key(&mut rng).0 >= 800_000).count() as f64 / f64::from(DRAWS);
    let head: f64 = zipf_shares(0.99, 1_600_000, 800_000).iter().sum();
    assert!((in_tail - (1.0 - head)).abs() < 0.001, "{in_tail}, not {}", 1.0 - head);
}

#[test]
fn uniform_keys_are_equally_likely() {
    assert_close(&shares(Keys::Uniform, 1000, 1000), &[1e-3; 1000], "uniform");
}

#[test]
fn a_population_of_one_has_one_key() {
    for keys in [Keys::Uniform, Keys::Zipf { theta: 0.99 }, Keys::Zipf { theta: 10.0 }] {
        assert_eq!(shares(keys, 1, 1), [1.0], "{keys}");
    }
}

#[test]
fn spellings_parse_back_and_wrong_ones_name_the_right_ones() {
    for text in ["uniform", "zipf:0.99", "zipf:1.2"] {
        assert_eq!(text.parse::<Keys>().unwrap().to_string(), text);
    }
    let error = |text: &str| text.parse::<Keys>().unwrap_err().to_string();
    assert_eq!(error("zipf"), "keys \"zipf\" is not understood: write uniform or zipf:0.99");
    assert_eq!(error("zipf:-1"), "zipf theta -1 is out of range: use more than 0 and at most 10, such as 0.99");
    assert_eq!(error("zipf:NaN"), "zipf theta NaN is out of range: use more than 0 and at most 10, such as 0.99");
}

#[test]
fn an_empty_population_is_refused() {
    let error = Keys::Uniform.over(0).unwrap_err().to_string();
    assert_eq!(error, "number of keys 0 is out of range: use 1 to 2^53 keys");
}

#[test]
fn keys_of_one_length_differ() {
    for len in [8, 13, 16, 64] {
        let bytes = |key| {
            let mut bytes = vec![0; len];
            key_bytes(Key(key), &mut bytes);
            bytes
        };
        let mut all: Vec<_> = (0..10_000).chain([u64::MAX, 1 << 63]).map(bytes).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 10_002, "{len} B");
    }
}

#[test]
fn the_bytes_of_a_key_are_fixed() {
    assert_eq!(Key(0x0102).to_bytes(), GOLDEN);
}

/// A change of these bytes would make stores and clients of different versions disagree.
const GOLDEN: [u8; 16] = [2, 1, 0, 0, 0, 0, 0, 0, 164, 157, 81, 49, 160, 248, 9, 30];

#[test]
#[should_panic(expected = "a key needs at least 8 bytes, got 7")]
fn a_key_too_short_to_be_unique_is_refused() {
    key_bytes(Key(1), &mut [0; 7]);
}
