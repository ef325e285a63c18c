//! Only `core/` and `lab/` decide why an RPC is refused: no other product constructs a
//! `NackReason`.
//!
//! A reason may be compared, stand in a pattern, or ask a counter. A reason that is fixed has a
//! name in `nebula-nic`, such as `Abandoned::REASON`.

use super::Violation;
use super::code::tokens_at;
use super::tree::Tree;

const REASON: &str = "NackReason";
const AREAS: [&str; 2] = ["runtime/", "services/"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let products =
        tree.rust().filter(|(path, _)| AREAS.iter().any(|area| path.starts_with(area)) && !path.contains("/tests/"));
    products.filter(|(_, text)| text.contains(REASON)).flat_map(|(path, text)| file(path, text)).collect()
}

fn file(path: &str, text: &str) -> Vec<Violation> {
    let tokens = tokens_at(text);
    let words: Vec<&str> = tokens.iter().map(|&(_, word)| word).collect();
    let found = (0..words.len()).filter(|&at| words[at] == REASON).filter_map(|at| Some((at, wrong(&words, at)?)));
    found.map(|(at, what)| Violation::new(path, tokens[at].0, what)).collect()
}

/// What is wrong with the `NackReason` at `at`, if anything.
fn wrong(words: &[&str], at: usize) -> Option<&'static str> {
    match &words[at + 1..] {
        ["as", ..] | [":", ":", "*" | "{", ..] => Some("a `NackReason` under another name hides who decides"),
        [":", ":", name, ..] if is_variant(name) && !is_looked_at(words, at, at + 4) => {
            Some("constructs a `NackReason`: `nebula-nic` decides why an RPC is refused")
        }
        _ => None,
    }
}

/// Not a constant, as `BY_SERVICE`, nor a function.
fn is_variant(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Whether the reason from `begin` to `end` is compared, asks a counter, or stands in a pattern.
fn is_looked_at(words: &[&str], begin: usize, end: usize) -> bool {
    let around = openers(words, begin);
    let is_asked = |&opener: &usize| matches!(words[..opener], [.., "matches", "!"] | [.., ".", "nacked"]);
    around.iter().any(is_asked) || is_compared(words, begin) || is_followed_as_pattern(words, end, &around)
}

/// The places of the brackets that are open at `at`, the innermost first.
fn openers(words: &[&str], at: usize) -> Vec<usize> {
    let (mut open, mut closed) = (Vec::new(), 0_usize);
    for place in (0..at).rev() {
        match words[place] {
            ")" | "]" | "}" => closed += 1,
            "(" | "[" | "{" if closed > 0 => closed -= 1,
            "(" | "[" | "{" => open.push(place),
            _ => {}
        }
    }
    open
}

fn is_compared(words: &[&str], begin: usize) -> bool {
    match &words[..begin] {
        [.., "=" | "!", "="] => true,
        [before @ .., "Some", "("] => matches!(before, [.., "=" | "!", "="]),
        _ => false,
    }
}

/// Whether a comparison, `=>`, `if` or the `=` of a `let` follows, as after a pattern.
fn is_followed_as_pattern(words: &[&str], end: usize, around: &[usize]) -> bool {
    // The braces of a struct, not of a block.
    let has_fields = |opener: usize| opener > 0 && words[opener - 1].starts_with(char::is_uppercase);
    let is_list = |opener: Option<&usize>| opener.is_some_and(|&at| words[at] != "{" || has_fields(at));
    let (mut around, mut at) = (around.iter(), end);
    let mut inside = around.next();
    while at < words.len() {
        match &words[at..] {
            ["=" | "if", ..] | ["!", "=", ..] => return true,
            [".", ".", ..] => at += 1,
            [")" | "]" | "}", ..] if is_list(inside) => inside = around.next(),
            [",", ..] if is_list(inside) => {}
            ["{", ..] if !has_fields(at) => return false,
            ["(" | "[" | "{", ..] => at = closer(words, at),
            ["." | ";" | "?" | "," | ")" | "]" | "}" | "else", ..] => return false,
            _ => {}
        }
        at += 1;
    }
    false
}

/// The place of the bracket that closes the one at `at`.
fn closer(words: &[&str], at: usize) -> usize {
    let mut depth = 0_usize;
    for (place, word) in words.iter().enumerate().skip(at) {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place;
        }
    }
    words.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, code: &str) -> Vec<usize> {
        let text = format!("fn f() {{\n{code}\n}}\n");
        check(&Tree::of(&[(path, &text)])).iter().map(|violation| violation.line - 1).collect()
    }

    fn is_found(code: &str) -> bool {
        !found("runtime/nebula/src/rpc/reply.rs", code).is_empty()
    }

    #[test]
    fn a_construction_is_found() {
        for code in [
            "let reason = NackReason::Expired;",
            "self.nack(NackReason::QueueBound);",
            "return self.nack(nebula_nic::NackReason::QueueBound)",
            "match over { true => NackReason::Expired, false => other() }",
            "match over { true => Some(NackReason::Expired), false => None }",
            "match over { false => None, true => Some(NackReason::Expired) } let x = 1;",
            "match over { true => Fate::Refused(NackReason::Expired), other => other }",
            "match over { true => Nack { reason: NackReason::Expired }, other => other }",
            "match seen { Seen::Stale => nack(tid, NackReason::Stale), other => other }",
            "let x = if over { NackReason::Expired } else { NackReason::Stale };",
            "if over { self.nack(NackReason::Expired) } let x = 1;",
            "self.fate = Fate::Refused(NackReason::Expired);\nlet x = 1;",
            "send(NackReason::Expired.code()); let x = 1;",
            "over.then_some(NackReason::Cancelled)",
            "over.then(|| NackReason::Cancelled)",
            "if refuses(NackReason::Cancelled) { let x = 1; }",
        ] {
            assert!(is_found(code), "{code}");
        }
        assert_eq!(found("services/shop/src/main.rs", "a();\nb(NackReason::Stale);\n"), [2]);
    }

    #[test]
    fn another_name_for_it_is_found() {
        for code in
            ["use nebula_nic::NackReason::*;", "use nebula_nic::{NackReason as Why};", "use NackReason::{Stale};"]
        {
            assert!(is_found(code), "{code}");
        }
    }

    #[test]
    fn comparisons_patterns_and_counters_are_no_constructions() {
        for code in [
            "let is = reason == NackReason::Expired;",
            "if reason != NackReason::TooLarge { a(); }",
            "if NackReason::TooLarge == reason { a(); }",
            "let is = end == Some(NackReason::Expired);",
            "match reason { NackReason::Stale => a(), NackReason::Expired | NackReason::Cancelled => b() }",
            "match reason { Some(NackReason::Stale) => a(), Some(reason) => b(reason), None => c() }",
            "match end { Err(Nack { reason: NackReason::TooLarge } | Expired) => a(), _ => b() }",
            "match end { Err(Nack { reason: NackReason::TooLarge, .. }) => a(), _ => b() }",
            "match (a, reason) { (1, NackReason::Stale) | (2, _) => a(), _ => b() }",
            "match reason { NackReason::Stale if is_new => a(), _ => b() }",
            "if let Err(NackReason::Stale) = end { a(); }",
            "let Some(NackReason::Stale) = end else { return };",
            "matches!(reason, NackReason::Stale | NackReason::Expired).then(a)",
            "let full = counters.nacked(NackReason::BufferFull) + more;",
            "self.nack(NackReason::BY_SERVICE); let all = NackReason::ALL; NackReason::from_code(3);",
            "// NackReason::Stale\nlet text = \"NackReason::Stale\";",
            "fn g(reason: NackReason) -> Option<NackReason> { Some(reason) }",
        ] {
            assert!(!is_found(code), "{code}");
        }
    }

    #[test]
    fn the_core_the_laboratory_and_tests_may() {
        for path in [
            "core/nebula-nic/src/ending.rs",
            "lab/nebula-sim/src/world.rs",
            "runtime/nebula/tests/pool.rs",
            "fuzz/a.rs",
        ] {
            assert_eq!(found(path, "f(NackReason::Stale);"), [0; 0], "{path}");
        }
        let unit = "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() { f(NackReason::Stale) }\n}\n";
        assert!(check(&Tree::of(&[("runtime/nebula/src/rpc/reply.rs", unit)])).is_empty());
    }
}
