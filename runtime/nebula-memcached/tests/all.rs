//! The tests of this crate, as one program.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails here")]

mod stream;
