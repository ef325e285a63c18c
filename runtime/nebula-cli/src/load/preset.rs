//! The key-value loads that papers use to compare systems, by name.
//!
//! A preset gives sizes, keys, their popularity and the mix, unless the command line does.

use clap::ArgMatches;
use clap::parser::ValueSource;

use super::args::Args;

#[derive(Clone, Copy, Debug)]
pub(super) struct Preset {
    name: &'static str,
    /// With its source.
    what: &'static str,
    mix: &'static str,
    keys: u64,
    key_dist: &'static str,
    key_bytes: u8,
    value_bytes: u32,
    scan_items: u16,
}

const PAIRS_OF_DAGGER: u64 = 10_000_000;

const PRESETS: &[Preset] = &[
    Preset {
        name: "herd",
        what: "95 % GET of 8 M pairs of 16 B and 32 B (HERD's defaults; RPCValet's first application)",
        mix: "get=95,set=5",
        keys: 8_000_000,
        key_dist: "uniform",
        key_bytes: 16,
        value_bytes: 32,
        scan_items: 100,
    },
    Preset {
        name: "masstree",
        what: "99 % GET, 1 % SCAN of 100 pairs (RPCValet's second application; 1.6 M pairs of 16 B and 8 B are assumed)",
        mix: "get=99,scan=1",
        keys: 1_600_000,
        key_dist: "uniform",
        key_bytes: 16,
        value_bytes: 8,
        scan_items: 100,
    },
    Preset { name: "mica-tiny", what: "95 % GET of 10 M pairs of 8 B and 8 B, Zipf 0.9999 (Dagger)", ..TINY },
    Preset { name: "mica-small", what: "95 % GET of 10 M pairs of 16 B and 32 B, Zipf 0.9999 (Dagger)", ..SMALL },
    Preset {
        name: "memcached-tiny",
        what: "the load of mica-tiny, for a server of memcached's protocol (Dagger)",
        ..TINY
    },
    Preset {
        name: "memcached-small",
        what: "the load of mica-small, for a server of memcached's protocol (Dagger)",
        ..SMALL
    },
];

const TINY: Preset = Preset {
    name: "",
    what: "",
    mix: "get=95,set=5",
    keys: PAIRS_OF_DAGGER,
    key_dist: "zipf:0.9999",
    key_bytes: 8,
    value_bytes: 8,
    scan_items: 100,
};

const SMALL: Preset = Preset { key_bytes: 16, value_bytes: 32, ..TINY };

pub(super) fn parse(text: &str) -> Result<Preset, String> {
    let found = PRESETS.iter().find(|preset| preset.name == text);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        format!("there is no preset {text:?}; there are {}", names.join(", "))
    })
}

pub(super) fn list() -> String {
    PRESETS.iter().fold("Presets:".to_owned(), |text, preset| format!("{text}\n  {:16} {}", preset.name, preset.what))
}

pub(super) fn complete(args: &mut Args, given: &ArgMatches) {
    let Some(preset) = args.preset else { return };
    let is_free = |id: &str| given.value_source(id) != Some(ValueSource::CommandLine);
    if is_free("mix") {
        args.mix = parsed(preset.mix);
    }
    if is_free("keys") {
        args.keys = preset.keys;
    }
    if is_free("key_dist") {
        args.key_dist = parsed(preset.key_dist);
    }
    if is_free("key_bytes") {
        args.key_bytes = preset.key_bytes;
    }
    if is_free("value_bytes") {
        args.value_bytes = preset.value_bytes;
    }
    if is_free("scan_items") {
        args.scan_items = preset.scan_items;
    }
}

/// A test reads all presets' texts.
fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| unreachable!("a preset's {text}: {error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, FromArgMatches, Parser};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn completed(words: &[&str]) -> Args {
        let given = Line::command().try_get_matches_from([&["load"], words].concat()).unwrap();
        let mut line = Line::from_arg_matches(&given).unwrap();
        complete(&mut line.args, &given);
        line.args
    }

    #[test]
    fn a_preset_gives_what_the_line_does_not() {
        for preset in PRESETS {
            let args = completed(&["--preset", preset.name]);
            assert_eq!(args.mix.to_string(), preset.mix);
            let sizes = (args.key_bytes, args.value_bytes, args.keys, args.scan_items);
            assert_eq!(
                sizes,
                (preset.key_bytes, preset.value_bytes, preset.keys, preset.scan_items),
                "{}",
                preset.name
            );
        }
        let args = completed(&["--preset", "herd", "--keys", "1000", "--mix", "get=1"]);
        assert_eq!((args.keys, args.mix.to_string().as_str(), args.value_bytes), (1000, "get=1", 32));
        assert_eq!(completed(&[]).value_bytes, 512);
    }

    #[test]
    fn a_preset_that_does_not_exist_is_refused_with_those_that_do() {
        let error = parse("herds").unwrap_err();
        assert!(error.contains("herd, masstree, mica-tiny"), "{error}");
    }
}
