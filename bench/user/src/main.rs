//! Measures what a user's own program gets: plain `--release`, every setting as it comes, a server
//! process and a client process that the scheduler places.
//!
//! `nebula-bench-user user` prints one JSON line per row, as `nebula-bench` does. The table is
//! printed by `cargo xtask bench user`.

#![forbid(unsafe_code)]

#[path = "../../src/bare.rs"]
mod bare;
mod build;
#[path = "../../src/child.rs"]
#[expect(dead_code, reason = "it has more for other benchmarks")]
mod child;
#[path = "../../src/measure.rs"]
mod measure;
#[path = "../../src/row.rs"]
mod row;
mod starts;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["user"] => {
            starts::run()?;
            build::run()
        }
        ["serve-echo", name] => starts::serve(name),
        ["serve-bare", rest @ ..] => bare::serve(rest),
        _ => Err("usage: nebula-bench-user user".into()),
    }
}
