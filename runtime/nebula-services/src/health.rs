//! What `nebula/health.proto` declares.

#![expect(missing_docs, reason = "fields say what they are by their names")]

nebula::include_proto!("nebula.health");
