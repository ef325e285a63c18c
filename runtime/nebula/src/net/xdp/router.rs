//! A router between two interfaces of this machine that bypasses the kernel's network stack.

use super::headers::ETHERNET_BYTES;
use super::hops::Hops;
use super::taking::take;
use crate::net::packets::{PacketDevice, Side, Unsent};
use nebula_sys::udp::wait_on;
use nebula_sys::xdp::{FRAME_BYTES_MAX, Frames, Interface, Picked};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

const TURNS_PER_LOOK: u32 = 64;

/// A router between two interfaces by AF_XDP. It takes IPv4 packets that other hosts send through
/// this machine before the kernel's network stack: in the driver where that is supported, otherwise
/// at the beginning of the stack. The kernel still gets everything else: packets for this machine
/// and other protocols, among them ARP, by which hosts find this one.
///
/// It needs root, or the capabilities `CAP_NET_ADMIN`, `CAP_NET_RAW` and `CAP_BPF`. Next hops come
/// from the kernel's tables of routes and neighbors, in the network namespace of the thread that
/// polls.
#[derive(Debug)]
pub struct XdpRouter {
    ends: [End; 2],
    ready: OwnedFd,
    turns: u32,
}

#[derive(Debug)]
struct End {
    name: String,
    interface: Interface,
    frames: Frames,
    hops: Hops,
}

impl XdpRouter {
    /// Takes the packets of the interfaces `inside` and `outside`, except those to each interface's
    /// first address. If `claimed`, the addresses that a function answers for, contains that
    /// address, it takes those too.
    ///
    /// # Errors
    ///
    /// The kernel's, with the interface's name: `NotFound` without such an interface,
    /// `AddrNotAvailable` without an IPv4 address, `PermissionDenied` without the right to take
    /// frames, `ResourceBusy` if another program is attached to it. `InvalidInput` if both are the
    /// same.
    pub fn open(inside: &str, outside: &str, claimed: &[Ipv4Addr]) -> io::Result<Self> {
        if inside == outside {
            let text = format!("packets go between two interfaces, not from {inside} to itself");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut ends = [End::open(inside, claimed)?, End::open(outside, claimed)?];
        let ready = epoll::create(CreateFlags::CLOEXEC)?;
        for (number, queue) in (0..).zip(ends.iter_mut().flat_map(|end| end.frames.queues())) {
            epoll::add(&ready, &*queue, EventData::new_u64(number), EventFlags::IN)?;
        }
        Ok(Self { ends, ready, turns: 0 })
    }

    fn look_up(&mut self) {
        let now = Instant::now();
        for End { hops, .. } in &mut self.ends {
            if hops.is_due(now) {
                hops.look_up(now);
            }
        }
    }
}

impl End {
    fn open(name: &str, claimed: &[Ipv4Addr]) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("interface {name}: {error}"));
        let interface = Interface::named(name).map_err(named)?;
        let but = Some(interface.ip).filter(|own| !claimed.contains(own));
        let frames = take(&interface, Picked::Packets { but }).map_err(named)?;
        tracing::info!(interface = name, place = ?frames.place(), "packets are taken past the kernel's network stack");
        let hops = Hops::of(name, interface.ip);
        Ok(Self { name: name.to_owned(), interface, frames, hops })
    }

    fn send(&mut self, frame: &mut [u8]) -> Result<(), Unsent> {
        let Some(&to) = frame.get(IP_TO_AT..).and_then(|rest| rest.first_chunk::<4>()) else {
            return Err(Unsent::NoNeighbor);
        };
        if frame.len() > FRAME_BYTES_MAX.min(ETHERNET_BYTES + self.interface.mtu_bytes) {
            return Err(Unsent::TooLong);
        }
        let mac = self.hops.mac(Ipv4Addr::from(to)).ok_or(Unsent::NoNeighbor)?;
        frame[..6].copy_from_slice(&mac);
        frame[6..12].copy_from_slice(&self.interface.mac);
        let mut is_queued = false;
        self.frames.queues()[0].queue(frame.len(), |room| {
            room.copy_from_slice(frame);
            is_queued = true;
        });
        if is_queued { Ok(()) } else { Err(Unsent::NoRoom) }
    }
}

/// The destination in the IPv4 header, behind that of Ethernet.
const IP_TO_AT: usize = ETHERNET_BYTES + 16;

impl PacketDevice for XdpRouter {
    fn sides(&self) -> [String; 2] {
        self.ends.each_ref().map(|end| end.name.clone())
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }

    #[inline]
    fn recv(&mut self, visit: &mut dyn FnMut(Side, &mut [u8])) -> usize {
        let mut frames = 0;
        for (side, end) in Side::ALL.into_iter().zip(&mut self.ends) {
            let mac = end.interface.mac;
            for queue in end.frames.queues() {
                queue.recv(&mut |frame| {
                    // A promiscuous interface also shows other hosts' frames.
                    if frame.starts_with(&mac) {
                        frames += 1;
                        visit(side, frame);
                    }
                });
            }
        }
        frames
    }

    #[inline]
    fn send(&mut self, side: Side, frame: &mut [u8]) -> Result<(), Unsent> {
        self.ends[side.index()].send(frame)
    }

    #[inline]
    fn flush(&mut self) {
        for end in &mut self.ends {
            end.frames.queues()[0].flush();
        }
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(TURNS_PER_LOOK) {
            self.look_up();
        }
    }

    fn lost(&self) -> u64 {
        self.ends.iter().map(|end| end.frames.lost()).sum()
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) -> io::Result<()> {
        self.look_up();
        wait_on(self.ready.as_fd(), timeout, Some(parker)).map(drop)
    }
}
