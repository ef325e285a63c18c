//! What tests of every area share. Nothing of Nebula is compiled for it: a test of the core cannot
//! reach the runtime through it.
//!
//! | module | what for |
//! |---|---|
//! | [`allocations`] | a global allocator that counts what each thread allocates |
//! | [`cases`] | cases of tests from text files |
//! | [`console`] | commands that a page of documentation shows |
//! | [`evidence`] | results that a program cannot write |
//! | [`pages`] | pages of HTML that load nothing |
//! | [`program`] | running a program as its users do, each run bounded in time |
//! | [`seeded`](mod@seeded) | property tests from fixed seeds |
//! | [`wait`] | the end of every wait: a test that hangs fails |
#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "`GlobalAlloc` is an unsafe trait")]
pub mod allocations;
pub mod cases;
pub mod console;
pub mod evidence;
pub mod pages;
pub mod program;
pub mod seeded;
pub mod wait;

pub use arbtest::arbitrary;
pub use seeded::seeded;
