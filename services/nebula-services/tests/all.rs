//! The programs of this package from end to end.

#![expect(clippy::unwrap_used, reason = "what cannot go on fails the test")]

mod network_functions;
