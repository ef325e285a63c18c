//! What the entries of the evaluation promise, whatever they find; the runs are too short to find
//! anything.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

use nebula_sim::reproduce::{ENTRIES, Effort, Entry, Judgment, Lab, Memo, Reproduction, Row, paper};
use nebula_workload::Seed;

const IDS: [&str; 8] = [
    "nebula/fig6a",
    "nebula/fig6b",
    "nebula/table3",
    "nebula/fig7",
    "nebula/fig8",
    "nebula/link",
    "nebula/reassembler",
    "nebula/variants",
];

fn compared(id: &str, memo: &Memo) -> Reproduction {
    let entry: &Entry = ENTRIES.iter().find(|entry| entry.id == id).unwrap();
    let lab = Lab { effort: Effort::Quick, seed: Seed(1), progress: &(), memo };
    entry.reproduce_briefly(&lab).expect("an entry of the evaluation").unwrap()
}

#[test]
fn every_published_value_has_its_row_in_order_and_every_row_its_numbers() {
    let memo = Memo::default();
    for id in IDS {
        let (prefix, found) = (format!("{id}/"), compared(id, &memo));
        let published: Vec<&str> = found.rows.iter().filter(|row| row.published().is_some()).map(Row::id).collect();
        let figures = paper::nebula().figures.iter().map(|figure| figure.id.as_str());
        assert_eq!(published, figures.filter(|id| id.starts_with(&prefix)).collect::<Vec<_>>());
        for row in &found.rows {
            assert!(row.id().starts_with(&prefix), "{row:?}");
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
        pool.install(|| compared("nebula/fig6b", memo).rows)
    };
    let first = on(1, &Memo::default());
    compared("nebula/fig7", &shared);
    assert_eq!(first, on(3, &shared));
    assert_eq!(first, on(2, &shared), "what is kept is what would run");
}
