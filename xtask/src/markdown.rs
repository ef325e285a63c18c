//! What a page of Markdown links to, and what can be linked to in it.

use std::ops::Range;

/// A link: where its target stands in the text, and on which line, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) target: Range<usize>,
    pub(crate) line: usize,
}

/// The inline links and pictures of a page, those in code left out.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (begin, line, number) in prose(text) {
        let shown = without_code(line);
        for (at, _) in shown.match_indices("](") {
            let target = at + 2;
            let Some(end) = shown[target..].find([')', ' ']) else { continue };
            links.push(Link { target: begin + target..begin + target + end, line: number });
        }
    }
    links
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line, _) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let anchor = anchor_of(heading.trim());
            let again = anchors.iter().filter(|other| **other == anchor).count();
            anchors.push(if again == 0 { anchor } else { format!("{anchor}-{again}") });
        }
    }
    anchors
}

fn anchor_of(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The lines outside fenced code: the byte at which each begins, the line, its number.
fn prose(text: &str) -> Vec<(usize, &str, usize)> {
    let (mut begin, mut is_code, mut lines) = (0, false, Vec::new());
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let is_fence = line.trim_start().starts_with("```");
        if !is_fence && !is_code {
            lines.push((begin, line, number));
        }
        is_code ^= is_fence;
        begin += line.len();
    }
    lines
}

/// The line with each byte between two backquotes made a blank, so that all others stay where they are.
fn without_code(line: &str) -> String {
    if line.matches('`').count() % 2 == 1 {
        return line.to_owned();
    }
    let is_code = |index: usize| index % 2 == 1;
    let parts = line.split('`').enumerate();
    let shown = parts.map(|(index, part)| if is_code(index) { " ".repeat(part.len()) } else { part.to_owned() });
    shown.collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(&str, usize)> {
        links(text).into_iter().map(|link| (&text[link.target], link.line)).collect()
    }

    #[test]
    fn links_and_pictures_are_found_with_their_lines() {
        let text = "see [a](b.md#c) and [`d`](e.rs)\n![f](g.svg)\n";
        assert_eq!(targets(text), [("b.md#c", 1), ("e.rs", 1), ("g.svg", 2)]);
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
}
