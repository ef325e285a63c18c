//! The default settings compared with the best ones, on 1, 2 and 4 cores, as far as available.
//!
//! Measured are README's example in one process and in two, and `serve kv` under `load kv` over
//! every transport, at a tenth of one core's capacity. As for a user, both sides share the cores
//! without pinning.

use crate::Failure;
use crate::child::{self, Server};
use crate::measure::{Pipe, median, round_trip, throughput};
use crate::row::{Bound, against, plain};
use nebula::{CallError, Client, IdlePolicy, Reply, RunningServer, ServerConfig};
use nebula_sys::affinity::allowed_cores;
use nebula_sys::clock::Clock;
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use std::process::Command;

const CORES: [usize; 3] = [1, 2, 4];
const ROUNDS: usize = 5;
/// The default's p50 over that of the best setting.
const WITHIN: Bound = Bound::AtMost(1.5);
/// Of README's example in a round: the calls, and their time limit in picoseconds.
const CALLS: usize = 100_000;
const ROUND_PS: u64 = 200_000_000_000;

const SETTINGS: [&str; 4] = ["inline", "engine", "inline-spin", "engine-spin"];
/// The settings as flags of `nebula serve kv`, and those that block.
const FLAGS: [&[&str]; 4] =
    [&["--inline"], &["--engine-thread"], &["--inline", "--spin"], &["--engine-thread", "--spin"]];
const BLOCKS: &[&str] = &["--inline", "--block"];

/// Transports of `serve kv`, and the load over each: about a tenth of one core's capacity.
const LOADS: [(&str, &str); 3] = [("shm", "100k"), ("udp", "50k"), ("tcp", "50k")];

/// On a single core, a spinning server would take it from its client.
fn settings(cores: usize) -> impl Iterator<Item = &'static str> {
    SETTINGS.into_iter().filter(move |setting| cores > 1 || !setting.ends_with("-spin"))
}

fn config(setting: &str) -> ServerConfig {
    let config = ServerConfig::default();
    let config = if setting.ends_with("-spin") { config.idle(IdlePolicy::Spin) } else { config };
    match setting {
        "default" => config,
        setting => config.inline(setting.starts_with("inline")),
    }
}

fn serve(name: &str, setting: &str) -> Result<RunningServer, Failure> {
    let server = nebula::Server::bind(name).config(config(setting));
    Ok(server.serve(|request: &[u8], reply: &mut Reply| reply.write(request))?)
}

pub fn run(program: &str) -> Result<(), Failure> {
    let allowed = allowed_cores();
    for cores in CORES.into_iter().filter(|&cores| cores <= allowed.len()) {
        // Children inherit it.
        use_cores(&allowed[..cores])?;
        on(program, cores)?;
    }
    Ok(())
}

fn use_cores(cores: &[usize]) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|&core| set.set(core));
    Ok(sched_setaffinity(None, &set)?)
}

fn on(program: &str, cores: usize) -> Result<(), Failure> {
    let on = format!("on {cores} core{}", if cores == 1 { "" } else { "s" });
    let times = Compared::of(cores, example)?;
    times.print(&format!("README's example {on}, round trip p50"), "ns", Some(WITHIN));
    let (times, rates, nacked) = two_processes(cores)?;
    times.print(&format!("two processes {on}, round trip p50"), "ns", Some(WITHIN));
    rates.print(&format!("two processes {on}, 64 outstanding"), "M RPC/s", None);
    plain(&format!("two processes {on}, 64 outstanding, NACKed"), nacked * 100.0, "%");
    for (transport, rate) in LOADS {
        kv(program, transport, rate, cores, &on)?;
    }
    Ok(())
}

struct Compared {
    default: f64,
    best: (String, f64),
}

impl Compared {
    fn of(cores: usize, measure: impl Fn(&str) -> Result<f64, Failure>) -> Result<Self, Failure> {
        let of = |setting: &str| -> Result<f64, Failure> {
            Ok(median((0..ROUNDS).map(|_| measure(setting)).collect::<Result<_, _>>()?))
        };
        let set = settings(cores).map(|setting| Ok((setting.to_owned(), of(setting)?)));
        Self::among(of("default")?, set.collect::<Result<_, Failure>>()?)
    }

    fn among(default: f64, set: Vec<(String, f64)>) -> Result<Self, Failure> {
        let best = set.into_iter().min_by(|one, other| one.1.total_cmp(&other.1)).ok_or("no setting was measured")?;
        Ok(Self { default, best })
    }

    fn print(&self, what: &str, unit: &str, bound: Option<Bound>) {
        let best = format!("the best setting, {}", self.best.0);
        against(what, self.default, unit, (&best, self.best.1), bound);
    }
}

/// The median call of README's example with a setting, in a separate process, in nanoseconds.
fn example(setting: &str) -> Result<f64, Failure> {
    let out = Command::new(std::env::current_exe()?).args(["defaults-example", setting]).output()?;
    Ok(String::from_utf8(out.stdout)?.trim().parse()?)
}

/// README's example: a server and its client in one process. Prints the median call.
pub fn run_example(setting: &str) -> Result<(), Failure> {
    let name = format!("shm://bench-hello-{}", std::process::id());
    let server = serve(&name, setting)?;
    let mut client = Client::connect(&name)?;
    let (clock, mut times) = (Clock::new(), Vec::with_capacity(CALLS));
    let began = clock.now_ps();
    while times.len() < CALLS && clock.now_ps() - began < ROUND_PS {
        let sent = clock.ticks();
        if client.call(b"hello")? != b"hello" {
            return Err("the echo failed".into());
        }
        times.push(clock.ps(clock.ticks() - sent) as f64 / 1000.0);
    }
    server.stop();
    println!("{}", median(times));
    Ok(())
}

pub fn run_server(name: &str, setting: &str) -> Result<(), Failure> {
    let server = serve(name, setting)?;
    child::ready()?;
    Ok(server.join()?)
}

struct Hello {
    client: Client,
    ended: u64,
    nacked: u64,
    _server: Server,
}

impl Hello {
    fn start(setting: &str) -> Result<Self, Failure> {
        let name = format!("shm://bench-two-{}", std::process::id());
        let server = Server::start(&["defaults-server", &name, setting])?;
        Ok(Self { client: Client::connect(&name)?, ended: 0, nacked: 0, _server: server })
    }
}

impl Pipe for Hello {
    fn send(&mut self, _: u64) -> bool {
        self.client.submit(b"hello").is_ok()
    }

    fn take(&mut self) -> u64 {
        let mut taken = 0;
        while let Some(done) = self.client.poll() {
            match done.result {
                Ok(reply) => assert!(reply == b"hello", "the echo failed"),
                Err(refused) => {
                    assert!(matches!(refused, CallError::Nack { .. }), "{refused}");
                    self.nacked += 1;
                }
            }
            self.ended += 1;
            taken += 1;
        }
        taken
    }
}

/// Round trips; RPCs per second with 64 outstanding, of which the most is the best; and the share
/// of the default's that was NACKed.
fn two_processes(cores: usize) -> Result<(Compared, Compared, f64), Failure> {
    let of = |setting: &str| -> Result<(f64, f64, f64), Failure> {
        let (mut times, mut rates, mut nacked) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut hello = Hello::start(setting)?;
            times.push(round_trip(&mut hello).0);
            rates.push(throughput(&mut hello, 64));
            nacked.push(hello.nacked as f64 / hello.ended as f64);
        }
        Ok((median(times), median(rates), median(nacked)))
    };
    let default = of("default")?;
    let set: Vec<_> = settings(cores).map(|setting| Ok((setting, of(setting)?))).collect::<Result<_, Failure>>()?;
    let times = set.iter().map(|(setting, (time, ..))| ((*setting).to_owned(), *time)).collect();
    let fastest = set.iter().max_by(|one, other| one.1.1.total_cmp(&other.1.1)).ok_or("no setting was measured")?;
    let rates = Compared { default: default.1, best: (fastest.0.to_owned(), fastest.1.1) };
    Ok((Compared::among(default.0, times)?, rates, default.2))
}

struct Loaded {
    p50_ns: f64,
    nacked: f64,
    client_full: f64,
}

fn kv(program: &str, transport: &str, rate: &str, cores: usize, on: &str) -> Result<(), Failure> {
    let blocks = (transport != "shm").then_some(BLOCKS);
    let default = load(program, transport, rate, &[])?;
    // On a single core, a spinning server would take it from its client.
    let set = FLAGS.into_iter().filter(|flags| cores > 1 || !flags.contains(&"--spin")).chain(blocks);
    let set = set.map(|flags| Ok((flags.join(" "), load(program, transport, rate, flags)?.p50_ns)));
    let times = Compared::among(default.p50_ns, set.collect::<Result<_, Failure>>()?)?;
    let what = format!("serve kv, load kv over {transport} at {rate}/s {on}");
    times.print(&format!("{what}, p50"), "ns", Some(WITHIN));
    plain(&format!("{what}, NACKed"), default.nacked * 100.0, "%");
    plain(&format!("{what}, client full"), default.client_full * 100.0, "%");
    Ok(())
}

/// The median by p50 of three loads of `nebula load kv`, with README's words.
fn load(program: &str, transport: &str, rate: &str, flags: &[&str]) -> Result<Loaded, Failure> {
    let mut loads = (0..3).map(|_| load_once(program, transport, rate, flags)).collect::<Result<Vec<_>, _>>()?;
    loads.sort_by(|one, other| one.p50_ns.total_cmp(&other.p50_ns));
    Ok(loads.swap_remove(1))
}

fn load_once(program: &str, transport: &str, rate: &str, flags: &[&str]) -> Result<Loaded, Failure> {
    let endpoint = match transport {
        "shm" => format!("shm://bench-defaults-{}", std::process::id()),
        transport => format!("{transport}://{}", child::unused_address()?),
    };
    let serve = ["serve", "kv", "--endpoint", &endpoint, "--items", "100k", "--log", "off", "--end-with-parent"];
    // An engine and its worker are more threads than one core.
    let _server = Server::start_program(program, &[&serve[..], &["--oversubscribe"], flags].concat())?;
    let words = ["load", "kv", "--endpoint", &endpoint, "--preload", "--keys", "100k", "--rate", rate];
    let out = Command::new(program).args(words).args(["--duration", "1s", "--format", "json"]).output()?;
    let told: Value = serde_json::from_slice(&out.stdout)?;
    let row = told.get(0).unwrap_or(&told);
    let number = |of: &Value| of.as_f64().unwrap_or(f64::INFINITY);
    let share = |count: &Value| number(count) / number(&row["offered"]);
    Ok(Loaded {
        p50_ns: number(&row["latency_ns"]["p50"]),
        nacked: share(&row["nacked"]),
        client_full: share(&row["refused_by_client"]),
    })
}
