//! Any text as a key file: no panic, and the keys can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula::Keys;

fuzz_target!(|text: &str| {
    let Ok(keys) = text.parse::<Keys>() else { return };
    assert!(!keys.is_empty());
    let written: String = keys.iter().map(|(name, key)| format!("{name} {}\n", key.to_hex())).collect();
    assert_eq!(written.parse::<Keys>().as_ref(), Ok(&keys));
});
