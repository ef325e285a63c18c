//! Loads machines, designs and applications: by name if they ship with Nebula, or from files.

use std::path::Path;

use nebula_sim::blocks::{Application, BlocksError, Design, Machine};

use super::words::Changes;
use crate::Failure;
use crate::words::shipped_or_file;

/// A machine, such as `isca20`, `isca20.toml` or `rack/mine.toml`, with the changes of `--set`.
pub(super) fn machine(text: &str, changes: &Changes) -> Result<Machine, Failure> {
    let found = shipped_or_file("--machine", text, Machine::shipped(), Machine::source, Machine::parse)?;
    changed(found, &changes.machine, Machine::parse_over)
}

pub(super) fn design(text: &str, changes: &Changes) -> Result<Design, Failure> {
    let found = shipped_or_file("--design", text, Design::shipped(), Design::source, Design::parse)?;
    changed(found, &changes.design, Design::parse_over)
}

fn changed<T>(
    (text, found): (String, T),
    changes: &toml::Table,
    parse_over: fn(&str, &toml::Table) -> Result<T, BlocksError>,
) -> Result<T, Failure> {
    match changes.is_empty() {
        true => Ok(found),
        false => parse_over(&text, changes).map_err(|error| Failure::bad_input(format!("--set: {error}"))),
    }
}

pub(super) fn designs(changes: &Changes) -> Result<Vec<Design>, Failure> {
    Design::of_evaluation().map(|name| design(name, changes)).collect()
}

pub(super) fn application(text: &str) -> Result<Application, Failure> {
    let names = Application::shipped();
    shipped_or_file("--application", text, names, Application::source, Application::parse).map(|(_, found)| found)
}

/// The file name without folder and ending.
pub(super) fn name(text: &str) -> String {
    Path::new(text).file_stem().map_or(text.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Changes {
        Changes::default()
    }

    #[test]
    fn what_ships_is_found_with_and_without_its_ending() {
        assert_eq!(machine("isca20", &none()).unwrap(), machine("isca20.toml", &none()).unwrap());
        assert_eq!(design("srq-emu.toml", &none()).unwrap().name, "srq-emu");
        assert!(matches!(application("replication"), Ok(Application::Replication(_))));
        assert_eq!(designs(&none()).unwrap().last().map(|design| design.name.clone()).as_deref(), Some("nebula"));
    }

    #[test]
    fn keys_of_a_machine_and_of_a_design_are_set() {
        let changes =
            |all: &[&str]| Changes::of(&all.iter().map(|one| one.parse().unwrap()).collect::<Vec<_>>()).unwrap();
        let both = changes(&["memory.dram.banks=32", "nic_ways=2", "policy=jbsq:4"]);
        assert_eq!(machine("isca20", &both).unwrap().memory.dram.banks, 32);
        let design = design("nebula", &both).unwrap();
        assert_eq!((design.nic_ways, design.policy.to_string()), (Some(2), "jbsq:4".to_owned()));
        let said = machine("isca20", &changes(&["memory.dram.bank=32"])).unwrap_err().to_string();
        assert!(said.starts_with("--set: ") && said.contains("unknown field `bank`"), "{said}");
        let said = machine("isca20", &changes(&["memory.dram.banks=many"])).unwrap_err().to_string();
        assert!(said.starts_with("--set: ") && said.contains("many"), "{said}");
    }

    #[test]
    fn what_does_not_ship_is_answered_with_what_does() {
        let said = machine("isca21", &none()).unwrap_err().to_string();
        assert!(said.starts_with("--machine: \"isca21\" is neither a file") && said.ends_with("server64"), "{said}");
        assert!(
            design("nebulous.toml", &none()).unwrap_err().to_string().contains("nebula-swpref, nebula, rpcvalet-ddio")
        );
    }

    #[test]
    fn a_file_is_read_and_named_when_it_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let (good, bad) = (folder.path().join("mine.toml"), folder.path().join("bad.toml"));
        std::fs::write(&good, "name = 'mine'\npolicy = 'jbsq:4'\nbuffers = 'shared'\n").unwrap();
        std::fs::write(&bad, "name = 'bad'\npolicy = 'fifo'\n").unwrap();
        assert_eq!(design(good.to_str().unwrap(), &none()).unwrap().name, "mine");
        let said = design(bad.to_str().unwrap(), &none()).unwrap_err().to_string();
        assert!(said.contains("bad.toml: this is not a design") && said.contains("line 2"), "{said}");
        assert_eq!(name("rack/mine.toml"), "mine");
    }
}
