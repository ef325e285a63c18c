//! `cargo xtask book`: a preprocessor that mdBook runs for the pages of docs/ (see book.toml).
//!
//! The book has only pages of docs/ and pictures. So each link to another file of the repository is
//! made to lead to that file on the web.

use std::io::{Read, Write};

use serde_json::Value;

use crate::markdown;
use crate::shell::{Attempt, Failure};

const FILES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

/// What mdBook says to a preprocessor.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `supports RENDERER` asks whether the book can be made for a renderer; without it the book
    /// comes on standard input.
    #[arg(value_name = "supports RENDERER")]
    words: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.words.first().is_some_and(|word| word == "supports") {
        return Ok(());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).attempt("read the book from standard input")?;
    let input: Value = serde_json::from_str(&text).attempt("read the book: run `mdbook build`, which calls this")?;
    let Value::Array(parts) = input else { return Err(Failure::new("mdBook gives a list of a context and a book")) };
    let mut book = parts.into_iter().nth(1).ok_or_else(|| Failure::new("mdBook gave no book"))?;
    rewrite(&mut book);
    std::io::stdout().write_all(book.to_string().as_bytes()).attempt("write the book to standard output")
}

fn rewrite(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        Value::Object(fields) => {
            if let Some(Value::String(content)) = fields.get_mut("content") {
                *content = with_links_out(content);
            }
            fields.values_mut().for_each(rewrite);
        }
        _ => {}
    }
}

fn with_links_out(page: &str) -> String {
    let (mut out, mut done) = (String::with_capacity(page.len()), 0);
    for link in markdown::links(page) {
        let Some(path) = page[link.target.clone()].strip_prefix("../") else { continue };
        out.push_str(&page[done..link.target.start]);
        out.push_str(FILES);
        out.push_str(path);
        done = link.target.end;
    }
    out.push_str(&page[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str) -> String {
        ["[a](..", "/", path, ") and [b](B.md#c)"].concat()
    }

    #[test]
    fn links_out_of_the_book_lead_to_the_repository() {
        assert_eq!(with_links_out(&page("D.md#e")), format!("[a]({FILES}D.md#e) and [b](B.md#c)"));
        assert!(FILES.starts_with("https://"), "{FILES}");
    }

    #[test]
    fn every_chapter_is_rewritten_wherever_it_is() {
        let chapter = |path: &str| serde_json::json!({ "Chapter": { "content": page(path), "sub_items": [] } });
        let mut book = serde_json::json!({ "items": [chapter("A"), "Separator"] });
        book["items"][0]["Chapter"]["sub_items"] = serde_json::json!([chapter("B")]);
        rewrite(&mut book);
        let text = book.to_string();
        assert!(text.contains("blob/main/A") && text.contains("blob/main/B") && !text.contains("](.."), "{text}");
    }
}
