//! Rust code: prost's for messages of protobuf's encoding, Nebula's for line messages and services.

mod comment;
mod fields;
mod line;
mod names;
mod proto;
mod service;

use crate::error::Error;
use crate::read::Files;
use protox::prost_reflect::FileDescriptor;
use std::collections::BTreeMap;

/// The code of each package, by the name of its file.
pub(crate) fn files(files: &Files) -> Result<BTreeMap<String, String>, Error> {
    let mut texts = proto::packages(files)?;
    for file in files.own() {
        let text = texts.entry(package_file(file.package_name())).or_default();
        append(text, &file, files);
    }
    Ok(texts)
}

fn package_file(package: &str) -> String {
    prost_build::Module::from_protobuf_package_name(package).to_file_name_or("_")
}

fn append(text: &mut String, file: &FileDescriptor, files: &Files) {
    for message in file.messages() {
        match files.encodings.ends(&message) {
            Some(ends) => line::append(text, &message, ends),
            None => proto::append(text, &message),
        }
    }
    line::append_enums(text, file);
    for service in file.services() {
        service::append(text, &service, files);
    }
}
