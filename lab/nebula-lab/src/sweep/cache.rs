//! Results on disk, named by the content of their questions.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::point::Point;
use super::result::PointResult;
use crate::Failure;

/// A folder of results for several programs at once: a result is written, then renamed.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// A cache without results, which keeps none.
    #[must_use]
    pub const fn none() -> Self {
        Self { folder: None }
    }

    /// The results in `folder`, which is created if missing.
    ///
    /// # Errors
    ///
    /// Invalid input: the folder cannot be created.
    pub fn at(folder: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::bad_input(format!("cannot make the cache {}: {error}", folder.display())))?;
        Ok(Self { folder: Some(folder.to_owned()) })
    }

    /// `$XDG_CACHE_HOME/nebula/lab` or `~/.cache/nebula/lab`; `None` if neither variable is set.
    #[must_use]
    pub fn of_user() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
        Some(base.join("nebula").join("lab"))
    }

    /// Its folder, in words.
    #[must_use]
    pub fn folder(&self) -> String {
        self.folder.as_ref().map_or("(none)".to_owned(), |folder| folder.display().to_string())
    }

    fn path(&self, point: &Point) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{}.json", point.key())))
    }

    /// The kept result of a point.
    #[must_use]
    pub fn find(&self, point: &Point) -> Option<PointResult> {
        let line = std::fs::read_to_string(self.path(point)?).ok()?;
        PointResult::from_json(line.trim_end())
    }

    /// Keeps a result, unless its words may have another one later.
    ///
    /// # Errors
    ///
    /// A fault: the file cannot be written.
    pub fn keep(&self, point: &Point, result: &PointResult) -> Result<(), Failure> {
        let Some(path) = self.path(point).filter(|_| result.is_lasting()) else { return Ok(()) };
        let line = result.to_json()?;
        let wrong = |error: std::io::Error| Failure::fault(format!("cannot write {}: {error}", path.display()));
        // A name that no other process or thread writes.
        let own = format!("{}.{:?}.new", std::process::id(), std::thread::current().id());
        let new = path.with_extension(own.replace(['(', ')'], ""));
        let mut file = std::fs::File::create(&new).map_err(wrong)?;
        writeln!(file, "{line}").and_then(|()| std::fs::rename(&new, &path)).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{Kind, run};

    fn point(words: &[&str]) -> Point {
        Point::of(Kind::Simulate, words.iter().map(ToString::to_string).collect(), Vec::new())
    }

    #[test]
    fn what_was_asked_is_not_asked_again_and_failures_of_input_are() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path()).unwrap();
        let (good, bad) = (point(&["--cores=2", "--rpcs=1k"]), point(&["--policy=fifo"]));
        let fresh = run(&[good.clone(), bad.clone()], &cache, Some(2), &()).unwrap();
        assert_eq!(cache.find(&good).unwrap().to_json(), fresh[0].to_json());
        assert!(cache.find(&bad).is_none() && fresh[1].error().is_some());
        let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(files, [std::ffi::OsString::from(format!("{}.json", good.key()))]);
        std::fs::write(folder.path().join(&files[0]), "torn").unwrap();
        assert!(cache.find(&good).is_none(), "a torn file is no result");
    }

    #[test]
    fn a_queue_that_grows_without_limit_is_a_result() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path()).unwrap();
        let outgrown =
            point(&["--policy=rss", "--cores=2", "--flows=1", "--load=0.9", "--rpcs=1M", "--replications=2"]);
        let fresh = run(std::slice::from_ref(&outgrown), &cache, Some(1), &()).unwrap();
        assert!(fresh[0].error().is_some() && fresh[0].is_lasting(), "{fresh:?}");
        assert_eq!(cache.find(&outgrown).unwrap().error(), fresh[0].error());
    }
}
