//! Files and their imports, by protox.

use crate::error::Error;
use crate::schema::{OPTIONS_PROTO, SCHEMA_PROTO};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver};
use protox::prost_reflect::DescriptorPool;
use std::path::{Path, PathBuf};

pub(super) struct Sources {
    pub(super) pool: DescriptorPool,
    pub(super) paths: Vec<PathBuf>,
}

/// Finds a file of Nebula's: its name as imported, and its text.
pub(crate) struct Embedded(&'static str, &'static str);

pub(crate) const OPTIONS: Embedded = Embedded("nebula/options.proto", OPTIONS_PROTO);
pub(crate) const SCHEMA: Embedded = Embedded("nebula/schema.proto", SCHEMA_PROTO);

impl FileResolver for Embedded {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == self.0 { File::from_source(name, self.1) } else { Err(protox::Error::file_not_found(name)) }
    }
}

pub(super) fn read(path: &Path, includes: &[PathBuf]) -> Result<Sources, Error> {
    let mut resolver = ChainFileResolver::new();
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    resolver.add(IncludeFileResolver::new(beside.into()));
    for folder in includes {
        resolver.add(IncludeFileResolver::new(folder.clone()));
    }
    resolver.add(OPTIONS);
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).include_source_info(true).open_file(path)?;
    let paths = compiler.files().filter_map(|file| file.path().map(Path::to_path_buf)).collect();
    Ok(Sources { pool: compiler.descriptor_pool(), paths })
}
