//! Comparisons as Markdown: the counts of docs/REPRODUCTION.md, published values and ours, and the
//! reasons for differences.

use nebula_lab::reproduce::{Comparison, Counted};

pub(super) fn tables(comparisons: &[Comparison]) -> String {
    let (published, notes): (Vec<&Comparison>, Vec<&Comparison>) =
        comparisons.iter().partition(|comparison| comparison.published.is_some());
    let mut text =
        format!("{} A claim that the paper makes twice is counted once.\n\n", Counted::of(comparisons.iter()));
    text.push_str(&by_paper(&published));
    text.push_str(
        "\n| claim | source | paper | ours | verdict | nothing fitted | made by |\n|---|---|---:|---:|---|---|---|\n",
    );
    text.extend(published.iter().map(|one| claim(one)));
    text.push_str("\nWhy, and what else the runs show:\n\n");
    text.extend(published.iter().filter_map(|one| Some(format!("- `{}`: {}.\n", one.id, one.why.as_deref()?))));
    if !notes.is_empty() {
        text.push_str("\nVariants of the set-ups, beside which nothing is published:\n\n| what | ours | unit | id |\n|---|---:|---|---|\n");
        text.extend(notes.iter().map(|one| note(one)));
    }
    text
}

fn by_paper(published: &[&Comparison]) -> String {
    let mut papers: Vec<&str> = Vec::new();
    for one in published {
        if !papers.contains(&paper(one)) {
            papers.push(paper(one));
        }
    }
    let mut text = String::from(
        "| paper | reproduced | differ | not reproducible as published | fitted | cited |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for name in papers {
        let of_paper = published.iter().copied().filter(|one| paper(one) == name);
        let counts = Counted::of(of_paper).by_verdict().map(|count| count.to_string());
        text.push_str(&format!("| {name} | {} |\n", counts.join(" | ")));
    }
    text
}

/// The paper's name and year, at the beginning of a source.
fn paper(one: &Comparison) -> &str {
    let source = one.source.as_deref().unwrap_or_default();
    source.split_once("), ").map_or(source, |(name, _)| &source[..=name.len()])
}

fn claim(one: &Comparison) -> String {
    let source = one.source.as_deref().unwrap_or_default();
    let origin = one.origin.as_deref().unwrap_or_default();
    let paper = one.claim().unwrap_or_default();
    format!(
        "| {} | {source} ({origin}) | {paper} {} | {} | {} | {} | `nebula reproduce {}` |\n",
        one.what,
        one.unit,
        ours(one),
        verdict(one),
        one.with_nothing_fitted(),
        entry(&one.id)
    )
}

/// For a claim that is made twice, with the place where it is counted.
fn verdict(one: &Comparison) -> String {
    let counted = one.same_as.as_ref().map_or(String::new(), |id| format!(" (counted as `{id}`)"));
    format!("{}{counted}", one.verdict)
}

fn note(one: &Comparison) -> String {
    format!("| {} | {} | {} | `{}` |\n", one.what, ours(one), one.unit, one.id)
}

fn ours(one: &Comparison) -> String {
    format!("{} {}", one.value(), one.ends())
}

/// The first two words of an id.
fn entry(id: &str) -> &str {
    id.match_indices('/').nth(1).map_or(id, |(end, _)| &id[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_a_line_with_the_command_that_makes_it() {
        let row = r#"{"id":"a/b/c","what":"w","published":2.0,"reproduced":1.5,"interval":[1.25,1.75],"unit":"u","ratio":0.75,"verdict":"differs","why":"so","relation":"at-most","tolerance":0.1,"origin":"paper","source":"P (Q 2020), §1"}"#;
        let text = tables(&nebula_lab::reproduce::parse(row).unwrap());
        assert!(text.contains("\n| P (Q 2020) | 0 | 1 | 0 | 0 | 0 |\n"), "{text}");
        let line =
            "| w | P (Q 2020), §1 (paper) | ≤ 2 u | 1.5000 [1.2500, 1.7500] | differs | – | `nebula reproduce a/b` |";
        assert!(text.lines().any(|found| found == line) && text.contains("- `a/b/c`: so.\n"), "{text}");
        assert!(!text.contains("Variants"));
    }
}
