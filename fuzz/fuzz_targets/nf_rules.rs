//! Any text as rules of a firewall and as a chain: it is accepted, or refused with one of its
//! lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nebula_nf::firewall::Rules;
use nebula_nf::{ChainConfig, Endpoint, Flow, Protocol};

fuzz_target!(|text: &str| {
    match text.parse::<Rules>() {
        Ok(rules) => {
            let end = Endpoint { ip: [10, 0, 0, 1].into(), port: 53 };
            let _ = rules.verdict(&Flow { protocol: Protocol::Udp, from: end, to: end });
            assert!(rules.len() <= text.lines().count());
        }
        Err(error) => assert!((1..=text.lines().count()).contains(&error.line)),
    }
    if let Ok(config) = ChainConfig::parse(text, |_| Ok(text.to_owned())) {
        let _ = config.addresses();
        assert!(config.shard(0, 1).counter().is_some() == config.counts());
    }
});
