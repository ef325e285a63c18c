//! SPDX license expressions: is there a choice among the alternatives that is allowed throughout?
//!
//! ```text
//! any  = all { "OR" all }          also "/", as old manifests write it
//! all  = one { "AND" one }
//! one  = "(" any ")" | id [ "WITH" exception ]
//! ```

/// Whether `expression` can be satisfied by allowed licenses alone; nothing when it is not well
/// formed.
pub(super) fn allows(expression: &str, is_allowed: impl Fn(&str) -> bool) -> Option<bool> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, is_allowed };
    let verdict = reader.any()?;
    reader.words.is_empty().then_some(verdict)
}

struct Reader<'a, F> {
    words: &'a [&'a str],
    is_allowed: F,
}

impl<'a, F: Fn(&str) -> bool> Reader<'a, F> {
    fn any(&mut self) -> Option<bool> {
        let mut verdict = self.all()?;
        while self.take("OR") {
            verdict |= self.all()?;
        }
        Some(verdict)
    }

    fn all(&mut self) -> Option<bool> {
        let mut verdict = self.one()?;
        while self.take("AND") {
            verdict &= self.one()?;
        }
        Some(verdict)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let verdict = self.any()?;
            return self.take(")").then_some(verdict);
        }
        let id = self.id()?;
        if self.take("WITH") {
            // An exception only ever permits more than its license does.
            self.id()?;
        }
        Some((self.is_allowed)(id))
    }

    fn id(&mut self) -> Option<&'a str> {
        let (&id, rest) = self.words.split_first()?;
        let is_id = !matches!(id, "OR" | "AND" | "WITH" | "(" | ")");
        self.words = rest;
        is_id.then_some(id)
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.words = &self.words[1..];
        }
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str) -> Option<bool> {
        allows(expression, |id| matches!(id, "MIT" | "Apache-2.0"))
    }

    #[test]
    fn one_allowed_alternative_is_enough() {
        assert_eq!(check("MIT OR GPL-3.0"), Some(true));
        assert_eq!(check("GPL-3.0/MIT"), Some(true));
        assert_eq!(check("GPL-2.0 OR GPL-3.0"), Some(false));
    }

    #[test]
    fn every_part_of_a_conjunction_has_to_be_allowed() {
        assert_eq!(check("(MIT OR Apache-2.0) AND NCSA"), Some(false));
        assert_eq!(check("(MIT OR NCSA) AND Apache-2.0"), Some(true));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        assert_eq!(check("MIT OR GPL-3.0 AND NCSA"), Some(true));
    }

    #[test]
    fn an_exception_is_covered_by_its_license() {
        assert_eq!(check("Apache-2.0 WITH LLVM-exception"), Some(true));
        assert_eq!(check("Apache-2.0 WITH LLVM-exception OR GPL-3.0"), Some(true));
    }

    #[test]
    fn what_is_not_well_formed_is_not_a_verdict() {
        for expression in ["", "MIT OR", "(MIT", "MIT Apache-2.0", "AND", "MIT WITH", "MIT)"] {
            assert_eq!(check(expression), None, "{expression}");
        }
    }
}
