//! Rust names of a `.proto`'s declarations, as prost makes them.

use heck::{ToSnakeCase, ToUpperCamelCase};

/// The path of `nebula-typed` in generated code.
pub(super) const TYPED: &str = "::nebula_typed";

pub(super) fn value(name: &str) -> String {
    let name = name.to_snake_case();
    // https://doc.rust-lang.org/reference/keywords.html
    match name.as_str() {
        "as" | "break" | "const" | "continue" | "else" | "enum" | "false" | "fn" | "for" | "if" | "impl" | "in"
        | "let" | "loop" | "match" | "mod" | "move" | "mut" | "pub" | "ref" | "return" | "static" | "struct"
        | "trait" | "true" | "type" | "unsafe" | "use" | "where" | "while" | "dyn" | "abstract" | "become" | "box"
        | "do" | "final" | "macro" | "override" | "priv" | "typeof" | "unsized" | "virtual" | "yield" | "async"
        | "await" | "try" | "gen" | "extern" => format!("r#{name}"),
        "self" | "super" | "crate" => format!("{name}_"),
        _ => name,
    }
}

pub(super) fn type_name(name: &str) -> String {
    name.to_upper_camel_case()
}

/// The path to the type `full` of the package `of`, from code of the package `from`.
pub(super) fn path(full: &str, of: &str, from: &str) -> String {
    if full == "google.protobuf.Empty" {
        return "()".into();
    }
    let within = full.strip_prefix(of).unwrap_or(full).trim_start_matches('.');
    if of == "google.protobuf" {
        return format!("::prost_types::{within}");
    }
    let (here, there) = (parts(from), parts(of));
    let common = here.iter().zip(&there).take_while(|(a, b)| a == b).count();
    let up = here[common..].iter().map(|_| "super".to_string());
    let down = there[common..].iter().map(|part| value(part));
    let mut outer: Vec<_> = within.split('.').collect();
    let name = outer.pop().map(type_name).unwrap_or_default();
    up.chain(down).chain(outer.iter().map(|part| value(part))).chain([name]).collect::<Vec<_>>().join("::")
}

fn parts(package: &str) -> Vec<&str> {
    package.split('.').filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_from_package_to_package() {
        assert_eq!(path("a.b.Message", "a.b", "a.b"), "Message");
        assert_eq!(path("a.c.Outer.inner_one", "a.c", "a.b"), "super::c::outer::InnerOne");
        assert_eq!(path("x.M", "x", "a.b"), "super::super::x::M");
        assert_eq!(path("M", "", "a"), "super::M");
        assert_eq!(path("google.protobuf.Empty", "google.protobuf", "a"), "()");
        assert_eq!(path("google.protobuf.Timestamp", "google.protobuf", "a"), "::prost_types::Timestamp");
    }

    #[test]
    fn keywords_become_raw() {
        assert_eq!(
            (value("type"), value("Self"), value("GetItem")),
            ("r#type".into(), "self_".into(), "get_item".into())
        );
    }
}
