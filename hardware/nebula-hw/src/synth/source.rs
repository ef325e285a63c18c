//! The SystemVerilog files of a folder, one module a file, and the files of each module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use nebula_shell::{Attempt, Failure};

/// By the name of their module.
pub(crate) struct Sources {
    folder: PathBuf,
    texts: BTreeMap<String, String>,
}

impl Sources {
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let mut texts = BTreeMap::new();
        for entry in folder.read_dir().attempt(format!("list {}", folder.display()))?.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "sv") {
                let text = std::fs::read_to_string(&path).attempt(format!("read {}", path.display()))?;
                texts.insert(path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), text);
            }
        }
        Ok(Self { folder: folder.to_owned(), texts })
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.texts.keys().map(|name| self.path(name)).collect()
    }

    /// The files of a module and of its submodules.
    pub(crate) fn of(&self, module: &str) -> Vec<String> {
        self.modules(module).iter().map(|name| self.path(name)).collect()
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(format!("{name}.sv")).to_string_lossy().into_owned()
    }

    /// The texts of those files without comments, one after the other.
    pub(crate) fn text_of(&self, module: &str) -> String {
        let modules = self.modules(module);
        let lines = modules.iter().filter_map(|name| self.texts.get(name)).flat_map(|text| text.lines());
        lines.map(|line| line.split("//").next().unwrap_or_default().trim_end().to_owned() + "\n").collect()
    }

    /// A copy with a text in one module replaced, which must occur once.
    pub(crate) fn with(&self, module: &str, text: &str, by: &str) -> Result<Self, Failure> {
        let old = self.texts.get(module).filter(|old| old.matches(text).count() == 1);
        let old = old.ok_or_else(|| Failure::new(format!("{module}.sv does not have `{text}` once")))?;
        Ok(self.replacing(module, old.replace(text, by)))
    }

    pub(crate) fn text(&self, module: &str) -> Option<&str> {
        self.texts.get(module).map(String::as_str)
    }

    /// A copy with another text for a module.
    pub(crate) fn replacing(&self, module: &str, text: String) -> Self {
        let mut texts = self.texts.clone();
        texts.insert(module.to_owned(), text);
        Self { folder: self.folder.clone(), texts }
    }

    /// Writes the files of a module into a folder, and returns their paths.
    pub(crate) fn written(&self, module: &str, folder: &Path) -> Result<Vec<String>, Failure> {
        let write = |name: &String| {
            let path = folder.join(format!("{name}.sv"));
            std::fs::write(&path, &self.texts[name]).attempt(format!("write {}", path.display()))?;
            Ok(path.to_string_lossy().into_owned())
        };
        self.modules(module).iter().map(write).collect()
    }

    fn modules(&self, module: &str) -> BTreeSet<String> {
        let (mut found, mut open) = (BTreeSet::new(), vec![module.to_owned()]);
        while let Some(name) = open.pop() {
            if let Some(text) = self.texts.get(&name).filter(|_| !found.contains(&name)) {
                open.extend(self.texts.keys().filter(|other| has_instance(text, other)).cloned());
                found.insert(name);
            }
        }
        found
    }
}

/// Whether a line begins with the name of a module, as an instance does.
fn has_instance(text: &str, module: &str) -> bool {
    let begins = |line: &str| line.trim_start().strip_prefix(module).is_some_and(|rest| rest.starts_with(' '));
    text.lines().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Sources { folder: PathBuf::from("rtl"), texts }
    }

    #[test]
    fn a_module_is_made_of_its_instances_and_theirs() {
        let sources = sources(&[
            ("top", "module top;\n  middle #(.W(2)) i_middle (.a);\n"),
            ("middle", "  leaf i_leaf (.a);\n  middle i_half (.a);\n"),
            ("leaf", ""),
            ("other", "  leaf i_leaf (.a);\n"),
        ]);
        assert_eq!(sources.of("top"), ["rtl/leaf.sv", "rtl/middle.sv", "rtl/top.sv"]);
        assert_eq!(sources.of("leaf"), ["rtl/leaf.sv"]);
    }

    #[test]
    fn comments_are_not_part_of_what_a_module_is_made_of() {
        let sources = sources(&[("top", "// Why.\nwire a;  // What.\n")]);
        assert_eq!(sources.text_of("top"), "\nwire a;\n");
    }

    #[test]
    fn a_text_that_is_not_there_once_is_not_replaced() {
        let sources = sources(&[("top", "a b a")]);
        assert_eq!(
            sources.with("top", "b", "c").map(|changed| changed.text_of("top")).ok().as_deref(),
            Some("a c a\n")
        );
        assert!(sources.with("top", "a", "c").is_err() && sources.with("other", "a", "c").is_err());
    }

    #[test]
    fn a_word_within_a_line_is_no_instance() {
        let sources = sources(&[("top", "// a leaf of the tree\n  wire leaf_q;\n"), ("leaf", "")]);
        assert_eq!(sources.of("top"), ["rtl/top.sv"]);
    }
}
