//! The tests of this crate that need no separate process, as one program: compiled and linked once,
//! not once a file.
//!
//! `cargo test -p nebula-lab-cli --test all NAME::` runs those of one file. Cargo.toml lists the
//! programs beside it.

mod compare;
mod evidence;
mod pages;
#[expect(dead_code, reason = "the programs beside this one use it too")]
mod program;
mod simulate;
mod simulate_blocks;
mod sweep;
mod words;
