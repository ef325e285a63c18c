//! The code that build.rs has made of flight.proto.

#![expect(unreachable_pub, reason = "a library has it public")]

nebula_typed::include_proto!("flight");
