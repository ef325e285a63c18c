//! Benchmarks: Nebula compared with alternatives in one run; the result is the ratio.
//!
//! `nebula-bench SECTION` measures and prints one JSON line per row; `cargo xtask bench` runs the
//! sections and prints the table. Servers are child processes of this program, pinned to another
//! core.

#![forbid(unsafe_code)]

mod awaited;
mod bare;
mod child;
mod choices;
mod clients;
mod defaults;
mod domains;
mod echo;
mod hit_ratio;
mod hosts;
mod kv;
#[cfg(feature = "lab")]
mod lab;
mod measure;
mod memcached;
mod memory;
mod nf;
mod one_sided;
mod peers;
mod pool;
#[cfg(feature = "replication")]
mod replication;
mod row;
#[cfg(feature = "lab")]
mod scaling;
mod trust;
#[cfg(feature = "typed")]
mod typed;
mod udp;
mod watchdog;
mod ways;
mod xdp;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["echo"] => echo::run(),
        ["kv", program] => kv::run(program),
        ["defaults", program] => defaults::run(program),
        ["defaults-example", setting] => defaults::run_example(setting),
        ["defaults-server", name, setting] => defaults::run_server(name, setting),
        ["hit-ratio"] => hit_ratio::run(),
        ["memcached", program] => memcached::run(program),
        ["memcached", program, "overload"] => memcached::run_overload(program),
        ["serve-lines", address] => memcached::serve_lines(address),
        #[cfg(feature = "lab")]
        ["lab"] => lab::run(None),
        #[cfg(feature = "lab")]
        ["lab", python] => lab::run(Some(python)),
        ["peers"] => peers::run(),
        #[cfg(feature = "replication")]
        ["replication", program] => replication::run(program),
        ["memory"] => memory::run(),
        ["nf", program] => nf::run(program),
        ["one-sided"] => one_sided::run(),
        ["serve-one-sided", endpoint] => one_sided::serve(endpoint),
        ["udp"] => udp::run(),
        ["xdp"] => xdp::run(),
        ["xdp", way] => xdp::run_only(way),
        ["udp", way] => udp::run_only(way),
        ["serve-bare", rest @ ..] => bare::serve(rest),
        ["serve-echo", name, bytes] => echo::serve(name, bytes),
        ["serve-peer", rest @ ..] => peers::serve(rest),
        ["serve-memory", name] => memory::serve(name),
        ["serve-udp", rest @ ..] => udp::serve(rest),
        #[cfg(feature = "typed")]
        ["typed"] => typed::run(),
        #[cfg(feature = "typed")]
        ["serve-typed", name, how] => typed::serve(name, how),
        ["awaited"] => awaited::run(),
        ["serve-awaited", name] => awaited::serve_idle(name),
        ["choices"] => choices::run(),
        ["clients"] => clients::run(),
        ["serve-clients", name] => clients::serve(name),
        ["pool"] => pool::run(),
        ["domains"] => domains::run(),
        ["serve-domains", name] => domains::serve(name),
        #[cfg(feature = "lab")]
        ["scaling"] => scaling::run(),
        ["trust", rest @ ..] => trust::run(rest),
        ["serve-trust", core, address] => trust::serve(core, address),
        ["serve-trust-slow", endpoint] => trust::processes::serve(endpoint),
        ["load-trust", endpoint, rps, slots] => trust::processes::load(endpoint, rps, slots),
        ["count-echo", bytes, rpcs, batch] => echo::count(bytes.parse()?, rpcs.parse()?, batch.parse()?),
        _ => Err("usage: nebula-bench echo | kv PATH_OF_NEBULA | defaults PATH_OF_NEBULA | hit-ratio | memcached PATH_OF_NEBULA [overload] | lab [PYTHON_WITH_SIMPY] | peers | replication PATH_OF_NEBULA | memory | nf PATH_OF_NEBULA | one-sided | udp [echo | loss | overload | crowd | WAY] | scaling | awaited | choices | clients | pool | typed | xdp [WAY] | domains | trust [whole | half CLIENTS TIMES | processes | soak SECONDS TIMES]"
            .into()),
    }
}
