//! Trained thresholds: the shipped tables are what training gives, and thresholds predict as they
//! are meant to.

use nebula_nic::{Policy, Span};
use nebula_sim::altocumulus::{LateByQueue, ThresholdTable, Training, fit};
use nebula_sim::{Effort, Load, System, estimate};
use nebula_workload::thresholds::ThresholdFile;

fn training(service: &str, slo_us: u64) -> Training {
    let service = service.parse().expect("a service");
    Training::new(15, service, Span::from_us(slo_us)).rpcs(60_000).replications(2)
}

#[test]
fn a_row_of_each_shipped_table_is_made_again() {
    for (name, load_permille) in [("exponential-15", 900), ("fixed-15", 950), ("bimodal-15", 850)] {
        let table = ThresholdTable::named(name).unwrap();
        let training = table.training.clone().loads_permille(vec![load_permille]);
        let again = ThresholdTable::train(training, &|| ()).unwrap();
        assert!(table.rows.contains(&again.rows[0]), "{name}: {:?}", again.rows);
    }
}

#[test]
fn every_shipped_table_reads_back() {
    for name in ThresholdFile::names() {
        let table = ThresholdTable::named(name).unwrap();
        assert_eq!(ThresholdTable::parse(&table.to_toml()).unwrap(), table);
        let thresholds = table.thresholds().unwrap();
        assert!(thresholds.rows().iter().all(|row| row.waiting <= table.training.naive()), "{name}");
        assert_eq!(table.training.naive(), 151);
    }
    assert_eq!(ThresholdTable::named("none"), None);
    assert!(ThresholdTable::parse("workers = 3").unwrap_err().to_string().contains("bound"));
}

#[test]
fn the_aggressive_threshold_misses_nobody_and_the_naive_one_is_hardly_ever_wrong() {
    let training = training("exp:1us", 5).loads_permille(vec![970]);
    let late = training.watch(970, &|| ()).unwrap();
    let row = training.train(&|| ()).unwrap()[0];
    let (aggressive, naive) = (late.judge(row.aggressive), late.judge(training.naive()));
    assert!(aggressive.effectiveness == 1.0 && aggressive.accuracy < 0.5, "{aggressive:?}");
    assert!(naive.accuracy > 0.95 && naive.effectiveness < row.trained_judged.effectiveness, "{naive:?}");
    assert!(row.trained_judged.both() >= aggressive.both().max(naive.both()), "{row:?}");
    assert!(row.aggressive < row.trained && row.trained < training.naive());
}

#[test]
fn service_that_is_always_the_same_is_predicted_exactly() {
    // An RPC is late exactly if it finds so many waiting that all workers are busy with them for
    // the SLO.
    let row = training("fixed:1us", 3).loads_permille(vec![950]).train(&|| ()).unwrap()[0];
    assert_eq!((row.aggressive, row.trained), (15, 15), "15 at work, 15 behind them at their cores, 15 waiting");
    assert_eq!((row.trained_judged.accuracy, row.trained_judged.effectiveness), (1.0, 1.0));
}

#[test]
fn where_hardly_anybody_is_late_there_is_nothing_to_learn() {
    let row = training("fixed:1us", 10).loads_permille(vec![500]).train(&|| ()).unwrap()[0];
    assert_eq!((row.late, row.trained, row.aggressive), (0, 151, 151));
    assert_eq!(fit(&[row]), None);
}

#[test]
fn what_is_watched_is_what_a_run_measures() {
    let training = Training { bound: 1, ..training("exp:1us", 4) };
    let late = training.watch(800, &|| ()).unwrap();
    let effort = Effort::default().rpcs(60_000).replications(8);
    let system = System::new(Policy::SingleQueue, 15);
    let found = estimate(&system, &Load::open(training.service.clone(), 0.8), &effort, &|| ()).unwrap();
    let (watched, measured) = (late.late() as f64 / late.rpcs() as f64, found.tally.latency.share_above(4_000_000));
    assert_eq!(late.rpcs(), 120_000);
    assert!((watched / measured - 1.0).abs() < 0.1, "{watched} against {measured}");
}

#[test]
fn trained_thresholds_rise_with_the_mean_queue() {
    let rows = training("exp:1us", 5).loads_permille(vec![900, 925, 950, 970]).train(&|| ()).unwrap();
    let (slope, _) = fit(&rows).unwrap();
    assert!(slope > 0.0, "{rows:?}");
}

#[test]
fn a_line_through_points_on_a_line_is_that_line() {
    let template = training("fixed:1us", 3).loads_permille(vec![950]).train(&|| ()).unwrap()[0];
    let on_line = [(1.0, 12), (4.0, 21), (9.0, 36)];
    let rows =
        on_line.map(|(queue_mean, trained)| nebula_sim::altocumulus::TrainedRow { queue_mean, trained, ..template });
    let (slope, at_zero) = fit(&rows).unwrap();
    assert!((slope - 3.0).abs() < 1e-9 && (at_zero - 9.0).abs() < 1e-9, "{slope} {at_zero}");
}

#[test]
fn judging_is_counting() {
    let late = LateByQueue::new(vec![[10, 0], [5, 1]]).with(&LateByQueue::new(vec![[1, 0], [1, 1], [2, 2]]));
    assert_eq!((late.rpcs(), late.late(), late.aggressive()), (19, 4, Some(1)));
    let judged = late.judge(2);
    assert_eq!((judged.accuracy, judged.effectiveness), (1.0, 0.5));
    let beyond = late.judge(3);
    assert_eq!((beyond.accuracy, beyond.effectiveness, beyond.both()), (1.0, 0.0, 0.0));
}

#[test]
fn a_monotone_table_never_falls_and_predicts_nearly_as_well_as_each_load_alone() {
    for (service, arrivals, workers) in [
        ("exp:1us", "poisson", 7),
        ("bimodal:500ns@0.9,5500ns@0.1", "poisson", 16),
        ("exp:1us", "mmpp2:5x,0.1,20us", 16),
    ] {
        let slo = Span::from_us(10);
        let training = Training::new(workers, service.parse().unwrap(), slo).arrivals(arrivals.parse().unwrap());
        let training = training.rpcs(60_000).replications(2).loads_permille(vec![500, 600, 700, 800, 900, 950]);
        let rows = training.train_monotone(&|| ()).unwrap();
        assert!(rows.windows(2).all(|pair| pair[0].waiting <= pair[1].waiting), "{service}: {rows:?}");
        let alone = training.train(&|| ()).unwrap();
        assert!(rows.iter().zip(&alone).all(|(row, alone)| row.alone == *alone));
        let last = rows.last().unwrap();
        assert!(last.judged.both() > 0.9 * last.alone.trained_judged.both(), "{service}: {last:?}");
        let table = ThresholdTable { rows: rows.iter().map(Into::into).collect(), training };
        assert_eq!(ThresholdTable::parse(&table.to_toml()).unwrap(), table);
        assert!(table.thresholds().unwrap().at(940) <= table.training.naive());
    }
}

#[test]
fn bursts_make_more_rpcs_late_at_the_same_load() {
    let late = |arrivals: &str| {
        let training = training("exp:1us", 10).arrivals(arrivals.parse().unwrap());
        training.watch(700, &|| ()).unwrap().late()
    };
    assert!(late("mmpp2:5x,0.1,20us") > 10 * late("poisson").max(1));
}
