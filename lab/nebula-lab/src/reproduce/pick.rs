//! Selects entries by the ids on the command line.

use nebula_sim::reproduce::{ENTRIES, Entry};

use crate::Failure;

/// The entries whose ids begin with one of `ids`, in order; the default entries without `ids`.
pub(super) fn entries(ids: &[String]) -> Result<Vec<Entry>, Failure> {
    if let Some(unknown) = ids.iter().find(|id| !ENTRIES.iter().any(|entry| is_meant(entry, id))) {
        let there_is = ENTRIES.iter().map(|entry| entry.id).collect::<Vec<_>>().join(", ");
        return Err(Failure::bad_input(format!("unknown entry {unknown:?}: the entries are {there_is}")));
    }
    let is_picked =
        |entry: &&Entry| if ids.is_empty() { entry.is_by_default } else { ids.iter().any(|id| is_meant(entry, id)) };
    Ok(ENTRIES.iter().filter(is_picked).copied().collect())
}

/// Whether `id` is the entry's id, or a prefix of whole words.
fn is_meant(entry: &Entry, id: &str) -> bool {
    let id = id.trim_end_matches('/');
    // Only its full id selects an entry that is not run by default.
    entry.id.strip_prefix(id).is_some_and(|rest| rest.is_empty() || (rest.starts_with('/') && entry.is_by_default))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(ids: &[&str]) -> Result<Vec<&'static str>, String> {
        let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let picked = entries(&ids).map_err(|failure| failure.to_string())?;
        Ok(picked.iter().map(|entry| entry.id).collect())
    }

    #[test]
    fn an_id_or_its_first_word_picks_and_nothing_picks_all() {
        assert_eq!(picked(&["nebula/eq1"]).unwrap(), ["nebula/eq1"]);
        assert_eq!(picked(&["nebula/sizing", "nebula/eq1"]).unwrap(), ["nebula/eq1", "nebula/sizing"]);
        assert_eq!(picked(&[]).unwrap().len(), ENTRIES.len() - 1);
        assert_eq!(picked(&["nebula/sensitivity"]).unwrap(), ["nebula/sensitivity"]);
        assert!(
            !picked(&["nebula"]).unwrap().contains(&"nebula/sensitivity"),
            "it takes minutes and compares with no paper"
        );
        assert!(picked(&["nebula"]).unwrap().len() >= 2);
    }

    #[test]
    fn half_a_word_picks_nothing_and_is_told_what_there_is() {
        let said = picked(&["nebula/eq"]).unwrap_err();
        assert!(said.contains("\"nebula/eq\"") && said.contains("nebula/eq1, nebula/sizing"), "{said}");
    }
}
