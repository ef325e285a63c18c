//! README's figures are those of docs/data/benchmarks.tsv.
//!
//! `cargo xtask tidy --bless` writes the table between two lines of README from the benchmarks'
//! rows, so that a figure is written down once. This rule finds a table that differs, and a row
//! that the benchmarks no longer have.

use super::Violation;
use super::tree::Tree;
use crate::shell::{Failure, Shell, files};

const README: &str = "README.md";
const BENCHMARKS: &str = "docs/data/benchmarks.tsv";
const BEGIN: &str = "<!-- figures: written by `cargo xtask tidy --bless` from docs/data/benchmarks.tsv -->";
const END: &str = "<!-- end of figures -->";

const PEERS: [(&str, &str); 4] = [
    ("Nebula", "Nebula"),
    ("TCP, no delay, polled", "TCP"),
    ("iceoryx2 request-response, polled", "iceoryx2"),
    ("tonic unary over a Unix socket", "gRPC (tonic)"),
];
/// The rows with a figure for each peer: their names in the benchmarks and in README.
const COMPARED: [(&str, &str); 2] = [
    ("64 B echo, round trip p50", "64 B echo, round trip p50"),
    ("64 B echo, 64 outstanding", "64 B echo, 64 outstanding"),
];
const EXAMPLE: &str = "README's example on 2 cores, round trip p50";
const MEMORY: [&str; 2] =
    ["server over UDP, resident memory with 10,000 clients", "server over UDP, resident memory with 16 clients"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    match (tree.text(README).and_then(parts), expected(tree)) {
        (Some((_, written, _)), Ok(table)) if written.trim() == table => Vec::new(),
        (Some(_), Ok(_)) => vec![Violation::new(
            README,
            0,
            format!("its figures are not those of {BENCHMARKS}: run `cargo xtask tidy --bless`"),
        )],
        (None, _) => vec![Violation::new(README, 0, format!("has no lines `{BEGIN}` and `{END}`"))],
        (_, Err(missing)) => vec![Violation::new(BENCHMARKS, 0, format!("has no row `{missing}`, which README shows"))],
    }
}

pub(super) fn bless(shell: &Shell, tree: &Tree) -> Result<(), Failure> {
    let readme = tree.text(README).and_then(parts);
    let (before, _, after) =
        readme.ok_or_else(|| Failure::new(format!("{README} has no lines `{BEGIN}` and `{END}`")))?;
    let table = expected(tree).map_err(|missing| Failure::new(format!("{BENCHMARKS} has no row `{missing}`")))?;
    let text = format!("{before}{BEGIN}\n\n{table}\n\n{END}{after}");
    files::write(shell.root().join(README), text)
}

fn parts(readme: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (written, after) = rest.split_once(END)?;
    Some((before, written, after))
}

/// The table from the benchmarks' rows, or the row that they lack.
fn expected(tree: &Tree) -> Result<String, String> {
    let rows = rows(tree.text(BENCHMARKS).unwrap_or_default());
    let find = |what: &str| rows.iter().find(|row| row.what == what).ok_or_else(|| what.to_owned());
    let headings = PEERS.map(|(_, heading)| heading).join(" | ");
    let mut lines = vec![format!("| | {headings} |"), format!("|---|{}", "---|".repeat(PEERS.len()))];
    for (what, shown) in COMPARED {
        let cells = PEERS.map(|(peer, _)| find(&format!("{what}: {peer}")).map(Row::figure));
        let cells: Result<Vec<_>, _> = cells.into_iter().collect();
        lines.push(format!("| {shown} | {} |", cells?.join(" | ")));
    }
    lines.push(format!("| the example above, round trip p50 | {} | – | – | – |", find(EXAMPLE)?.figure()));
    let [many, few] = MEMORY.map(|what| find(what).map(Row::megabytes));
    lines.push(format!("| memory of a UDP server with 10,000 clients (with 16) | {} ({}) | – | – | – |", many?, few?));
    Ok(lines.join("\n"))
}

struct Row<'a> {
    what: &'a str,
    value: &'a str,
    unit: &'a str,
}

impl Row<'_> {
    fn figure(&self) -> String {
        format!("{} {}", self.value, self.unit)
    }

    fn megabytes(&self) -> String {
        self.value.parse::<f64>().map_or_else(|_| self.figure(), |bytes| format!("{:.1} MB", bytes / 1e6))
    }
}

fn rows(benchmarks: &str) -> Vec<Row<'_>> {
    let row = |line| {
        let mut cells = str::split(line, '\t').skip(1);
        Some(Row { what: cells.next()?, value: cells.next()?, unit: cells.next()? })
    };
    benchmarks.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn benchmarks() -> String {
        let compared =
            COMPARED.iter().flat_map(|(what, _)| PEERS.map(|(peer, _)| format!("peers\t{what}: {peer}\t7\tns")));
        let memory = MEMORY.map(|what| format!("udp\t{what}\t2000000\tB"));
        let example = format!("defaults\t{EXAMPLE}\t190\tns");
        compared.chain(memory).chain([example]).collect::<Vec<_>>().join("\n")
    }

    fn found(table: &str, benchmarks: &str) -> Vec<Violation> {
        check(&Tree::of(&[(README, &format!("{BEGIN}\n{table}\n{END}\n")), (BENCHMARKS, benchmarks)]))
    }

    fn table() -> String {
        expected(&Tree::of(&[(BENCHMARKS, &benchmarks())])).expect("all rows are there")
    }

    #[test]
    fn the_table_that_the_benchmarks_give_passes() {
        assert!(table().contains("| 64 B echo, round trip p50 | 7 ns | 7 ns | 7 ns | 7 ns |"), "{}", table());
        assert!(table().contains("2.0 MB (2.0 MB)"), "{}", table());
        assert_eq!(found(&table(), &benchmarks()), []);
    }

    #[test]
    fn a_figure_that_was_changed_by_hand_is_found() {
        assert_eq!(found(&table().replace("7 ns", "5 ns"), &benchmarks()).len(), 1);
    }

    #[test]
    fn a_row_that_the_benchmarks_lack_is_found() {
        let violations = found(&table(), &benchmarks().replace(MEMORY[1], "another"));
        assert!(violations[0].what.contains(MEMORY[1]), "{violations:?}");
    }

    #[test]
    fn a_readme_without_the_two_lines_is_found() {
        assert_eq!(check(&Tree::of(&[(README, "# A\n"), (BENCHMARKS, &benchmarks())])).len(), 1);
    }
}
