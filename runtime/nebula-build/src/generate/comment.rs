//! Comments of a `.proto`, as documentation.

use protox::prost_reflect::FileDescriptor;

/// The comment before a declaration in the `.proto`.
pub(super) fn comment(file: &FileDescriptor, path: &[i32], indent: &str) -> String {
    let locations = file.file_descriptor_proto().source_code_info.iter().flat_map(|info| &info.location);
    let found = locations.into_iter().find(|location| location.path == path);
    let lines = found.and_then(|location| location.leading_comments.as_deref()).unwrap_or_default().lines();
    lines
        .map(|line| format!("{indent}///{}{}\n", if line.is_empty() || line.starts_with(' ') { "" } else { " " }, line))
        .collect()
}
