//! A measured figure for the benchmark table: a JSON line.

use serde::Serialize;

#[derive(Serialize)]
struct Row<'a> {
    what: &'a str,
    value: f64,
    unit: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Against<'a>>,
}

#[derive(Serialize)]
pub struct Against<'a> {
    what: &'a str,
    ratio: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<Bound>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

pub fn plain(what: &str, value: f64, unit: &str) {
    print(&Row { what, value, unit, against: None });
}

pub fn against(what: &str, value: f64, unit: &str, baseline: (&str, f64), bound: Option<Bound>) {
    let against = Some(Against { what: baseline.0, ratio: value / baseline.1, bound });
    print(&Row { what, value, unit, against });
}

fn print(row: &Row) {
    println!("{}", serde_json::to_string(row).expect("a row is plain data"));
}
