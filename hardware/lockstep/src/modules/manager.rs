//! Compares `altocumulus_manager` with [`Manager`].

use super::same;
use crate::model::Model;
use crate::rng::Rng;
use nebula_nic::schedule::{Manager, ManagerConfig, ThresholdRow, Thresholds};
use nebula_nic::{GroupId, Span, Timestamp};

/// Of the model.
const ROWS: u64 = 4;

pub(super) fn check(model: &mut Model, inputs: u64, seed: u64) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    for run in 0..inputs.div_ceil(5_000) {
        let groups = [16, 2, 5, 1][usize::try_from(run % 4).expect("few")];
        let group = GroupId(u16::try_from(rng.below(u32::from(groups))).expect("few"));
        let (bulk, concurrency) = [(16, 8), (4, 1), (9, 2)][usize::try_from(run % 3).expect("few")];
        let rows = rows(&mut rng);
        let thresholds = Thresholds::try_from_rows(rows.clone()).expect("rising loads");
        let config = ManagerConfig::new(group, groups, 4, Span::from_ns(10), thresholds).bulk(bulk, concurrency);
        configure(model, &config, &rows);
        let mut soft = Manager::try_new(config).expect("a valid configuration");
        let mut published = vec![0_u32; groups.into()];
        let mut at = Timestamp::ZERO;
        for number in 0..5_000 {
            let most = if rng.below(300) == 0 { 9_000_000 } else { 6_000 };
            at += Span::from_ps(rng.below(most).into());
            input(model, &mut soft, &mut published, (&mut rng, at, number))?;
        }
    }
    Ok(())
}

fn rows(rng: &mut Rng) -> Vec<ThresholdRow> {
    let count = 1 + rng.below(4);
    let mut load_permille = 0;
    let mut row = || {
        load_permille += 1 + rng.below(500);
        ThresholdRow { load_permille, waiting: rng.below(12) }
    };
    (0..count).map(|_| row()).collect()
}

fn configure(model: &mut Model, config: &ManagerConfig, rows: &[ThresholdRow]) {
    for (name, value) in [
        ("group_i", config.group.0.into()),
        ("groups_i", config.groups.into()),
        ("bulk_i", config.bulk.into()),
        ("concurrency_i", config.concurrency.into()),
        ("batch_i", u64::from(config.bulk / config.concurrency)),
        ("window_i", config.window.as_ps()),
        ("window_capacity_i", config.window_capacity.into()),
    ] {
        model.set_named(name, value);
    }
    ["publish_i", "arrival_i", "decide_i", "migration_ready_i", "row_write_i"]
        .iter()
        .for_each(|port| model.set_named(port, 0));
    model.reset();
    model.set_named("row_write_i", 1);
    for (number, row) in (0..ROWS).zip(rows.iter().chain(std::iter::repeat(&rows[rows.len() - 1]))) {
        model.set_named("row_i", number);
        model.set_named("load_permille_i", row.load_permille.into());
        model.set_named("row_waiting_i", row.waiting.into());
        model.cycle();
    }
    model.set_named("row_write_i", 0);
    model.set_named("publish_i", 1);
    for group in 0..config.groups {
        model.set_named("from_i", group.into());
        model.set_named("length_i", 0);
        model.cycle();
    }
    model.set_named("publish_i", 0);
}

fn input(
    model: &mut Model,
    soft: &mut Manager,
    published: &mut [u32],
    (rng, at, number): (&mut Rng, Timestamp, u64),
) -> Result<(), String> {
    model.set_named("at_i", at.as_ps());
    match rng.below(10) {
        0..4 => {
            soft.handle_arrival(at);
            hold(model, "arrival_i");
            // The threshold appears in the next cycle.
            model.cycle();
            same(number, "threshold", u64::from(soft.threshold()), model.get_named("threshold_o"))
        }
        4..8 => {
            let group = rng.which(published.len());
            published[group] = if rng.happens(70) { rng.below(20) } else { rng.below(60) };
            model.set_named("from_i", group as u64);
            model.set_named("length_i", published[group].into());
            model.set_named("publish_i", 1);
            model.cycle();
            model.set_named("publish_i", 0);
            Ok(())
        }
        _ => {
            let most = if rng.happens(50) { 15 } else { 60 };
            let waiting = rng.below(most);
            let expected: Vec<(u64, u64)> = soft
                .decide(at, waiting, |other| published[other.index()])
                .iter()
                .map(|migration| (migration.to.0.into(), migration.count.into()))
                .collect();
            model.set_named("waiting_i", waiting.into());
            hold(model, "decide_i");
            model.set_named("migration_ready_i", 1);
            let mut made = Vec::new();
            loop {
                model.cycle();
                if model.get_named("migration_valid_o") == 0 {
                    break;
                }
                made.push((model.get_named("to_o"), model.get_named("count_o")));
            }
            model.set_named("migration_ready_i", 0);
            same(number, "migrations", expected, made)
        }
    }
}

/// Holds an input until it is done.
fn hold(model: &mut Model, port: &str) {
    model.set_named(port, 1);
    model.cycle_until("done_o", 1);
    model.set_named(port, 0);
}
