//! One point of a study.

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::kind::{Kind, Word};
use super::result::PointResult;
use crate::{Answer, Failure, Workers, compare, simulate, size};

/// One point: a question and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    kind: Kind,
    words: Vec<String>,
    axes: Vec<(String, String)>,
}

impl Point {
    pub(super) fn new(kind: Kind, fixed: &[Word], axes: Vec<Word>) -> Self {
        let words = fixed.iter().chain(&axes).map(|(name, value)| flag(name, value.as_deref())).collect();
        let axes = axes.into_iter().map(|(name, value)| (name, value.unwrap_or_default())).collect();
        Self { kind, words, axes }
    }

    /// The point of these words and its place on each axis, as given by [`kind`](Self::kind),
    /// [`words`](Self::words) and [`axes`](Self::axes).
    #[must_use]
    pub const fn of(kind: Kind, words: Vec<String>, axes: Vec<(String, String)>) -> Self {
        Self { kind, words, axes }
    }

    /// The question.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The flags that it is asked with.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Its place on each axis.
    #[must_use]
    pub fn axes(&self) -> &[(String, String)] {
        &self.axes
    }

    /// Checks whether its words can be read.
    ///
    /// # Errors
    ///
    /// Invalid input: the first word that cannot.
    pub fn check(&self) -> Result<(), Failure> {
        let words = self.words.iter().cloned();
        match self.kind {
            Kind::Simulate => simulate::Question::parse(words).map(drop),
            Kind::Compare => compare::Question::parse(words).map(drop),
            Kind::Size => size::Question::parse(words).map(drop),
        }
    }

    /// Asks on the caller's thread. A failure is a result.
    #[must_use]
    pub fn ask(&self) -> PointResult {
        match self.answer() {
            Ok(answer) => PointResult::of(self, &answer),
            Err(failure) => PointResult::failed(self, &failure),
        }
    }

    fn answer(&self) -> Result<Answer, Failure> {
        let (words, here) = (self.words.iter().cloned(), Workers::Caller);
        match self.kind {
            Kind::Simulate => Ok(simulate::Question::parse(words)?.ask_on(&here, &())?.answer),
            Kind::Compare => Ok(compare::Question::parse(words)?.ask_on(&here, &())?.answer),
            Kind::Size => size::Question::parse(words)?.ask_on(&here, &()),
        }
    }

    /// The name of its result: a digest of Nebula's version, the question, its words, and the
    /// content of every file that a word names.
    #[must_use]
    pub fn key(&self) -> String {
        let mut digest = Sha256::new();
        let mut add = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        add(self.kind.name().as_bytes());
        for word in &self.words {
            add(word.as_bytes());
            for content in files_of(word) {
                add(&content);
            }
        }
        digest.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// The flag of an axis: `--set=memory.dram.banks=16` for `set.memory.dram.banks`,
/// `--queue-bound=10` for `queue_bound`.
fn flag(name: &str, value: Option<&str>) -> String {
    match (name.strip_prefix("set."), value) {
        (Some(key), Some(value)) => format!("--set={key}={value}"),
        (_, Some(value)) => format!("--{}={value}", name.replace('_', "-")),
        (_, None) => format!("--{}", name.replace('_', "-")),
    }
}

fn files_of(word: &str) -> Vec<Vec<u8>> {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    let names = value.split([',', '+', ';', '*']).map(|part| part.rsplit_once("trace:").map_or(part, |(_, file)| file));
    names.filter(|name| Path::new(name).is_file()).filter_map(|name| std::fs::read(name).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(words: &[&str]) -> Point {
        Point::of(Kind::Simulate, words.iter().map(ToString::to_string).collect(), Vec::new())
    }

    #[test]
    fn what_is_asked_names_the_result() {
        let key = point(&["--cores=4", "--seed=1"]).key();
        assert_eq!(key.len(), 64);
        assert_eq!(key, point(&["--cores=4", "--seed=1"]).key());
        for other in [&["--cores=4", "--seed=2"][..], &["--cores=4"], &["--cores=4--seed=1"]] {
            assert_ne!(key, point(other).key(), "{other:?}");
        }
        assert_ne!(key, Point { kind: Kind::Compare, ..point(&["--cores=4", "--seed=1"]) }.key());
    }

    #[test]
    fn the_content_of_a_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("get.csv");
        let word = format!("--service=fixed:1us+trace:{}", file.display());
        std::fs::write(&file, "100\n").unwrap();
        let before = point(&[&word]).key();
        std::fs::write(&file, "200\n").unwrap();
        assert_ne!(before, point(&[&word]).key());
    }

    #[test]
    fn a_point_that_fails_says_why() {
        let result = point(&["--policy=fifo"]).ask();
        assert!(result.rows().next().is_some() && result.error().is_some_and(|error| error.contains("fifo")));
    }
}
