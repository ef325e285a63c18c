//! The two worlds take the same decisions: each calls the deciding method of `nebula-nic` at the
//! station of the same name.
//!
//! `nebula` carries a station out in real time and `nebula-sim` in simulated time. A station is a
//! file, or a file and the folder of its name, without tests.

use super::Violation;
use super::code::tokens;
use super::tree::Tree;

struct Decision {
    /// Has it as a public method.
    file: &'static str,
    method: &'static str,
    /// In the runtime and in the simulator, without `.rs`.
    worlds: [&'static str; 2],
}

const fn decision(file: &'static str, method: &'static str, worlds: [&'static str; 2]) -> Decision {
    Decision { file, method, worlds }
}

const BACKEND: &str = "core/nebula-nic/src/backend.rs";
const FRONTEND: &str = "core/nebula-nic/src/frontend.rs";
const REQUESTER: &str = "core/nebula-requester/src/requester.rs";
const CLIENTS: [&str; 2] = ["runtime/nebula/src/client", "lab/nebula-sim/src/world/client"];
const CORES: [&str; 2] = ["runtime/nebula/src/ways", "lab/nebula-sim/src/world/cpu"];

const DECISIONS: &[Decision] = &[
    decision(REQUESTER, "begin_call", CLIENTS),
    decision(REQUESTER, "poll_retry", CLIENTS),
    decision(BACKEND, "handle_packet", ["runtime/nebula/src/nic/ingress", "lab/nebula-sim/src/world/cpu"]),
    decision(BACKEND, "poll_dispatch", ["runtime/nebula/src/engine/dispatch", "lab/nebula-sim/src/world/dispatch"]),
    decision(FRONTEND, "poll_completion", CORES),
    decision(FRONTEND, "handle_release", CORES),
    decision(REQUESTER, "handle_packet", ["runtime/nebula/src/client", "lab/nebula-sim/src/world/reply"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    DECISIONS.iter().flat_map(|decision| decision.check(tree)).collect()
}

impl Decision {
    fn check(&self, tree: &Tree) -> Vec<Violation> {
        let Self { file, method, worlds } = self;
        let is_decided = has(tree.text(file).unwrap_or_default(), &["fn", method]);
        let lacking = (!is_decided).then(|| Violation::new(file, 0, format!("has no method `{method}`")));
        let silent = worlds.iter().filter(|station| !texts(tree, station).any(|text| has(text, &[".", method])));
        let silent = silent.map(|station| {
            Violation::new(
                &format!("{station}.rs"),
                0,
                format!("does not call `{method}`, which the other world calls"),
            )
        });
        lacking.into_iter().chain(silent).collect()
    }
}

fn texts<'a>(tree: &'a Tree, station: &str) -> impl Iterator<Item = &'a str> {
    let (file, folder) = (format!("{station}.rs"), format!("{station}/"));
    tree.rust().filter(move |(path, _)| *path == file || path.starts_with(&folder)).map(|(_, text)| text)
}

/// Whether these tokens follow each other, and then the rest of a call or a definition.
fn has(text: &str, wanted: &[&str; 2]) -> bool {
    text.contains(wanted[1])
        && tokens(text).windows(3).any(|some| some.starts_with(wanted) && matches!(some[2], "(" | "<"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both worlds with all calls, and the decisions.
    fn whole() -> Vec<(String, String)> {
        let mut files: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
        for Decision { file, method, worlds } in DECISIONS {
            *files.entry((*file).to_owned()).or_default() += &format!("pub fn {method}<const N: u8>() {{}}\n");
            for station in worlds {
                *files.entry(format!("{station}.rs")).or_default() += &format!("fn f() {{ nic.{method}(now); }}\n");
            }
        }
        files.into_iter().collect()
    }

    fn found(files: &[(String, String)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        check(&Tree::of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn worlds_that_ask_for_all_decisions_pass() {
        assert_eq!(found(&whole()), [] as [&str; 0]);
    }

    #[test]
    fn any_file_that_is_missing_is_found() {
        for at in 0..whole().len() {
            let mut files = whole();
            let (path, _) = files.remove(at);
            let said = found(&files);
            assert!(!said.is_empty() && said[0].starts_with(&path), "without {path}: {said:?}");
        }
    }

    #[test]
    fn a_function_of_that_name_is_no_call_of_it() {
        for at in 0..whole().len() {
            let mut files = whole();
            let (path, text) = &mut files[at];
            if path.starts_with("core/") {
                continue;
            }
            *text = text.replace("nic.", "fn ").replace("(now);", "() {}");
            assert!(found(&files)[0].contains("does not call"), "{}", files[at].0);
        }
    }

    #[test]
    fn calls_of_tests_and_in_comments_do_not_count_and_those_of_the_folder_do() {
        let with = |path: &str, text: &str| {
            let mut files = whole();
            files.retain(|(path, _)| path != "lab/nebula-sim/src/world/dispatch.rs");
            files.push((path.to_owned(), text.to_owned()));
            found(&files).len()
        };
        assert_eq!(with("lab/nebula-sim/src/world/dispatch.rs", "mod tests { fn f() { nic.poll_dispatch() } }"), 1);
        assert_eq!(with("lab/nebula-sim/src/world/dispatch.rs", "// nic.poll_dispatch()"), 1);
        assert_eq!(with("lab/nebula-sim/src/world/dispatch/core.rs", "fn f() { g!(nic.poll_dispatch()) }"), 0);
    }
}
