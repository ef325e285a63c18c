//! The two worlds have the same files with the same functions in the same order.
//!
//! `nebula/src/engine/X.rs` carries a station out in real time and `nebula-sim/src/world/X.rs` in simulated time; read
//! side by side they show what "simulated" and "real" mean. That works only while they mirror each other.

use super::Violation;
use super::code::code_of;
use super::tree::Tree;

const ENGINE: &str = "crates/nebula/src/engine";
const WORLD: &str = "crates/nebula-sim/src/world";

/// The files that each world has, by the station table.
const MIRRORED: &[&str] = &["egress", "ingress", "cpu"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let worlds: Vec<&str> = [ENGINE, WORLD].into_iter().filter(|world| is_begun(tree, world)).collect();
    let lacking = worlds.iter().flat_map(|world| MIRRORED.iter().map(move |name| format!("{world}/{name}.rs")));
    let mut violations: Vec<Violation> = lacking
        .filter(|path| !tree.has(path))
        .map(|path| Violation::new(&path, 0, "is missing: each world has this file"))
        .collect();
    violations.extend(MIRRORED.iter().filter_map(|name| order(tree, name)));
    violations
}

/// A world is begun when there is a file in its folder.
fn is_begun(tree: &Tree, world: &str) -> bool {
    tree.rust().any(|(path, _)| path.strip_prefix(world).is_some_and(|rest| rest.starts_with('/')))
}

/// The first function that both worlds have in another order.
fn order(tree: &Tree, name: &str) -> Option<Violation> {
    let path = format!("{WORLD}/{name}.rs");
    let engine = functions(tree.text(&format!("{ENGINE}/{name}.rs"))?);
    let world = functions(tree.text(&path)?);
    let in_engine: Vec<_> = engine.iter().filter(|function| world.contains(function)).collect();
    let in_world: Vec<_> = world.iter().filter(|function| engine.contains(function)).collect();
    let (real, simulated) = in_engine.iter().zip(&in_world).find(|(real, simulated)| real != simulated)?;
    Some(Violation::new(&path, 0, format!("has `{simulated}` where {ENGINE}/{name}.rs has `{real}`")))
}

fn functions(text: &str) -> Vec<String> {
    let code = code_of(text);
    let names = code.lines().filter_map(|line| {
        let (head, rest) = line.split_once("fn ")?;
        let is_declaration = head.split_whitespace().all(|word| word.starts_with("pub") || word == "const");
        is_declaration.then(|| rest.split(['(', '<']).next().unwrap_or(rest).to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(String, &str)]) -> usize {
        check(&Tree::of(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>())).len()
    }

    fn world(folder: &str, cpu: &'static str) -> Vec<(String, &'static str)> {
        vec![
            (format!("{folder}/cpu.rs"), cpu),
            (format!("{folder}/egress.rs"), ""),
            (format!("{folder}/ingress.rs"), ""),
        ]
    }

    #[test]
    fn a_world_that_is_not_begun_lacks_nothing() {
        assert_eq!(found(&[]), 0);
        assert_eq!(found(&world(ENGINE, "")), 0);
    }

    #[test]
    fn a_file_that_one_world_lacks_is_found() {
        assert_eq!(found(&world(ENGINE, "")[1..]), 1);
        assert_eq!(found(&[world(ENGINE, ""), world(WORLD, "")[..1].to_vec()].concat()), 2);
    }

    #[test]
    fn functions_in_another_order_are_found() {
        let real = world(ENGINE, "pub(super) fn begin() {}\nfn only_real() {}\nfn release<T>() {}");
        let same = world(WORLD, "fn begin() {}\nfn release() {}\nfn only_simulated() {}");
        let other = world(WORLD, "fn release() {}\n// fn begin\nfn begin() {}");
        assert_eq!(found(&[real.clone(), same].concat()), 0);
        assert_eq!(found(&[real, other].concat()), 1);
    }
}
