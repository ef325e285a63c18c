//! A network interface's number, addresses and queues.

use ::xdp::nic::NicIndex;
use std::ffi::CString;
use std::io;
use std::mem;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// A network interface that carries Ethernet frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its number in this network namespace.
    pub index: u32,
    /// Its Ethernet address.
    pub mac: [u8; 6],
    /// Its first IPv4 address.
    pub ip: Ipv4Addr,
    /// The longest IP packet, in bytes.
    pub mtu_bytes: usize,
    /// The number of its receive queues.
    pub queues: u32,
}

impl Interface {
    /// The interface with this name.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none, `InvalidInput` if it does not carry Ethernet,
    /// `AddrNotAvailable` if it has no IPv4 address.
    pub fn named(name: &str) -> io::Result<Self> {
        let index = CString::new(name).ok().and_then(|name| NicIndex::lookup_by_name(&name).ok().flatten());
        let index = index.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such network interface"))?;
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        let hardware = ask(&socket, name, libc::SIOCGIFHWADDR)?;
        if hardware.family() != libc::ARPHRD_ETHER {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the interface does not carry Ethernet frames"));
        }
        let [_, _, mac @ .., _, _, _, _, _, _, _, _] = hardware.0;
        let no_address = |_| io::Error::new(io::ErrorKind::AddrNotAvailable, "the interface has no IPv4 address");
        let address = ask(&socket, name, libc::SIOCGIFADDR).map_err(no_address)?;
        let [_, _, _, _, ip @ .., _, _, _, _, _, _, _, _] = address.0;
        let [a, b, c, d, ..] = ask(&socket, name, libc::SIOCGIFMTU)?.0;
        let mtu_bytes = usize::try_from(i32::from_ne_bytes([a, b, c, d])).unwrap_or(0);
        let queues = index.queue_counts().map_or(1, |queues| queues.rx_count().max(1));
        Ok(Self { index: index.0, mac, ip: Ipv4Addr::from(ip), mtu_bytes, queues })
    }
}

struct Answer([u8; 16]);

impl Answer {
    fn family(&self) -> u16 {
        u16::from_ne_bytes([self.0[0], self.0[1]])
    }
}

fn ask(socket: &UdpSocket, name: &str, request: libc::Ioctl) -> io::Result<Answer> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no such network interface"));
    }
    // SAFETY: all zero is a value of this structure: it is made of integers and pointers.
    let mut asked: libc::ifreq = unsafe { mem::zeroed() };
    for (place, &byte) in asked.ifr_name.iter_mut().zip(name.as_bytes()) {
        *place = byte.cast_signed();
    }
    // SAFETY: the kernel reads and writes an `ifreq`, for each of the requests that this file
    // makes.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut asked) };
    if rc < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the union behind the name has at least 16 bytes, and all of them are initialized:
    // zero or the kernel's.
    Ok(Answer(unsafe { mem::transmute_copy::<libc::__c_anonymous_ifr_ifru, [u8; 16]>(&asked.ifr_ifru) }))
}
