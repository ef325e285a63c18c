//! Network functions between two hosts, compared with the kernel's forwarding; and policies under
//! skewed flows. The hosts are network namespaces with virtual cables (veth) to a third one between
//! them, which needs root and `ip`.
//!
//! Nothing is pinned: sender, receiver, engine and workers share the cores.

use crate::Failure;
use crate::child::Server;
use crate::hosts::{Hosts, enter, ip};
use crate::row::{self, Bound};
use nebula_workload::Seed;
use std::net::UdpSocket;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const CLIENT: &str = "nebula-bench-nf-c";
const MIDDLE: &str = "nebula-bench-nf-m";
const SERVER: &str = "nebula-bench-nf-s";
const TO: &str = "10.142.2.2:9000";

const ROUNDS: usize = 3;
const SECONDS: u64 = 2;
/// The packet rate at which a packet's time is measured.
const CALM: f64 = 10_000.0;
/// A packet's service, the workers and their load when policies are compared. The service is long
/// enough that differences exceed the pauses of a small machine.
const WORK: &str = "100us";
const WORKERS: f64 = 2.0;
const LOAD: f64 = 0.4;
const PER_SECOND: f64 = LOAD * WORKERS / 100e-6;
/// Flow `n` has a share proportional to `1 / n^SKEW`.
const FLOWS: usize = 64;
const SKEW: f64 = 1.2;

#[derive(Clone, Copy)]
struct Sample {
    per_second: f64,
    p99_us: f64,
    lost_percent: f64,
}

pub fn run(program: &str) -> Result<(), Failure> {
    let _hosts = hosts()?;
    forward(true)?;
    let [kernel, kernel_calm] = both()?;
    forward(false)?;
    let nf = serve(program, &["--chain", "counter", "--inline"])?;
    let [counter, counter_calm] = both()?;
    drop(nf);
    row::plain("kernel's forwarding, all that one sender sends", kernel.per_second / 1e3, "k packet/s");
    row::plain("kernel's forwarding, 10k packet/s: p99", kernel_calm.p99_us, "µs");
    let base = ("kernel's forwarding", kernel.per_second / 1e3);
    row::against(
        "nf, chain of a counter, all that one sender sends",
        counter.per_second / 1e3,
        "k packet/s",
        base,
        None,
    );
    row::plain("nf, the same: lost", counter.lost_percent, "%");
    let base = ("kernel's forwarding", kernel_calm.p99_us);
    row::against("nf, 10k packet/s: p99", counter_calm.p99_us, "µs", base, None);
    policies(program)
}

fn both() -> Result<[Sample; 2], Failure> {
    Ok([median(f64::INFINITY, 1)?, median(CALM, 1)?])
}

fn policies(program: &str) -> Result<(), Failure> {
    let measure = |policy: &str| -> Result<Sample, Failure> {
        let words = [
            "--chain",
            "counter",
            "--work",
            WORK,
            "--workers",
            "2",
            "--policy",
            policy,
            "--slo",
            "100ms",
            "--block",
            "--oversubscribe",
        ];
        let _nf = serve(program, &words)?;
        median(PER_SECOND, FLOWS)
    };
    let (rss, jbsq) = (measure("rss")?, measure("jbsq:2")?);
    row::plain("nf, 100 µs of work, flows zipf:1.2,64, rss: p99", rss.p99_us, "µs");
    let bound = Some(Bound::AtMost(1.0));
    row::against("nf, 100 µs of work, flows zipf:1.2,64, jbsq:2: p99", jbsq.p99_us, "µs", ("rss", rss.p99_us), bound);
    let predicted = |policy| p99_us(program, &queueing(policy));
    let (rss, jbsq) = (predicted("rss")?, predicted("jbsq:2")?);
    row::against("the laboratory, the same service and flows, jbsq:2: p99", jbsq, "µs", ("rss", rss), None);
    let predicted = |design| p99_us(program, &blocks(design));
    let (rss, nebula) = (predicted("rss")?, predicted("nebula")?);
    row::against("the laboratory, network-function on server64, nebula: p99", nebula, "µs", ("rss", rss), None);
    Ok(())
}

fn queueing(policy: &str) -> Vec<String> {
    let words = format!(
        "--policy {policy} --cores 2 --service fixed:{WORK} --flows zipf:{SKEW},{FLOWS} --load {LOAD} --rpcs 200k"
    );
    words.split(' ').map(str::to_owned).collect()
}

fn blocks(design: &str) -> Vec<String> {
    let words = format!(
        "--machine server64 --application network-function --design {design} --rate 5MRPS --rpcs 50k --replications 2"
    );
    words.split(' ').map(str::to_owned).collect()
}

fn p99_us(program: &str, words: &[String]) -> Result<f64, Failure> {
    let output = Command::new(program).arg("simulate").args(words).args(["--format", "json"]).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let row: serde_json::Value = serde_json::from_str(said.lines().next().ok_or("a simulation without a row")?)?;
    let p99 = row["latency_ns"]["p99"].as_f64().ok_or_else(|| format!("a row without a p99: {row}"))?;
    Ok(p99 / 1e3)
}

fn median(per_second: f64, flows: usize) -> Result<Sample, Failure> {
    // The first packets to a host are dropped until its address is resolved.
    send_and_receive(1000.0, flows, Duration::from_millis(200))?;
    let samples = (0..ROUNDS).map(|_| send_and_receive(per_second, flows, Duration::from_secs(SECONDS)));
    let samples = samples.collect::<Result<Vec<_>, _>>()?;
    let of = |figure: fn(&Sample) -> f64| {
        let mut figures: Vec<f64> = samples.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures[ROUNDS / 2]
    };
    Ok(Sample {
        per_second: of(|sample| sample.per_second),
        p99_us: of(|sample| sample.p99_us),
        lost_percent: of(|sample| sample.lost_percent),
    })
}

/// Sends packets of 64 B of payload at a mean rate, with exponential gaps, and receives them at the
/// other host.
fn send_and_receive(per_second: f64, flows: usize, time: Duration) -> Result<Sample, Failure> {
    let begun = Instant::now();
    let receiver = socket(SERVER, TO)?;
    receiver.set_read_timeout(Some(Duration::from_millis(200)))?;
    let receiving = thread::spawn(move || receive(&receiver, begun));
    let senders = (0..flows).map(|flow| {
        let sender = socket(CLIENT, &format!("10.142.1.2:{}", 20_000 + flow))?;
        sender.connect(TO)?;
        Ok(sender)
    });
    let senders = senders.collect::<Result<Vec<_>, Failure>>()?;
    let sent = send(&senders, per_second, begun, begun + time);
    let mut latencies = receiving.join().map_err(|_| "the receiver has panicked")?;
    latencies.sort_unstable();
    let p99 = latencies.get(latencies.len() * 99 / 100).copied().unwrap_or(u64::MAX);
    let received = latencies.len() as f64;
    Ok(Sample {
        per_second: received / time.as_secs_f64(),
        p99_us: p99 as f64 / 1e3,
        lost_percent: 100.0 - 100.0 * received / sent.max(1) as f64,
    })
}

fn send(senders: &[UdpSocket], per_second: f64, begun: Instant, end: Instant) -> u64 {
    let shares: Vec<f64> = (1..=senders.len()).map(|n| (n as f64).powf(-SKEW)).collect();
    let all: f64 = shares.iter().sum();
    let (mut draw, mut sent, mut due) = (Seed(1).stream("packets"), 0, Instant::now());
    while due < end && Instant::now() < end {
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            thread::sleep(early);
        }
        let mut left = draw.unit() * all;
        let flow = shares.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        let mut packet = [0; 64];
        packet[..8].copy_from_slice(&(begun.elapsed().as_nanos() as u64).to_le_bytes());
        sent += u64::from(senders[flow.unwrap_or(0)].send(&packet).is_ok());
        if per_second.is_finite() {
            due += Duration::from_secs_f64(draw.exponential() / per_second);
        }
    }
    sent
}

/// Receives until no packet comes for a while; returns the packets' times in nanoseconds.
fn receive(receiver: &UdpSocket, begun: Instant) -> Vec<u64> {
    let (mut latencies, mut packet) = (Vec::with_capacity(1 << 22), [0; 64]);
    // The sender begins a little later.
    let mut silent = 0;
    while silent < 2 {
        match receiver.recv(&mut packet) {
            Ok(64) => {
                let sent = u64::from_le_bytes(packet[..8].try_into().expect("eight bytes"));
                latencies.push((begun.elapsed().as_nanos() as u64).saturating_sub(sent));
                silent = 0;
            }
            Ok(_) => {}
            Err(_) => silent += 1,
        }
    }
    latencies
}

fn serve(program: &str, words: &[&str]) -> Result<Server, Failure> {
    let begin =
        ["netns", "exec", MIDDLE, program, "serve", "nf", "--between", "va,vb", "--log", "off", "--end-with-parent"];
    Server::start_program("ip", &[&begin, words].concat())
}

fn forward(is_on: bool) -> Result<(), Failure> {
    on(MIDDLE, move || Ok(std::fs::write("/proc/sys/net/ipv4/ip_forward", if is_on { "1" } else { "0" })?))
}

fn socket(host: &'static str, address: &str) -> Result<UdpSocket, Failure> {
    let address = address.to_owned();
    on(host, move || Ok(UdpSocket::bind(address)?))
}

fn on<T: Send + 'static>(
    host: &'static str,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let there = thread::spawn(move || -> Result<T, String> {
        enter(host).map_err(|error| error.to_string())?;
        work().map_err(|error| error.to_string())
    });
    Ok(there.join().map_err(|_| "a thread has panicked")??)
}

fn hosts() -> Result<Hosts, Failure> {
    let hosts = Hosts::add(&[CLIENT, MIDDLE, SERVER])?;
    for (host, side, net) in [(CLIENT, "va", 1), (SERVER, "vb", 2)] {
        ip(&format!("link add v0 netns {host} type veth peer name {side} netns {MIDDLE}"))?;
        ip(&format!("-n {host} address add 10.142.{net}.2/24 dev v0"))?;
        ip(&format!("-n {MIDDLE} address add 10.142.{net}.1/24 dev {side}"))?;
        ip(&format!("-n {host} link set v0 up"))?;
        ip(&format!("-n {MIDDLE} link set {side} up"))?;
        ip(&format!("-n {host} route add default via 10.142.{net}.1"))?;
    }
    Ok(hosts)
}
