//! The stations of one RPC in `nebula-nic` and `nebula-requester`: each occurs once, in order, and
//! names the next.
//!
//! `lib.rs` lists its modules in the order of the path. A station's module comment opens with
//! "Station N: …" and ends with "Next: …" and the module of station N + 1, so that a reader can
//! follow one RPC from file to file.

use super::Violation;
use super::module_comment::opening;
use super::tree::Tree;

const SOURCE: &str = "core/nebula-nic/src";

/// Has the last station: the client's handling of an answer.
const CLIENT: &str = "core/nebula-requester/src";

/// From the client's numbering (1) to the matched reply (11).
const STATIONS: usize = 11;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let lib = format!("{SOURCE}/lib.rs");
    let Some(text) = tree.text(&lib) else { return Vec::new() };
    let client = tree.text(&format!("{CLIENT}/lib.rs")).unwrap_or_default();
    let of = |source, text| modules(text).filter_map(move |module| Station::read(tree, source, module));
    let stations: Vec<Station> = of(SOURCE, text).chain(of(CLIENT, client)).collect();
    let mut violations = missing(&lib, &stations);
    violations.extend(stations.windows(2).filter(|pair| pair[0].number >= pair[1].number).map(|pair| {
        Violation::new(&lib, 0, format!("lists station {} before station {}", pair[0].number, pair[1].number))
    }));
    violations.extend(stations.iter().filter_map(|station| station.broken_chain(&stations)));
    violations
}

struct Station<'a> {
    number: usize,
    module: &'a str,
    path: String,
    /// The text behind "Next:", to the end of the module comment.
    next: Option<String>,
}

impl<'a> Station<'a> {
    fn read(tree: &Tree, source: &str, module: &'a str) -> Option<Self> {
        let path = format!("{source}/{module}.rs");
        let text = tree.text(&path)?;
        let number = opening(text)?.strip_prefix("Station ")?.split(':').next()?.parse().ok()?;
        Some(Self { number, module, path, next: next(text) })
    }

    fn broken_chain(&self, stations: &[Self]) -> Option<Violation> {
        let Some(next) = &self.next else {
            return Some(Violation::new(&self.path, 0, "its module comment does not end with `Next: …`"));
        };
        let follower = stations.iter().find(|station| station.number == self.number + 1)?;
        let is_named = next.contains(&format!("`{}`", follower.module));
        (!is_named).then(|| Violation::new(&self.path, 0, format!("`Next:` does not name `{}`", follower.module)))
    }
}

fn missing(lib: &str, stations: &[Station<'_>]) -> Vec<Violation> {
    let is_there = |number: usize| stations.iter().any(|station| station.number == number);
    let absent = (1..=STATIONS).filter(|&number| !is_there(number));
    absent.map(|number| Violation::new(lib, 0, format!("no module opens with `Station {number}:`"))).collect()
}

fn modules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    })
}

/// The last paragraph of a module comment, if it begins with "Next:".
fn next(text: &str) -> Option<String> {
    let comment = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect::<Vec<_>>().join("\n");
    let last = comment.trim().rsplit("\n\n").next()?;
    last.strip_prefix("Next:").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; STATIONS] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];

    /// A valid chain, except for `change` in the text of one module.
    fn found(changed: &str, change: impl Fn(String) -> String) -> Vec<Violation> {
        let lib = |names: &[&str]| names.iter().map(|name| format!("pub mod {name};\n")).collect::<String>();
        let (server, client) = NAMES.split_at(STATIONS - 1);
        let mut files = vec![(format!("{SOURCE}/lib.rs"), lib(server)), (format!("{CLIENT}/lib.rs"), lib(client))];
        for (index, name) in NAMES.iter().enumerate() {
            let source = if client.contains(name) { CLIENT } else { SOURCE };
            let next = NAMES.get(index + 1).unwrap_or(&"the client");
            let text = format!("//! Station {}: *what?*\n//!\n//! Next: [`{next}`].\n", index + 1);
            files.push((format!("{source}/{name}.rs"), text));
        }
        let changed = format!("{SOURCE}/{changed}.rs");
        let files: Vec<_> = files
            .into_iter()
            .map(|(path, text)| if path == changed { (path, change(text)) } else { (path, text) })
            .collect();
        check(&Tree::of(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>()))
    }

    #[test]
    fn a_whole_chain_passes() {
        assert_eq!(found("lib", |text| text), []);
    }

    #[test]
    fn a_station_that_does_not_say_what_follows_is_found() {
        assert_eq!(found("d", |text| text.replace("Next:", "Then:")).len(), 1);
        assert_eq!(found("d", |text| text.replace("`e`", "`f`")).len(), 1);
    }

    #[test]
    fn a_station_that_is_missing_is_found() {
        assert!(!found("d", |text| text.replace("Station 4", "Room 4")).is_empty());
    }

    #[test]
    fn stations_out_of_order_are_found() {
        let swapped =
            |text: String| text.replace("mod a;", "mod x;").replace("mod b;", "mod a;").replace("mod x;", "mod b;");
        assert_eq!(found("lib", swapped).len(), 1);
    }
}
