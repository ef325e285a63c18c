//! Resolvers, which find the servers of a service: a file, or the caller's own.

use super::address::EndpointError;
use super::listed::Listed;
use nebula_nic::Span;
use std::path::{Path, PathBuf};

/// Finds the servers of a service, repeatedly. A separate thread calls it, so it may block.
///
/// # Examples
///
/// ```
/// use nebula::{Endpoints, Resolve, ResolveError, Resolved, Span};
///
/// /// What a file of the operator's own form says.
/// struct Ours;
///
/// impl Resolve for Ours {
///     fn resolve(&mut self) -> Result<Resolved, ResolveError> {
///         let endpoints = vec!["udp://127.0.0.1:7400?weight=3".parse()?, "udp://127.0.0.1:7401".parse()?];
///         Ok(Resolved { endpoints, valid_for: Span::from_secs(5) })
///     }
/// }
///
/// let endpoints = Endpoints::from(Ours);
/// # let _ = endpoints;
/// # Ok::<(), nebula::EndpointError>(())
/// ```
pub trait Resolve: Send + 'static {
    /// The servers now.
    ///
    /// # Errors
    ///
    /// [`ResolveError`]. A client keeps the servers that it has, and asks again a second later.
    fn resolve(&mut self) -> Result<Resolved, ResolveError>;
}

/// The result of a [`Resolve`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The servers, with their weights and zones.
    pub endpoints: Vec<Listed>,
    /// How long this is valid: then the client asks again. [`Span::MAX`] means forever.
    pub valid_for: Span,
}

/// Servers that could not be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The file cannot be read.
    #[error("cannot read the servers in {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        cause: std::io::Error,
    },
    /// A line of the file is no endpoint.
    #[error("{}, line {line}: {cause}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// Why.
        cause: EndpointError,
    },
    /// A server that was found has no valid endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// There are none.
    #[error("{name} names no server")]
    NoServers {
        /// Where they were looked for.
        name: String,
    },
    /// The name system gave no answer, or there is no such name.
    #[error("cannot look {name} up: {cause}")]
    Name {
        /// The name.
        name: String,
        /// Why.
        cause: String,
    },
}

const FILE_VALID_FOR: Span = Span::from_secs(1);

/// The endpoints in a file, one a line, each with an optional [weight and zone](Listed). Empty
/// lines and lines that begin with `#` are ignored. The file is read again each second.
#[derive(Clone, Debug)]
pub struct EndpointFile {
    path: PathBuf,
}

impl EndpointFile {
    /// The endpoints in the file at `path`.
    #[must_use]
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_owned() }
    }
}

impl Resolve for EndpointFile {
    fn resolve(&mut self) -> Result<Resolved, ResolveError> {
        let path = self.path.clone();
        let text = nebula_files::text(&path).map_err(|cause| ResolveError::File { path: path.clone(), cause })?;
        let lines = text.lines().map(str::trim).enumerate();
        let named = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let endpoints = named.map(|(at, line)| {
            line.parse().map_err(|cause| ResolveError::Line { path: path.clone(), line: at + 1, cause })
        });
        Ok(Resolved { endpoints: endpoints.collect::<Result<_, _>>()?, valid_for: FILE_VALID_FOR })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Result<Vec<Listed>, String> {
        let path = std::env::temp_dir().join(format!("nebula-endpoints-{}-{}", std::process::id(), text.len()));
        std::fs::write(&path, text).unwrap();
        let found = EndpointFile::new(&path).resolve();
        std::fs::remove_file(&path).unwrap();
        found.map(|resolved| resolved.endpoints).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_has_an_endpoint_a_line() {
        let endpoints = found("# ours\n\n shm://a?zone=b \nudp://[::1]:7400").unwrap();
        assert_eq!(endpoints, ["shm://a?zone=b".parse().unwrap(), "udp://[::1]:7400".parse().unwrap()]);
        let said = found("shm://a\ntcp://b\n").unwrap_err();
        assert!(said.contains("line 2: endpoint \"tcp://b\": expected") && !said.contains('\n'), "{said}");
        let said = EndpointFile::new("/nonexistent/servers").resolve().unwrap_err().to_string();
        assert!(said.starts_with("cannot read the servers in /nonexistent/servers:"), "{said}");
    }
}
