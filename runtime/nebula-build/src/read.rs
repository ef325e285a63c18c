//! Reads files for the generator: protobuf's rules by protox, then Nebula's own.

mod encodings;
mod schema;
mod services;
mod source;

pub(crate) use encodings::{Encodings, Fixed, kind};
pub(crate) use services::name_id;
pub(crate) use source::{OPTIONS, SCHEMA};

use crate::error::Error;
use crate::schema::Schema;
use protox::prost_reflect::{DescriptorPool, FileDescriptor};
use std::path::{Path, PathBuf};

/// A `.proto` with everything it imports.
pub(crate) struct Files {
    pub(crate) pool: DescriptorPool,
    /// For Cargo.
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) encodings: Encodings,
    pub(crate) schema: Schema,
}

impl Files {
    /// The files to generate code for: neither Google's nor Nebula's.
    pub(crate) fn own(&self) -> impl Iterator<Item = FileDescriptor> {
        own(&self.pool)
    }
}

fn own(pool: &DescriptorPool) -> impl Iterator<Item = FileDescriptor> {
    pool.files().filter(|file| !file.name().starts_with("google/protobuf/") && !file.name().starts_with("nebula/"))
}

/// Reads the file at `path`; imports are searched in its folder and in `includes`.
pub(crate) fn files(path: &Path, includes: &[PathBuf]) -> Result<Files, Error> {
    let source::Sources { pool, paths } = source::read(path, includes)?;
    let mut faults = Vec::new();
    let encodings = Encodings::of(own(&pool), &mut faults);
    let schema = schema::of(own(&pool), &encodings, &mut faults);
    if faults.is_empty() { Ok(Files { pool, paths, encodings, schema }) } else { Err(Error::Schema(faults)) }
}
