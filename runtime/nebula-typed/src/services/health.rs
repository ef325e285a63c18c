//! What `nebula/health.proto` declares.

#![expect(missing_docs, reason = "fields say what they are by their names")]

crate::include_proto!("nebula.health");
