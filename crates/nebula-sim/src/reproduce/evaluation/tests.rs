//! What the entries of the evaluation promise, whatever they find; the runs are too short to find anything.

use super::super::lab::{Effort, Lab};
use super::super::row::{Judgment, Row};
use super::super::{ReproduceError, Reproduction, fig6a, fig6b, fig7, fig8, paper, table3};
use super::bench::{Bench, Depth};
use super::memo::Memo;
use nebula_workload::Seed;

type Compare = fn(&Bench<'_>) -> Result<Reproduction, ReproduceError>;

const ENTRIES: [(&str, Compare); 5] = [
    ("nebula/fig6a/", fig6a::compare),
    ("nebula/fig6b/", fig6b::compare),
    ("nebula/table3/", table3::compare),
    ("nebula/fig7/", fig7::compare),
    ("nebula/fig8/", fig8::compare),
];

const SHORT: Depth = Depth { rpcs: 1_000, warmup: Some(1_000), replications: 2, width_krps: 5_000 };

fn compared(compare: Compare, memo: &Memo) -> Reproduction {
    let lab = Lab { effort: Effort::Quick, seed: Seed(1), progress: &(), memo };
    compare(&Bench::to_depth(&lab, SHORT)).unwrap()
}

#[test]
fn every_published_value_has_its_row_in_order_and_every_row_its_numbers() {
    let memo = Memo::default();
    for (prefix, compare) in ENTRIES {
        let found = compared(compare, &memo);
        let published: Vec<&str> = found.rows.iter().filter(|row| row.published().is_some()).map(Row::id).collect();
        let figures = paper::nebula().figures.iter().map(|figure| figure.id.as_str());
        assert_eq!(published, figures.filter(|id| id.starts_with(prefix)).collect::<Vec<_>>());
        for row in &found.rows {
            assert!(row.id().starts_with(prefix), "{row:?}");
            assert_eq!(row.published().is_none(), row.judgment() == Judgment::Note, "{row:?}");
            let has_numbers = row.why().is_some_and(|why| why.contains(|c: char| c.is_ascii_digit()));
            assert!(row.judgment() == Judgment::Note || has_numbers, "{row:?}");
            assert!(row.reproduced().lo <= row.reproduced().value, "{row:?}");
            assert!(row.reproduced().value <= row.reproduced().hi, "{row:?}");
        }
        assert!(found.pictures.iter().all(|picture| picture.curves.iter().all(|curve| curve.points.len() > 1)));
        let ids: std::collections::BTreeSet<&str> = found.rows.iter().map(Row::id).collect();
        assert_eq!(ids.len(), found.rows.len(), "an id twice");
    }
}

#[test]
fn rows_are_the_same_on_any_number_of_threads_whatever_has_run_before() {
    let shared = Memo::default();
    let on = |threads: usize, memo: &Memo| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| compared(fig6b::compare, memo).rows)
    };
    let first = on(1, &Memo::default());
    compared(fig7::compare, &shared);
    assert_eq!(first, on(3, &shared));
    assert_eq!(first, on(2, &shared), "what is kept is what would run");
}
