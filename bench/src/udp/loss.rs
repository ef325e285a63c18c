//! Goodput on a network that loses one datagram in a hundred each way, compared with the same
//! network without loss.
//!
//! The client's wire drops each datagram sent or received with that probability, by a seeded
//! generator, so every run loses the same positions in the sequence.

use super::echo::Echo;
use crate::Failure;
use crate::child;
use crate::measure::{median, throughput};
use crate::row::{Bound, against, plain};
use crate::watchdog::within;
use crate::ways::OUTSTANDING;
use nebula::net::{KernelWire, Route, Wire};
use nebula_workload::{Rng, Seed};
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// In each direction.
const LOSS: f64 = 0.01;
const ROUNDS: u64 = 5;
/// For one measurement, which takes a fifth of a second.
const LIMIT: Duration = Duration::from_secs(30);

pub fn run() -> Result<(), Failure> {
    child::pin_client()?;
    let (mut whole, mut lossy) = (Vec::new(), Vec::new());
    for seed in 0..ROUNDS {
        whole.push(within(LIMIT, "the network that loses nothing", || goodput(0.0, seed))?);
        lossy.push(within(LIMIT, "the network that loses", || goodput(LOSS, seed))?);
    }
    let (whole, lossy) = (median(whole), median(lossy));
    plain("64 B echo over UDP, 64 outstanding, nothing lost", whole, "M RPC/s");
    let baseline = ("nothing lost", whole);
    let what = "64 B echo over UDP, 64 outstanding, 1 % of datagrams lost each way";
    against(what, lossy, "M RPC/s", baseline, Some(Bound::AtLeast(0.9)));
    Ok(())
}

fn goodput(loss: f64, seed: u64) -> Result<f64, Failure> {
    let wire = |server| Ok(LossyWire { wire: KernelWire::connect(server)?, loss, rng: Seed(seed).stream("loss") });
    Ok(throughput(&mut Echo::start_over(wire)?, OUTSTANDING))
}

#[derive(Debug)]
struct LossyWire {
    wire: KernelWire,
    loss: f64,
    rng: Rng,
}

impl Wire for LossyWire {
    fn local(&self) -> SocketAddr {
        self.wire.local()
    }

    fn datagram_bytes_max(&self) -> usize {
        self.wire.datagram_bytes_max()
    }

    fn send(&mut self, to: Route, bytes: &[u8], segment: usize) -> io::Result<()> {
        let Self { wire, loss, rng } = self;
        let mut kept = bytes.chunks(segment).filter(|_| rng.unit() >= *loss);
        kept.try_for_each(|datagram| wire.send(to, datagram, datagram.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wire.flush()
    }

    fn recv(&mut self, visit: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
        let Self { wire, loss, rng } = self;
        wire.recv(&mut |from, datagram| {
            if rng.unit() >= *loss {
                visit(from, datagram);
            }
        })
    }

    fn wait(&mut self, timeout: Option<Duration>, bell: Option<BorrowedFd<'_>>) -> io::Result<()> {
        self.wire.wait(timeout, bell)
    }
}
