//! The code generated from `nebula/health.proto`.

#![expect(missing_docs, reason = "fields say what they are by their names")]

crate::include_proto!("nebula.health");
