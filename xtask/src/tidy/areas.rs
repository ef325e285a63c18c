//! A crate depends on crates of its area and of those that this area may import; the same holds for
//! its tests.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::Violation;
use super::tree::Tree;
use crate::area;

const IMPORTS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("runtime", &["core"]),
    ("lab", &["core"]),
    ("services", &["core", "runtime", "lab"]),
    ("testing", &["core", "runtime"]),
];

/// Any crate's tests may import it.
const OF_TESTS: &str = "testing";

/// A dependency that may break the rule. This list may only shrink.
struct Exception {
    manifest: &'static str,
    dependency: &'static str,
    reason: &'static str,
}

const fn exception(manifest: &'static str, dependency: &'static str, reason: &'static str) -> Exception {
    Exception { manifest, dependency, reason }
}

const EXCEPTIONS: &[Exception] = &[
    exception("core/nebula-kvs/Cargo.toml", "nebula-sys", "memory that processes share; the feature `store` alone"),
    exception(
        "core/nebula-ui/Cargo.toml",
        "nebula-sys",
        "whether standard output was closed; the feature `program` alone",
    ),
    exception("lab/python/Cargo.toml", "nebula-sys", "calls policies of other languages, which is unsafe"),
    exception(
        "runtime/nebula-cli/Cargo.toml",
        "nebula-replication",
        "`serve kv --replicate`; the feature of that name alone",
    ),
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    against(tree, EXCEPTIONS)
}

fn against(tree: &Tree, exceptions: &[Exception]) -> Vec<Violation> {
    let areas = areas(tree);
    let wrong: Vec<Wrong> = manifests(tree).flat_map(|(path, table)| wrong(path, &table, &areas)).collect();
    let is_excepted = |wrong: &&Wrong| exceptions.iter().any(|exception| exception.is_of(wrong));
    let found = wrong.iter().filter(|wrong| !is_excepted(wrong)).map(Wrong::violation);
    let unused = exceptions.iter().filter(|exception| !wrong.iter().any(|wrong| exception.is_of(wrong)));
    let unused = unused.map(|Exception { manifest, dependency, reason }| {
        let what = format!("the exception for `{dependency}` ({reason}) is not needed: take it off the list");
        Violation::new(manifest, 0, what)
    });
    found.chain(unused).collect()
}

struct Wrong {
    manifest: String,
    dependency: String,
    from: String,
    to: String,
}

impl Wrong {
    fn violation(&self) -> Violation {
        let Self { manifest, dependency, from, to } = self;
        Violation::new(manifest, 0, format!("depends on `{dependency}`: {from}/ may not import {to}/"))
    }
}

impl Exception {
    fn is_of(&self, wrong: &Wrong) -> bool {
        (self.manifest, self.dependency) == (&wrong.manifest, &wrong.dependency)
    }
}

fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, Table)> {
    let manifests = tree.files().filter(|(path, _)| area::crate_of(path).is_some());
    manifests.filter_map(|(path, text)| Some((path, text.parse().ok()?)))
}

/// By package.
fn areas(tree: &Tree) -> BTreeMap<String, String> {
    let named = manifests(tree).filter_map(|(path, table)| {
        let name = table.get("package")?.get("name")?.as_str()?;
        Some((name.to_owned(), path.split('/').next()?.to_owned()))
    });
    named.collect()
}

fn wrong(path: &str, manifest: &Table, areas: &BTreeMap<String, String>) -> Vec<Wrong> {
    let from = path.split('/').next().unwrap_or_default();
    let imports = IMPORTS.iter().find(|(area, _)| *area == from).map_or(&[][..], |(_, imports)| imports);
    let may = |is_test: bool, to: &str| to == from || imports.contains(&to) || is_test && to == OF_TESTS;
    let of_area = |(is_test, name): (bool, String)| Some((is_test, areas.get(&name)?.clone(), name));
    let found = dependencies(manifest).into_iter().filter_map(of_area).filter(|(is_test, to, _)| !may(*is_test, to));
    let wrong = |(_, to, dependency)| Wrong { manifest: path.to_owned(), dependency, from: from.to_owned(), to };
    found.map(wrong).collect()
}

/// The packages that a manifest depends on, for any target, and whether only its tests do.
fn dependencies(manifest: &Table) -> Vec<(bool, String)> {
    let of_targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = std::iter::once(manifest).chain(of_targets.filter_map(Value::as_table));
    let kinds = [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)];
    let mut found = Vec::new();
    for (table, (kind, is_test)) in tables.flat_map(|table| kinds.map(|kind| (table, kind))) {
        for (name, what) in table.get(kind).and_then(Value::as_table).into_iter().flatten() {
            let renamed = what.get("package").and_then(Value::as_str);
            found.push((is_test, renamed.unwrap_or(name).to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(manifests: &[(&str, &str)], exceptions: &[Exception]) -> Vec<String> {
        let files: Vec<(String, String)> = manifests
            .iter()
            .map(|(path, dependencies)| {
                let name = path.rsplit('/').next().unwrap_or_default();
                (format!("{path}/Cargo.toml"), format!("[package]\nname = \"{name}\"\n{dependencies}"))
            })
            .collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        against(&Tree::of(&files), exceptions).iter().map(ToString::to_string).collect()
    }

    const CRATES: [(&str, &str); 4] = [("core/c", ""), ("runtime/r", ""), ("lab/l", ""), ("testing/t", "")];

    fn of(path: &str, dependencies: &str) -> Vec<String> {
        found(&[&CRATES[..], &[(path, dependencies)]].concat(), &[])
    }

    #[test]
    fn what_an_area_may_import_passes() {
        assert_eq!(of("services/s", "[dependencies]\nc.workspace = true\nr = { path = \"x\" }\n"), [] as [&str; 0]);
        assert_eq!(
            of("core/d", "[dependencies]\nc = \"1\"\nserde = \"1\"\n[dev-dependencies]\nt = \"1\"\n"),
            [] as [&str; 0]
        );
    }

    #[test]
    fn runtime_and_laboratory_never_import_each_other() {
        assert_eq!(
            of("runtime/s", "[dependencies]\nl = \"1\"\n"),
            ["runtime/s/Cargo.toml: depends on `l`: runtime/ may not import lab/"]
        );
        assert_eq!(of("lab/s", "[dependencies]\nr = \"1\"\n").len(), 1);
        assert_eq!(of("lab/s", "[dev-dependencies]\nr = \"1\"\n").len(), 1, "nor do their tests");
        assert_eq!(of("lab/s", "[target.'cfg(unix)'.build-dependencies]\nx = { package = \"r\" }\n").len(), 1);
    }

    #[test]
    fn core_imports_none_and_tests_alone_what_is_for_tests() {
        assert_eq!(of("core/d", "[dependencies]\nr = \"1\"\n").len(), 1);
        assert_eq!(of("core/d", "[dependencies]\nt = \"1\"\n").len(), 1);
    }

    #[test]
    fn an_exception_lets_one_dependency_pass_and_must_be_needed() {
        let exception = || Exception { manifest: "lab/s/Cargo.toml", dependency: "r", reason: "moves" };
        let with = |dependencies: &str| found(&[&CRATES[..], &[("lab/s", dependencies)]].concat(), &[exception()]);
        assert_eq!(with("[dependencies]\nr = \"1\"\n"), [] as [&str; 0]);
        assert!(with("")[0].contains("take it off the list"));
    }
}
