//! Links, anchors and prose of a page of Markdown.

use std::collections::BTreeSet;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// The place of its target in the text, and its line, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) target: Range<usize>,
    pub(crate) line: usize,
}

/// The inline links and pictures of a page, in the order of their targets.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let mut links: Vec<Link> = events(text).filter_map(|(event, range)| link(text, &event, &range)).collect();
    links.sort_by_key(|link| link.target.start);
    links
}

fn link(text: &str, event: &Event<'_>, range: &Range<usize>) -> Option<Link> {
    let (Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, .. })
    | Event::Start(Tag::Image { link_type: LinkType::Inline, dest_url, .. })) = event
    else {
        return None;
    };
    let begin = range.start + text[range.clone()].rfind(dest_url.as_ref())?;
    Some(Link { target: begin..begin + dest_url.len(), line: text[..begin].matches('\n').count() + 1 })
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let (mut anchors, mut heading): (Vec<String>, Option<String>) = (Vec::new(), None);
    for (event, _) in events(text) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(words) | Event::Code(words), Some(heading)) => *heading += &words,
            (Event::End(TagEnd::Heading(_)), Some(words)) => {
                let anchor = anchor_of(words);
                let again = anchors.iter().filter(|other| **other == anchor).count();
                anchors.push(if again == 0 { anchor } else { format!("{anchor}-{again}") });
                heading = None;
            }
            _ => {}
        }
    }
    anchors
}

fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The lines outside code, tables and HTML, each with its number.
pub(crate) fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut laid_out = BTreeSet::new();
    for (event, range) in events(text) {
        if matches!(event, Event::Start(Tag::CodeBlock(_) | Tag::Table(_) | Tag::HtmlBlock)) {
            let first = text[..range.start].matches('\n').count() + 1;
            laid_out.extend(first..=first + text[range].trim_end().matches('\n').count());
        }
    }
    (1..).zip(text.lines()).filter(|(number, _)| !laid_out.contains(number)).collect()
}

fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(&str, usize)> {
        links(text).into_iter().map(|link| (&text[link.target], link.line)).collect()
    }

    #[test]
    fn links_and_pictures_are_found_with_their_lines() {
        let text = "see [a](b.md#c) and [`d`](e.rs)\n![f](g.svg)\n[![h](i.svg)](j)\n";
        assert_eq!(targets(text), [("b.md#c", 1), ("e.rs", 1), ("g.svg", 2), ("i.svg", 3), ("j", 3)]);
    }

    #[test]
    fn code_has_no_links() {
        assert_eq!(targets("`[a](b)` [c](d)\n```text\n[e](f)\n```\n[g](h)"), [("d", 1), ("h", 5)]);
    }

    #[test]
    fn headings_become_anchors() {
        let text = "# The ring\n## `a_b`: what, and why?\n## The ring\n```\n# no\n```\n#no\n";
        assert_eq!(anchors(text), ["the-ring", "a_b-what-and-why", "the-ring-1"]);
    }

    #[test]
    fn tables_and_code_are_no_prose() {
        let text = "a\n\n| b |\n|---|\n| c |\n\n- d\n\n  ```\n  e\n  ```\nf\n";
        assert_eq!(prose(text), [(1, "a"), (2, ""), (6, ""), (7, "- d"), (8, ""), (12, "f")]);
    }
}
