//! The two worlds can be read side by side: each station has a file of the same name in both, with the functions that both must have.
//!
//! `nebula` carries a station out in real time and `nebula-sim` in simulated time; side by side they show what "simulated" and "real"
//! mean. A station is a file, or a file and the folder of its name.

use super::Violation;
use super::code::code_of;
use super::tree::Tree;

/// A station in both worlds.
struct Station {
    /// What stands for it in the runtime and in the simulator, without `.rs`.
    real: &'static str,
    simulated: &'static str,
    /// What both must have, in this order.
    functions: &'static [&'static str],
}

const STATIONS: &[Station] = &[
    Station { real: "runtime/nebula/src/client", simulated: "lab/nebula-sim/src/world/client", functions: &["send"] },
    Station {
        real: "runtime/nebula/src/nic/ingress",
        simulated: "lab/nebula-sim/src/world/ingress",
        functions: &["receive"],
    },
    Station {
        real: "runtime/nebula/src/engine/dispatch",
        simulated: "lab/nebula-sim/src/world/dispatch",
        functions: &["hand_out", "deliver"],
    },
    Station {
        real: "runtime/nebula/src/engine/cpu",
        simulated: "lab/nebula-sim/src/world/cpu",
        functions: &["turn", "collect_freed"],
    },
    Station {
        real: "runtime/nebula/src/rpc/reply",
        simulated: "lab/nebula-sim/src/world/reply",
        functions: &["publish"],
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    STATIONS.iter().flat_map(|station| station.check(tree)).collect()
}

impl Station {
    fn check(&self, tree: &Tree) -> Vec<Violation> {
        [self.real, self.simulated].into_iter().filter_map(|world| self.lacks(tree, world)).collect()
    }

    /// What one world lacks of the station.
    fn lacks(&self, tree: &Tree, world: &str) -> Option<Violation> {
        let file = format!("{world}.rs");
        if !tree.has(&file) {
            return Some(Violation::new(&file, 0, "is missing: each world has a file for this station"));
        }
        let functions = functions(tree, world);
        let mut rest = functions.iter();
        let absent = self.functions.iter().find(|wanted| !rest.any(|function| function == *wanted))?;
        let what = match functions.iter().any(|function| function == absent) {
            true => format!("has `{absent}` before another function that the other world has before it"),
            false => format!("has no function `{absent}`, which the other world has"),
        };
        Some(Violation::new(&file, 0, what))
    }
}

/// The functions of a station's file, then those of its folder's.
fn functions(tree: &Tree, world: &str) -> Vec<String> {
    let file = format!("{world}.rs");
    let folder = format!("{world}/");
    let texts = tree.text(&file).into_iter();
    let beside = tree.rust().filter(|(path, _)| path.starts_with(&folder)).map(|(_, text)| text);
    texts.chain(beside).flat_map(declared).collect()
}

fn declared(text: &str) -> Vec<String> {
    let code = code_of(text);
    let names = code.lines().filter_map(|line| {
        let (head, rest) = line.split_once("fn ")?;
        // A visibility such as `pub(in crate::world)` is two words.
        let is_qualifier = |word: &str| word.starts_with("pub") || word.ends_with(')') || word == "const";
        let is_declaration = head.split_whitespace().all(is_qualifier);
        is_declaration.then(|| rest.split(['(', '<']).next().unwrap_or(rest).to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both worlds with all that they must have.
    fn whole() -> Vec<(String, String)> {
        let declared = |station: &Station| station.functions.iter().map(|name| format!("fn {name}();\n")).collect();
        let files = |station: &Station| {
            [station.real, station.simulated].map(|world| (format!("{world}.rs"), declared(station)))
        };
        STATIONS.iter().flat_map(files).collect()
    }

    fn found(files: &[(String, String)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        check(&Tree::of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn worlds_with_all_stations_mirror_each_other() {
        assert_eq!(found(&whole()), [] as [&str; 0]);
    }

    #[test]
    fn any_file_that_is_missing_is_found() {
        for at in 0..whole().len() {
            let mut files = whole();
            let (path, _) = files.remove(at);
            let said = found(&files);
            assert!(said.len() == 1 && said[0].starts_with(&path), "without {path}: {said:?}");
        }
    }

    #[test]
    fn any_function_that_is_missing_is_found() {
        for at in 0..whole().len() {
            let mut files = whole();
            files[at].1 = files[at].1.replace("fn ", "fn another_");
            let said = found(&files);
            assert!(said.len() == 1 && said[0].contains("has no function"), "{}: {said:?}", files[at].0);
        }
    }

    #[test]
    fn functions_in_another_order_are_found() {
        let mut files = whole();
        let at = files.iter().position(|(path, _)| path.ends_with("world/dispatch.rs")).expect("a station");
        files[at].1 = "fn deliver() {}\n// fn deliver\npub(super) fn hand_out<T>() {}\n".to_owned();
        assert!(found(&files)[0].contains("`deliver` before"), "{:?}", found(&files));
    }

    #[test]
    fn a_station_may_have_its_functions_in_its_folder() {
        let mut files = whole();
        let at = files.iter().position(|(path, _)| path.ends_with("world/cpu.rs")).expect("a station");
        let text = std::mem::replace(&mut files[at].1, "fn turn();\n".to_owned());
        files.push(("lab/nebula-sim/src/world/cpu/cores.rs".to_owned(), text.replace("fn turn();\n", "")));
        assert_eq!(found(&files), [] as [&str; 0]);
    }
}
