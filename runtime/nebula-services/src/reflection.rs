//! What `nebula/reflection.proto` declares.

#![expect(missing_docs, reason = "fields say what they are by their names")]

nebula::include_proto!("nebula.reflection");
