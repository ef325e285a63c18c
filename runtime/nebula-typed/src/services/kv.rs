//! The code generated from `nebula/kv.proto`.

#![expect(missing_docs, reason = "fields say what they are by their names")]

crate::include_proto!("nebula.kv");
