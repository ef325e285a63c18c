//! Loads machines, designs and applications: by name if they ship with Nebula, or from files.

use std::path::Path;

use nebula_sim::blocks::{Application, BlocksError, Design, Machine};

use crate::Failure;

/// A machine: `isca20`, `isca20.toml`, `rack/mine.toml`.
pub(super) fn machine(text: &str) -> Result<Machine, Failure> {
    Kind { flag: "--machine", names: Machine::names().collect(), named: Machine::named, parse: Machine::parse }
        .find(text)
}

/// A design.
pub(super) fn design(text: &str) -> Result<Design, Failure> {
    Kind { flag: "--design", names: Design::names().collect(), named: Design::named, parse: Design::parse }.find(text)
}

/// The designs of NEBULA's evaluation.
pub(super) fn designs() -> Vec<Design> {
    Design::of_evaluation().filter_map(Design::named).collect()
}

/// An application.
pub(super) fn application(text: &str) -> Result<Application, Failure> {
    let names = Application::names().collect();
    Kind { flag: "--application", names, named: Application::named, parse: Application::parse }.find(text)
}

/// The name of an application: the file name without its folder.
pub(super) fn name(text: &str) -> String {
    Path::new(text).file_stem().map_or(text.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

/// A kind of file.
struct Kind<T> {
    flag: &'static str,
    names: Vec<&'static str>,
    named: fn(&str) -> Option<T>,
    parse: fn(&str) -> Result<T, BlocksError>,
}

impl<T> Kind<T> {
    /// A bare name is one that ships. A name that ends in `.toml` is a file if that file exists.
    fn find(&self, text: &str) -> Result<T, Failure> {
        if let Some(shipped) = (self.named)(text) {
            return Ok(shipped);
        }
        let path = Path::new(text);
        if path.is_file() {
            return self.read(path);
        }
        let shipped = text.strip_suffix(".toml").and_then(self.named);
        shipped.ok_or_else(|| {
            Failure::bad_input(format!(
                "{}: {text:?} is neither a file nor a name that ships with Nebula: give a file, or one of {}",
                self.flag,
                self.names.join(", ")
            ))
        })
    }

    fn read(&self, path: &Path) -> Result<T, Failure> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::bad_input(format!("{}: cannot read {}: {error}", self.flag, path.display())))?;
        (self.parse)(&text).map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ships_is_found_with_and_without_its_ending() {
        assert_eq!(machine("isca20").unwrap(), machine("isca20.toml").unwrap());
        assert_eq!(design("srq-emu.toml").unwrap().name, "srq-emu");
        assert!(matches!(application("replication"), Ok(Application::Replication(_))));
        assert_eq!(designs().last().map(|design| design.name.clone()).as_deref(), Some("nebula"));
    }

    #[test]
    fn what_does_not_ship_is_answered_with_what_does() {
        let said = machine("isca21").unwrap_err().to_string();
        assert!(said.starts_with("--machine: \"isca21\" is neither a file") && said.ends_with("server64"), "{said}");
        assert!(design("nebulous.toml").unwrap_err().to_string().contains("nebula-swpref, nebula, rpcvalet-ddio"));
    }

    #[test]
    fn a_file_is_read_and_named_when_it_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let (good, bad) = (folder.path().join("mine.toml"), folder.path().join("bad.toml"));
        std::fs::write(&good, "name = 'mine'\npolicy = 'jbsq:4'\nbuffers = 'shared'\n").unwrap();
        std::fs::write(&bad, "name = 'bad'\npolicy = 'fifo'\n").unwrap();
        assert_eq!(design(good.to_str().unwrap()).unwrap().name, "mine");
        let said = design(bad.to_str().unwrap()).unwrap_err().to_string();
        assert!(said.contains("bad.toml: this is not a design") && said.contains("line 2"), "{said}");
        assert_eq!(name("rack/mine.toml"), "mine");
    }
}
