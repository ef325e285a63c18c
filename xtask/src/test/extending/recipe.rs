//! A recipe: the code blocks of one section of a page, and their places.

use crate::shell::Failure;
use crate::sources::Files;

#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// A new file.
    File,
    /// Before or after the one line that has this text.
    Before(String),
    After(String),
}

#[derive(Debug, PartialEq, Eq)]
struct Block {
    path: String,
    place: Place,
    text: String,
}

#[derive(Debug)]
pub(super) struct Recipe(Vec<Block>);

impl Recipe {
    pub(super) fn read(page: &str, heading: &str) -> Result<Self, Failure> {
        let section =
            page.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with("## "));
        let (mut blocks, mut open): (Vec<Block>, Option<(usize, Block)>) = (Vec::new(), None);
        for line in section {
            let text = line.trim_start();
            match &mut open {
                Some(_) if text == "```" => blocks.extend(open.take().map(|(_, block)| block)),
                Some((indent, block)) => {
                    block.text += line.get(*indent..).unwrap_or_default();
                    block.text.push('\n');
                }
                None => {
                    open = text.strip_prefix("```rust ").and_then(block).map(|block| (line.len() - text.len(), block))
                }
            }
        }
        match open {
            _ if blocks.is_empty() => {
                Err(Failure::new(format!("no block under \"{heading}\" says which file it goes to")))
            }
            Some((_, block)) => Err(Failure::new(format!("the block for {} has no end", block.path))),
            None => Ok(Self(blocks)),
        }
    }

    pub(super) fn quoted_in(&self, anchor: &str) -> Result<String, Failure> {
        let is_beside =
            |block: &&Block| matches!(&block.place, Place::Before(line) | Place::After(line) if line == anchor);
        let quoted = self.0.iter().find(is_beside).and_then(|block| block.text.split('"').nth(1));
        quoted.map(str::to_owned).ok_or_else(|| Failure::new(format!("no block beside `{anchor}` has a quoted name")))
    }

    pub(super) fn apply(&self, files: &mut Files) -> Result<(), Failure> {
        self.0.iter().try_for_each(|block| block.apply(files))
    }
}

fn block(info: &str) -> Option<Block> {
    let (place, path) = match info.split_once(' ') {
        None => (Place::File, info.strip_prefix("file=")?),
        Some((path, place)) => (beside(place)?, path.strip_prefix("in=")?),
    };
    Some(Block { path: path.to_owned(), place, text: String::new() })
}

fn beside(place: &str) -> Option<Place> {
    let (side, line) = place.strip_suffix('"')?.split_once("=\"")?;
    match side {
        "before" => Some(Place::Before(line.to_owned())),
        "after" => Some(Place::After(line.to_owned())),
        _ => None,
    }
}

impl Block {
    fn apply(&self, files: &mut Files) -> Result<(), Failure> {
        let Self { path, place, text } = self;
        let (anchor, is_before) = match place {
            Place::File if files.contains_key(path) => return Err(Failure::new(format!("{path} is there already"))),
            Place::File => {
                files.insert(path.clone(), text.clone().into_bytes());
                return Ok(());
            }
            Place::Before(anchor) => (anchor, true),
            Place::After(anchor) => (anchor, false),
        };
        let found = files.get(path).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let found = found.ok_or_else(|| Failure::new(format!("{path} is not there")))?;
        let lines = found.split_inclusive('\n').filter(|line| line.trim() == anchor).count();
        if lines != 1 {
            return Err(Failure::new(format!("{path} has the line `{anchor}` {lines} times, not once")));
        }
        let with_block = |line: &str| match line.trim() == anchor {
            true if is_before => format!("{text}{line}"),
            true => format!("{line}{text}"),
            false => line.to_owned(),
        };
        let changed: String = found.split_inclusive('\n').map(with_block).collect();
        files.insert(path.clone(), changed.into_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "## Other\n```rust file=no.rs\n```\n## This\n1. Text\n\n   ```rust file=a/new.rs\n   fn new() {\n       1\n   }\n   ```\n\n\
                        ```rust in=a/mod.rs after=\"list! {\"\n    New = \"new\";\n```\n```console\n$ x\n```\n## Next\n";

    fn files() -> Files {
        [("a/mod.rs".to_owned(), b"mod old;\nlist! {\n    Old;\n}\n".to_vec())].into()
    }

    fn text(files: &Files, path: &str) -> String {
        String::from_utf8(files[path].clone()).expect("text")
    }

    #[test]
    fn the_blocks_of_the_section_are_applied() {
        let recipe = Recipe::read(PAGE, "## This").expect("two blocks");
        let mut files = files();
        recipe.apply(&mut files).expect("both fit");
        assert_eq!(text(&files, "a/new.rs"), "fn new() {\n    1\n}\n");
        assert_eq!(text(&files, "a/mod.rs"), "mod old;\nlist! {\n    New = \"new\";\n    Old;\n}\n");
        assert_eq!((files.len(), recipe.quoted_in("list! {").expect("a name").as_str()), (2, "new"));
    }

    #[test]
    fn a_recipe_that_does_not_fit_the_tree_fails() {
        let wrong = [
            ("list! {", "lists! {", "0 times"),
            ("a/mod.rs", "b/mod.rs", "is not there"),
            ("file=a/new.rs", "file=a/mod.rs", "already"),
        ];
        for (right, wrong, said) in wrong {
            let recipe = Recipe::read(&PAGE.replace(right, wrong), "## This").expect("two blocks");
            let failure = recipe.apply(&mut files()).expect_err("it does not fit");
            assert!(failure.to_string().contains(said), "{failure}");
        }
        let mut twice = files();
        twice.insert("a/mod.rs".to_owned(), b"list! {\nlist! {\n".to_vec());
        let recipe = Recipe::read(PAGE, "## This").expect("two blocks");
        assert!(recipe.apply(&mut twice).is_err_and(|failure| failure.to_string().contains("2 times")));
    }

    #[test]
    fn a_section_without_blocks_or_with_an_open_one_fails() {
        assert!(Recipe::read(PAGE, "## Next").is_err());
        assert!(Recipe::read(PAGE, "## That").is_err());
        let open = PAGE.split("   ```\n\n```rust in").next().expect("the first block");
        assert!(Recipe::read(&format!("{open}\n```rust file=b.rs"), "## This").is_err());
    }
}
