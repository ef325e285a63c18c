//! Fields are declared once: rows have them, columns show them, and docs/data/fields.tsv lists
//! them.

use super::samples::{findings, found};
use nebula_sim::study::fields::{Field, Fields, blocks, comparison, queueing};
use nebula_sim::study::{Ask, Row};

/// Names as CSV has them, as far as the declaration tells.
fn prefixes<T>(fields: &Fields<T>) -> Vec<String> {
    let of = |field: &Field<T>| match field.parts {
        [] => match field.name.strip_suffix("_ci") {
            Some(name) => vec![format!("{name}_lo"), format!("{name}_hi")],
            None => vec![field.name.to_owned()],
        },
        parts => match field.name.strip_suffix("_ci") {
            Some(name) => {
                parts.iter().flat_map(|part| ["lo", "hi"].map(|end| format!("{name}_{part}_{end}"))).collect()
            }
            None => parts.iter().map(|part| format!("{}_{part}", field.name)).collect(),
        },
    };
    fields.fields.iter().flat_map(of).collect()
}

/// Every value of a row is declared, part by part and in order, and every column shows a field that
/// there is.
fn check<T>(fields: &Fields<T>, row: &Row) {
    let declared = prefixes(fields);
    let mut at = 0;
    for (name, _) in row.flat() {
        let place = declared[at..].iter().position(|one| name == *one || name.starts_with(&format!("{one}_")));
        at += place.unwrap_or_else(|| panic!("{name} is not declared behind {:?}", declared.get(at)));
    }
    for column in &fields.columns {
        let is_shown = declared.iter().any(|one| *one == column.of.replace('.', "_") || one.starts_with(column.of));
        assert!(is_shown, "{} shows {}, which is no field", column.heading, column.of);
    }
    let names: Vec<&str> = fields.fields.iter().map(|field| field.name).collect();
    assert!((0..names.len()).all(|index| !names[..index].contains(&names[index])), "a name twice: {names:?}");
    assert!(fields.fields.iter().all(|field| !field.what.is_empty()));
}

#[test]
fn every_value_is_declared_and_every_column_shows_one() {
    for ask in [Ask::Measure, Ask::FindLoad] {
        for one in found(ask) {
            check(&queueing(), &queueing().row(&one));
            check(&comparison(), &comparison().row(&one));
        }
    }
    for searches in [false, true] {
        findings(searches).found.iter().for_each(|one| check(&blocks(), &blocks().row(one)));
    }
}

#[test]
fn what_keeps_the_slo_at_no_load_has_the_same_fields_without_figures() {
    let mut none = found(Ask::FindLoad).remove(0);
    let names = |row: &Row| row.flat().len();
    let full = names(&queueing().row(&none));
    (none.at_slo, none.figures) = (None, None);
    let row = queueing().row(&none);
    // The ends of an interval are two values of CSV, with figures or without.
    assert_eq!((names(&row), row.texts()[1].as_str(), row.texts()[2].as_str()), (full, "none", "–"));
}

#[test]
fn replications_and_the_distribution_have_rows_too() {
    let found = found(Ask::Measure).remove(0);
    let last =
        |rows: Vec<Row>| rows.last().unwrap().flat().into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(",");
    assert_eq!(last(found.replication_rows()), "jbsq:2,0.5,3,1100,4600,4600,3,70");
    assert_eq!(found.histogram_rows()[0].flat()[5], ("ccdf".to_owned(), "0.02".to_owned()));
    assert_eq!(last(found.histogram_rows()), "jbsq:2,0.5,4600,4601,2,0");
}

#[test]
fn a_search_has_columns_of_its_own() {
    let headings = |ask| queueing().row(&found(ask)[0]).headings();
    assert_eq!(headings(Ask::Measure)[1], "load");
    assert_eq!(headings(Ask::FindLoad)[1], "load at SLO");
    assert_eq!(headings(Ask::Measure).len(), headings(Ask::FindLoad).len());
}

/// `NEBULA_BLESS=1 cargo test -p nebula-sim --test study` writes what is declared into
/// docs/data/fields.tsv.
#[test]
fn docs_list_the_fields_that_there_are() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/fields.tsv");
    let declared = listed(&[
        ("simulate", queueing().described().collect()),
        ("compare", comparison().described().collect()),
        ("simulate --machine", blocks().described().collect()),
    ]);
    if std::env::var_os("NEBULA_BLESS").is_some() {
        std::fs::write(path, declared).expect("docs/data/fields.tsv can be written");
    } else {
        let text = std::fs::read_to_string(path).expect("docs/data/fields.tsv");
        let advice = "NEBULA_BLESS=1 cargo test -p nebula-sim --test study";
        assert!(text == declared, "docs/data/fields.tsv is not current: {advice}");
    }
}

/// A line for each field of each command, its cells between tabs.
fn listed(commands: &[(&str, Vec<[String; 4]>)]) -> String {
    let mut text = String::from("command\tfield\tunit\tmeaning\tcolumns of the table\n");
    for (command, fields) in commands {
        for field in fields {
            assert!(field.iter().all(|cell| !cell.contains(['\t', '\n'])), "{field:?}");
            text.push_str(&format!("{command}\t{}\n", field.join("\t")));
        }
    }
    text
}
