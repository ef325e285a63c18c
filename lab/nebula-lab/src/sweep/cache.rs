//! Results on disk, named by the content of their questions.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use nebula_files::{Others, Sealing, Sync, Unsealed, check_owner, replace, unseal};

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

    /// The kept result of a point, if it is as it was written for this point by this user.
    #[must_use]
    pub fn find(&self, point: &Point) -> Option<PointResult> {
        let path = self.path(point)?;
        let file = nebula_files::open(&path).ok()?;
        check_owner(&file.metadata().ok()?, Others::MayRead).ok()?;
        let text = nebula_files::text_of(file).ok()?;
        match unseal(&point.key(), &text) {
            Unsealed::Whole(line) => PointResult::from_json(line.trim_end()),
            Unsealed::Damaged | Unsealed::Open => None,
        }
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
        // What a crash of the machine damages is noticed when it is read, and asked again.
        replace(&path, Sync::Later, |file| {
            let mut sealing = Sealing::new(&point.key(), BufWriter::new(file));
            writeln!(sealing, "{line}")?;
            sealing.end().map(drop)
        })
        .map_err(wrong)
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
    fn what_was_changed_or_is_of_another_point_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path()).unwrap();
        let [one, other] = [point(&["--rpcs=1k"]), point(&["--rpcs=2k"])];
        run(&[one.clone(), other.clone()], &cache, Some(1), &()).unwrap();
        let [path, others] = [&one, &other].map(|point| cache.path(point).unwrap());
        let line = std::fs::read_to_string(&path).unwrap();
        let digit = line.find(|c: char| c.is_ascii_digit()).unwrap();
        let changed =
            format!("{}{}{}", &line[..digit], if &line[digit..=digit] == "1" { 2 } else { 1 }, &line[digit + 1..]);
        let without_a_seal = line.lines().next().unwrap().to_owned();
        for wrong in [changed, without_a_seal, std::fs::read_to_string(others).unwrap()] {
            std::fs::write(&path, &wrong).unwrap();
            assert!(cache.find(&one).is_none(), "{wrong}");
        }
        std::fs::write(&path, &line).unwrap();
        assert!(cache.find(&one).is_some());
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
        assert!(cache.find(&one).is_none(), "others can write it");
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
