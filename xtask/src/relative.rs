//! Paths relative to a file, as links and `include_str!` name them.

/// The path from the root that `path` leads to from the folder of `file`; `None` above the root.
/// From the root, `file` is "".
pub(crate) fn resolved(file: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up(steps: usize, rest: &str) -> String {
        ["..", "/"].concat().repeat(steps) + rest
    }

    #[test]
    fn a_path_begins_in_the_folder_of_its_file() {
        assert_eq!(resolved("a/b.rs", "c.rs").as_deref(), Some("a/c.rs"));
        assert_eq!(resolved("a/b.rs", "./c//d.rs").as_deref(), Some("a/c/d.rs"));
        assert_eq!(resolved("a/b.rs", &up(1, "c.rs")).as_deref(), Some("c.rs"));
        assert_eq!(resolved("", "/c.rs").as_deref(), Some("c.rs"));
    }

    #[test]
    fn a_path_above_the_root_leads_nowhere() {
        assert_eq!(resolved("a/b.rs", &up(2, "c.rs")), None);
        assert_eq!(resolved("", &up(1, "c.rs")), None);
    }
}
