//! Links between the pages resolve: to a file of the tree, a heading of its page, or a name in a
//! file of code. Every page of docs/ is in the book.

use super::Violation;
use super::tree::Tree;
use crate::markdown;
use crate::relative::resolved;

const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let pages = tree.files().filter(|(path, _)| is_page(path));
    let dangling = pages.flat_map(|(path, text)| page(tree, path, text));
    dangling.chain(unlisted(tree)).collect()
}

/// At the root and in `docs/`.
fn is_page(path: &str) -> bool {
    path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/"))
}

fn page(tree: &Tree, path: &str, text: &str) -> Vec<Violation> {
    let links = markdown::links(text).into_iter().map(|link| {
        let label = label(&text[..link.target.start]);
        (link.line, &text[link.target], label)
    });
    let own = links.filter(|(_, target, _)| !target.contains("://") && !target.starts_with("mailto:"));
    let wrong = |target: &str, label| wrong(tree, path, target).or_else(|| lacking(tree, path, target, label?));
    own.filter_map(|(line, target, label)| Some(Violation::new(path, line, wrong(target, label)?))).collect()
}

/// The label of a link, if it is a name of code in backticks; `before` ends with the bracket that
/// opens the target.
fn label(before: &str) -> Option<&str> {
    let label = before.strip_suffix("`](")?;
    let name = &label[label.rfind('`')? + 1..];
    (label.ends_with(&format!("[`{name}")) && name.chars().all(is_word)).then_some(name)
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// An error if the file of code that a link from the page `path` leads to lacks `name`.
fn lacking(tree: &Tree, path: &str, target: &str, name: &str) -> Option<String> {
    let file = resolved(path, target).filter(|file| file.ends_with(".rs"))?;
    let is_part_of_it = file.trim_end_matches(".rs").split('/').any(|part| part == name);
    let has = is_part_of_it || tree.text(&file)?.split(|letter| !is_word(letter)).any(|word| word == name);
    (!has).then(|| format!("links to `{target}` for `{name}`, which is not there"))
}

fn wrong(tree: &Tree, path: &str, target: &str) -> Option<String> {
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let to = if file.is_empty() { Some(path.to_owned()) } else { resolved(path, file) };
    let Some(to) = to.filter(|to| tree.has(to) || tree.has_folder(to)) else {
        return Some(format!("links to `{target}`, which is not there"));
    };
    let (anchor, text) = (anchor?, tree.text(&to).filter(|_| to.ends_with(".md"))?);
    let is_there = markdown::anchors(text).iter().any(|heading| heading == anchor);
    (!is_there).then(|| format!("links to `{target}`: {to} has no such heading"))
}

fn unlisted(tree: &Tree) -> Vec<Violation> {
    let Some(summary) = tree.text(SUMMARY) else { return vec![Violation::new(SUMMARY, 0, "is missing")] };
    let listed: Vec<_> = markdown::links(summary).into_iter().map(|link| &summary[link.target]).collect();
    let pages = tree.files().filter_map(|(path, _)| path.strip_prefix("docs/"));
    let missing = pages.filter(|page| page.ends_with(".md") && *page != "SUMMARY.md" && !listed.contains(page));
    missing.map(|page| Violation::new(SUMMARY, 0, format!("does not list {page}, so the book lacks it"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let whole = [&[(SUMMARY, "- [A](A.md)\n"), ("docs/A.md", "# A page\n")], files].concat();
        check(&Tree::of(&whole)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_resolve_pass() {
        let readme = "# R\n[a](docs/A.md) [b](docs/A.md#a-page) [c](#r) [d](docs) [e](https://example.org/x)\n";
        assert_eq!(found(&[("README.md", readme)]), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_nothing_is_found() {
        let said = found(&[("README.md", "\n[b](docs/B.md)\n")]);
        assert_eq!(said, ["README.md:2: links to `docs/B.md`, which is not there"]);
    }

    #[test]
    fn a_link_to_no_heading_is_found() {
        assert!(found(&[("README.md", "[b](docs/A.md#b)\n")])[0].contains("docs/A.md has no such heading"));
        assert!(found(&[("README.md", "[b](#b)\n")])[0].contains("README.md has no such heading"));
    }

    #[test]
    fn a_link_to_code_that_has_moved_is_found() {
        let files =
            |label: &str| [("README.md", format!("[{label}](src/a.rs)\n")), ("src/a.rs", "fn taken() {}".to_owned())];
        let found = |label: &str| found(&files(label).each_ref().map(|(path, text)| (*path, text.as_str())));
        assert_eq!(found("`take`"), ["README.md:1: links to `src/a.rs` for `take`, which is not there"]);
        for label in ["`taken`", "`a`", "`a.rs`", "the code", "see `take`, or what became of it"] {
            assert_eq!(found(label), Vec::<String>::new(), "{label}");
        }
    }

    #[test]
    fn a_page_that_the_book_lacks_is_found() {
        assert_eq!(found(&[("docs/B.md", "# B\n")]), ["docs/SUMMARY.md: does not list B.md, so the book lacks it"]);
        assert_eq!(check(&Tree::of(&[("docs/B.md", "")])).len(), 1, "nor is there a list");
    }
}
