//! What entries promise, whatever they find: published values from the data alone, the same rows on
//! any number of threads; and that theory is what an independent program found it to be. The rows
//! of `nebula reproduce` are looked at in nebula-cli's tests, which run it.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use nebula_sim::SystemModel;
use nebula_sim::reproduce::{ENTRIES, Effort, Lab, Memo, Reproduction, paper};
use nebula_workload::Seed;
use std::fs;
use std::path::{Path, PathBuf};

fn reproduced(id: &str) -> Reproduction {
    let entry = ENTRIES.iter().find(|entry| entry.id == id).unwrap();
    entry.reproduce(&Lab { effort: Effort::Quick, seed: Seed(1), progress: &(), memo: &Memo::default() }).unwrap()
}

fn value(found: &Reproduction, id: &str) -> f64 {
    let row = found.rows.iter().find(|row| row.id() == id);
    row.unwrap_or_else(|| panic!("no row {id}")).reproduced().value
}

// -- the data --

#[test]
fn every_published_value_belongs_to_an_entry_and_has_a_source() {
    for (paper, figure) in paper::figures() {
        let is_of = |entry: &&str| figure.id.strip_prefix(*entry).is_some_and(|rest| rest.starts_with('/'));
        assert!(ENTRIES.iter().map(|entry| entry.id).any(|id| is_of(&id)), "{}", figure.id);
        let texts = [paper, &figure.what, &figure.unit, &figure.tolerance_why, &figure.source];
        assert!(texts.iter().all(|text| !text.is_empty()), "{figure:?}");
        assert!(figure.value > 0.0 && figure.tolerance >= 0.0, "{figure:?}");
        assert!(figure.cited.is_none() || figure.fitted.is_none() && figure.assumes.is_none(), "{figure:?}");
    }
    let mut ids: Vec<&str> = paper::figures().map(|(_, figure)| figure.id.as_str()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "an id twice");
}

#[test]
fn a_claim_made_twice_is_counted_with_one_that_is_counted() {
    let twice: Vec<_> = paper::figures().filter_map(|(_, figure)| Some((figure, figure.same_as.as_ref()?))).collect();
    assert!(!twice.is_empty());
    for (figure, id) in twice {
        let counted = paper::figures().find(|(_, other)| other.id == *id).map(|(_, other)| other);
        assert!(counted.is_some_and(|counted| counted.same_as.is_none()), "{} is counted as {id}", figure.id);
    }
}

#[test]
fn no_published_value_is_written_in_code() {
    // Numbers of one digit that counts, such as 10, powers of two, and small whole numbers are
    // written for many other reasons.
    let is_telling = |value: f64| {
        let digits = value.to_string().chars().filter(|&c| c != '.').collect::<String>();
        let is_small = value.fract() == 0.0 && value < 30.0;
        digits.trim_matches('0').len() > 1 && value.log2().fract() != 0.0 && !is_small
    };
    let published: Vec<f64> =
        paper::figures().map(|(_, figure)| figure.value).filter(|&value| is_telling(value)).collect();
    assert!(published.len() > 15, "{published:?}");
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(sources.iter().any(|(path, _)| path.ends_with("table1.rs")));
    for (path, text) in &sources {
        let found = numbers(text).find(|number| published.contains(number));
        assert_eq!(found, None, "{} holds a published value", path.display());
    }
}

#[test]
fn a_published_value_in_code_would_be_found() {
    let text = "let load = 0.999_0; // 319\n let depth = 410_u32; \"127\"";
    assert_eq!(numbers(text).collect::<Vec<_>>(), [0.999, 410.0]);
}

/// The files of the entries.
fn sources(src: &Path) -> Vec<(PathBuf, String)> {
    let mut folders = vec![src.join("reproduce")];
    let mut files = vec![src.join("reproduce.rs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { &mut folders } else { &mut files }.push(path);
        }
    }
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The numbers of the code: not those of comments and texts.
fn numbers(text: &str) -> impl Iterator<Item = f64> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = code.flat_map(|line| line.split('"').step_by(2));
    let words = code.flat_map(|code| code.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '_')));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).filter_map(|word| {
        let plain = word.replace('_', "");
        let digits = plain.split(|c: char| c.is_alphabetic()).next().unwrap_or_default();
        digits.trim_end_matches('.').parse().ok()
    })
}

// -- the rows --

#[test]
fn the_same_seed_gives_the_same_rows_on_any_number_of_threads() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| reproduced("nebula/eq1").rows)
    };
    assert_eq!(on(1), on(3));
    let entry = ENTRIES.iter().find(|entry| entry.id == "nebula/eq1").unwrap();
    let other =
        entry.reproduce(&Lab { effort: Effort::Quick, seed: Seed(2), progress: &(), memo: &Memo::default() }).unwrap();
    assert_ne!(reproduced("nebula/eq1").rows, other.rows);
}

// -- what an independent program found --

/// Highest loads with a p99 of 10 mean service times, Poisson arrivals, 16 cores: one queue, and
/// one queue per core; and the p99 at load 0.7.
const THEORY: [(&str, f64, f64, f64, f64); 5] = [
    ("fixed", 0.987, 0.773, 1.32, 7.45),
    ("uniform", 0.977, 0.704, 2.01, 9.71),
    ("exponential", 0.962, 0.532, 4.65, 15.1),
    ("half-uniform", 0.983, 0.755, 1.57, 8.0),
    ("half-exponential", 0.977, 0.710, 2.84, 9.5),
];

#[test]
fn queues_and_servers_are_as_an_independent_program_has_them() {
    let found = reproduced("rpcvalet/theory");
    for (law, one, many, tail_one, tail_many) in THEORY {
        let value = |what: &str| value(&found, &format!("rpcvalet/theory/{law}/{what}"));
        // Short runs pass at loads that are a little too high, by chance.
        for (what, expected) in [("1x16/load_at_slo", one), ("16x1/load_at_slo", many)] {
            assert!((-0.01..0.02).contains(&(value(what) - expected)), "{law}: {what} {}", value(what));
        }
        assert!((value("1x16/p99_high") / tail_one - 1.0).abs() < 0.03, "{law}: {}", value("1x16/p99_high"));
        assert!((value("16x1/p99_high") / tail_many - 1.0).abs() < 0.06, "{law}: {}", value("16x1/p99_high"));
    }
}

#[test]
fn a_lock_ends_throughput_where_its_hand_offs_fill_all_time() {
    let found = reproduced("rpcvalet/software-queue");
    for handoff_ns in [100_u32, 150, 200] {
        let loss = value(&found, &format!("rpcvalet/software-queue/exponential/mcs-lock/{handoff_ns}ns"));
        let nic = value(&found, "rpcvalet/software-queue/exponential/single-queue/load_at_slo");
        // 16 cores of 1 µs against one hand-off after the other: the lock keeps the SLO up to 85 to
        // 100 % of that.
        let at_most = nic * 16.0 * f64::from(handoff_ns) / 1000.0;
        assert!((at_most..at_most / 0.85).contains(&loss), "{handoff_ns} ns: {loss} of {at_most}");
    }
}

// -- Dagger --

/// The published throughput of a bar, as nanoseconds of core time for each RPC.
fn bar_ns(bar: &str) -> f64 {
    1e3 / paper::dagger().figure(&format!("dagger/interfaces/{bar}_mrps")).value
}

#[test]
fn the_core_times_of_dagger_are_the_fits_of_two_bars_each() {
    let handler_ns = paper::dagger().setup.service.mean_ps() / 1e3;
    let of = |system: &str| SystemModel::named(system).unwrap().system(1).unwrap().host.unwrap();
    let fits = [
        (
            ("doorbell-1", 1.0),
            ("doorbell-11", 11.0),
            &["dagger-doorbell", "dagger-doorbell-batched", "dagger-mmio"][..],
        ),
        (("upi-1", 1.0), ("upi-4", 4.0), &["dagger-upi"][..]),
    ];
    for ((short, few), (long, many), systems) in fits {
        // ns = c + d / B at both.
        let store = (bar_ns(short) - bar_ns(long)) / (1.0 / few - 1.0 / many);
        let per_rpc = bar_ns(short) - store / few;
        for host in systems.iter().map(|system| of(system)) {
            assert!((host.store.as_ns_f64() - store).abs() < 0.1, "{host:?} and not {store}");
            assert!((host.per_rpc.as_ns_f64() + handler_ns - per_rpc).abs() < 0.1, "{host:?} and not {per_rpc}");
        }
    }
}
