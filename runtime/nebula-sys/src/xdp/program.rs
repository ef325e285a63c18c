//! The program that the kernel runs for each frame of an interface, and its attachment.

use super::interface::Interface;
use super::queue::{FRAME_BYTES_MAX, Queue};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::mem::size_of_val;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// The frames to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// Complete UDP datagrams over IPv4 to this address, without IP options.
    Datagrams {
        /// Their destination.
        to: SocketAddrV4,
        /// The longest datagram that a peer sends. A longer one is several that the kernel of a
        /// sender on this machine has left joined.
        bytes_max: usize,
    },
    /// IPv4 packets that this machine forwards: those in unicast frames, except to `but`.
    Packets {
        /// The address whose packets go to the kernel; if `None`, all are taken.
        but: Option<Ipv4Addr>,
    },
}

/// Where the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the interface's driver, before the kernel processes the frames.
    Driver,
    /// At the beginning of the network stack, on every interface.
    Stack,
}

/// The program, attached as long as this lives.
#[derive(Debug)]
pub(super) struct Attached {
    _link: OwnedFd,
    _queues: OwnedFd,
    too_long: Count,
    place: Place,
}

impl Attached {
    pub(super) fn new(interface: &Interface, picked: Picked, queues: &[Queue]) -> io::Result<Self> {
        let map = create_map(interface.queues)?;
        for (number, queue) in (0_u32..).zip(queues) {
            put(&map, number, queue.as_fd().as_raw_fd())?;
        }
        let too_long = Count::new()?;
        let program = load(&steps(picked, map.as_raw_fd(), too_long.map.as_raw_fd()))?;
        let (link, place) = attach(&program, interface.index, picked.places())?;
        Ok(Self { _link: link, _queues: map, too_long, place })
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Picked frames left to the kernel's stack because they are too long.
    pub(super) fn too_long(&self) -> u64 {
        self.too_long.read()
    }
}

/// A `struct bpf_insn` of `linux/bpf.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    code: u8,
    /// The destination register in the low half, the source register in the high half.
    registers: u8,
    jump: i16,
    value: i32,
}

/// A jump to the end, where the frame takes its usual way.
const TO_PASS: i16 = i16::MAX;
/// A jump to the counter of frames that are too long.
const TO_COUNT: i16 = i16::MAX - 1;

const fn step(code: u8, registers: u8, jump: i16, value: i32) -> Step {
    Step { code, registers, jump, value }
}

// Codes of `linux/bpf.h` and `linux/bpf_common.h`.
const LOAD_WORD: u8 = 0x61;
const LOAD_HALF: u8 = 0x69;
const LOAD_BYTE: u8 = 0x71;
const LOAD_MAP: u8 = 0x18;
const MOVE: u8 = 0xbf;
const SET: u8 = 0xb7;
const ADD: u8 = 0x07;
const SUBTRACT: u8 = 0x1f;
const AND: u8 = 0x57;
const ADD_IN_MEMORY: u8 = 0xdb;
const JUMP_IF_LONGER: u8 = 0x25;
const JUMP_IF_ABOVE: u8 = 0x2d;
const JUMP_IF_OTHER: u8 = 0x56;
const JUMP_IF_SAME: u8 = 0x16;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const REDIRECT_MAP: i32 = 51;
const XDP_PASS: i32 = 2;
/// `BPF_PSEUDO_MAP_FD`, as the operand of `LOAD_MAP`.
const MAP_DESCRIPTOR: u8 = 1;
/// `BPF_PSEUDO_MAP_VALUE`: the address of the map's value.
const MAP_VALUE: u8 = 2;

const IP_HEADER_BYTES: i32 = 14 + 20;
const UDP_HEADER_BYTES: i32 = IP_HEADER_BYTES + 8;

/// Two bytes of a frame in the machine's byte order.
fn half(value: u16) -> i32 {
    i32::from(u16::from_ne_bytes(value.to_be_bytes()))
}

/// A load from the frame, a mask if there is one, and a jump to the frame's usual way.
fn test(load: u8, at: i16, mask: Option<i32>, (jump, with): (u8, i32)) -> impl Iterator<Item = Step> {
    let masked = mask.map(|mask| step(AND, 5, 0, mask));
    [Some(step(load, 0x25, at, 0)), masked, Some(step(jump, 5, TO_PASS, with))].into_iter().flatten()
}

impl Picked {
    /// The least length of a frame that the tests may read.
    fn header_bytes(self) -> i32 {
        match self {
            Self::Datagrams { .. } => UDP_HEADER_BYTES,
            Self::Packets { .. } => IP_HEADER_BYTES,
        }
    }

    /// The longest frame that is not left to the kernel.
    fn frame_bytes_max(self) -> usize {
        let headers = usize::try_from(UDP_HEADER_BYTES).expect("headers are short");
        match self {
            Self::Datagrams { bytes_max, .. } => FRAME_BYTES_MAX.min(headers + bytes_max),
            Self::Packets { .. } => FRAME_BYTES_MAX,
        }
    }

    fn places(self) -> &'static [Place] {
        match self {
            Self::Datagrams { .. } => &[Place::Stack],
            Self::Packets { .. } => &[Place::Driver, Place::Stack],
        }
    }

    fn tests(self) -> Vec<Step> {
        let expect = |value| (JUMP_IF_OTHER, value);
        let ipv4 = test(LOAD_HALF, 12, None, expect(half(0x0800)));
        match self {
            Self::Datagrams { to, .. } => ipv4
                .chain(test(LOAD_BYTE, 14, None, expect(0x45))) // without options
                .chain(test(LOAD_HALF, 20, Some(half(0x3fff)), expect(0))) // not a fragment
                .chain(test(LOAD_BYTE, 23, None, expect(libc::IPPROTO_UDP)))
                .chain(test(LOAD_WORD, 30, None, expect(word(*to.ip()))))
                .chain(test(LOAD_HALF, 36, None, expect(half(to.port()))))
                .collect(),
            Self::Packets { but } => ipv4
                .chain(test(LOAD_BYTE, 0, Some(1), expect(0))) // neither multicast nor broadcast
                .chain(but.into_iter().flat_map(|but| test(LOAD_WORD, 30, None, (JUMP_IF_SAME, word(but)))))
                .collect(),
        }
    }
}

/// An address in a frame in the machine's byte order.
fn word(ip: Ipv4Addr) -> i32 {
    i32::from_ne_bytes(ip.octets())
}

/// Sends a picked frame to its queue's socket. Other frames, and those of a queue without a socket,
/// go their usual way, and so do frames that are too long, which are counted: a sender on this
/// machine leaves cutting its data to a device.
fn steps(picked: Picked, map: i32, too_long: i32) -> Vec<Step> {
    let begin = [
        step(MOVE, 0x16, 0, 0),      // 6: the context
        step(LOAD_WORD, 0x12, 0, 0), // 2: where the frame begins
        step(LOAD_WORD, 0x13, 4, 0), // 3: where it ends
        step(MOVE, 0x24, 0, 0),
        step(ADD, 4, 0, picked.header_bytes()),
        step(JUMP_IF_ABOVE, 0x34, TO_PASS, 0),
    ];
    let longest = i32::try_from(picked.frame_bytes_max()).expect("a frame is short");
    let measure = [step(MOVE, 0x31, 0, 0), step(SUBTRACT, 0x21, 0, 0), step(JUMP_IF_LONGER, 1, TO_COUNT, longest)];
    let redirect = [
        step(LOAD_WORD, 0x62, 16, 0), // 2: the number of the queue
        step(LOAD_MAP, MAP_DESCRIPTOR << 4 | 1, 0, map),
        step(0, 0, 0, 0), // the upper half of a value that needs none
        step(SET, 3, 0, XDP_PASS),
        step(CALL, 0, 0, REDIRECT_MAP),
        step(EXIT, 0, 0, 0),
    ];
    let count = [
        step(LOAD_MAP, MAP_VALUE << 4 | 1, 0, too_long), // 1: where the count is
        step(0, 0, 0, 0),
        step(SET, 2, 0, 1),
        step(ADD_IN_MEMORY, 0x21, 0, 0),
    ];
    let pass = [step(SET, 0, 0, XDP_PASS), step(EXIT, 0, 0, 0)];
    let mut steps: Vec<Step> = begin.into_iter().chain(picked.tests()).chain(measure).chain(redirect).collect();
    let to_count = steps.len();
    steps.extend(count);
    let to_pass = steps.len();
    steps.extend(pass);
    for (at, step) in steps.iter_mut().enumerate() {
        let to = match step.jump {
            TO_COUNT => to_count,
            TO_PASS => to_pass,
            _ => continue,
        };
        step.jump = i16::try_from(to - at - 1).expect("a program has some thirty steps");
    }
    steps
}

/// The argument of `bpf(2)` in the layout of `union bpf_attr`: 32-bit words, zero if not given.
type Told = [u32; 32];

const MAP_CREATE: u32 = 0;
const MAP_UPDATE_ELEM: u32 = 2;
const PROG_LOAD: u32 = 5;
const LINK_CREATE: u32 = 28;
const OF_VALUES: u32 = 2;
const OF_SOCKETS: u32 = 17;
/// `BPF_F_MMAPABLE`
const TO_BE_MAPPED: u32 = 1 << 10;
const FOR_FRAMES: u32 = 6;
const AT_AN_INTERFACE: u32 = 37;
/// `XDP_FLAGS_SKB_MODE` and `XDP_FLAGS_DRV_MODE`.
const IN_THE_STACK: u32 = 1 << 1;
const IN_THE_DRIVER: u32 = 1 << 2;

/// Runs a command of `bpf(2)`; returns its result.
///
/// # Safety
///
/// The pointers in `told` are valid for the command, as long as the call.
unsafe fn bpf(command: u32, told: &Told) -> io::Result<libc::c_long> {
    // SAFETY: the kernel reads as many bytes as given, and follows pointers that the caller
    // guarantees.
    let rc = unsafe { libc::syscall(libc::SYS_bpf, command, told.as_ptr(), size_of_val(told)) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(rc) }
}

/// As [`bpf`], for a command that opens a descriptor.
///
/// # Safety
///
/// As [`bpf`]; the command returns a descriptor.
unsafe fn bpf_opens(command: u32, told: &Told) -> io::Result<OwnedFd> {
    // SAFETY: the caller's guarantee.
    let descriptor = unsafe { bpf(command, told) }?;
    let descriptor = i32::try_from(descriptor).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    // SAFETY: the kernel has just opened it for this process, and no other code knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn told<const N: usize>(words: [u32; N]) -> Told {
    let mut told = [0; 32];
    told[..N].copy_from_slice(&words);
    told
}

fn halves<T>(pointer: *const T) -> [u32; 2] {
    let address = (pointer.expose_provenance() as u64).to_ne_bytes();
    let [low, high] = [&address[..4], &address[4..]].map(|half| u32::from_ne_bytes(half.try_into().expect("four")));
    [low, high]
}

fn create_map(queues: u32) -> io::Result<OwnedFd> {
    // SAFETY: kind, bytes of a key and of a value, and entries; no pointers.
    unsafe { bpf_opens(MAP_CREATE, &told([OF_SOCKETS, 4, 4, queues])) }
}

#[derive(Debug)]
struct Count {
    map: OwnedFd,
    count: NonNull<AtomicU64>,
}

// SAFETY: the count is an atomic, in memory that is mapped as long as this lives.
unsafe impl Send for Count {}

const PAGE_BYTES: usize = 4096;

impl Count {
    fn new() -> io::Result<Self> {
        // SAFETY: kind, bytes of a key and of a value, entries and flags; no pointers.
        let map = unsafe { bpf_opens(MAP_CREATE, &told([OF_VALUES, 4, 8, 1, TO_BE_MAPPED])) }?;
        // SAFETY: a new mapping, wherever the kernel finds room.
        let memory = unsafe { mmap(ptr::null_mut(), PAGE_BYTES, ProtFlags::READ, MapFlags::SHARED, &map, 0) }?;
        let count = NonNull::new(memory.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { map, count })
    }

    fn read(&self) -> u64 {
        // SAFETY: a page is mapped there, which begins with the map's value; only the program's
        // atomic additions change it.
        unsafe { self.count.as_ref() }.load(Ordering::Relaxed)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and not borrowed any more.
        let _ = unsafe { munmap(self.count.as_ptr().cast(), PAGE_BYTES) };
    }
}

fn put(map: &OwnedFd, number: u32, socket: i32) -> io::Result<()> {
    let [key_low, key_high] = halves(&raw const number);
    let [value_low, value_high] = halves(&raw const socket);
    let told = told([map.as_raw_fd().cast_unsigned(), 0, key_low, key_high, value_low, value_high]);
    // SAFETY: key and value are four bytes each, as the map was created, and live on this stack.
    unsafe { bpf(MAP_UPDATE_ELEM, &told) }.map(drop)
}

fn load(steps: &[Step]) -> io::Result<OwnedFd> {
    let count = u32::try_from(steps.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let [steps_low, steps_high] = halves(steps.as_ptr());
    let [license_low, license_high] = halves(c"Dual MIT/GPL".as_ptr());
    let told = told([FOR_FRAMES, count, steps_low, steps_high, license_low, license_high]);
    // SAFETY: `count` steps, and a text that ends with a zero; the kernel reads both.
    unsafe { bpf_opens(PROG_LOAD, &told) }
}

fn attach(program: &OwnedFd, interface: u32, places: &[Place]) -> io::Result<(OwnedFd, Place)> {
    let mut result = Err(io::Error::from(io::ErrorKind::Unsupported));
    for &place in places {
        result = link(program, interface, place).map(|link| (link, place));
        // Another program is there, or this process may not: the next place would fail too.
        let is_final =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::PermissionDenied);
        if result.as_ref().map_or_else(is_final, |_| true) {
            break;
        }
    }
    result
}

fn link(program: &OwnedFd, interface: u32, place: Place) -> io::Result<OwnedFd> {
    let flags = match place {
        Place::Driver => IN_THE_DRIVER,
        Place::Stack => IN_THE_STACK,
    };
    let told = told([program.as_raw_fd().cast_unsigned(), interface, AT_AN_INTERFACE, flags]);
    // SAFETY: no pointers.
    unsafe { bpf_opens(LINK_CREATE, &told) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program for `frame`. `Ok` is the queue that the frame goes to; `Err`, that it
    /// passes, and whether it was counted.
    fn run(steps: &[Step], frame: &[u8], queue: u32) -> Result<u64, bool> {
        let (mut at, mut registers, mut is_counted) = (0_usize, [0_u64; 8], false);
        const FRAME: u64 = 1 << 32;
        loop {
            let Step { code, registers: named, jump, value } = steps[at];
            let (to, from) = (usize::from(named & 15), usize::from(named >> 4));
            let load = |bytes: usize| {
                let address = registers[from].wrapping_add_signed(jump.into());
                let Some(offset) = address.checked_sub(FRAME) else {
                    return match jump {
                        0 => FRAME,
                        4 => FRAME + frame.len() as u64,
                        _ => queue.into(),
                    };
                };
                let offset = usize::try_from(offset).unwrap();
                let mut word = [0; 8];
                word[..bytes].copy_from_slice(&frame[offset..offset + bytes]);
                u64::from_ne_bytes(word)
            };
            match code {
                LOAD_WORD => registers[to] = load(4),
                LOAD_HALF => registers[to] = load(2),
                LOAD_BYTE => registers[to] = load(1),
                MOVE => registers[to] = registers[from],
                SET => registers[to] = u64::from(value.cast_unsigned()),
                ADD => registers[to] += u64::from(value.cast_unsigned()),
                AND => registers[to] &= u64::from(value.cast_unsigned()),
                JUMP_IF_ABOVE if registers[to] > registers[from] => at += usize::try_from(jump).unwrap(),
                SUBTRACT => registers[to] -= registers[from],
                ADD_IN_MEMORY => is_counted = true,
                JUMP_IF_LONGER if registers[to] > u64::from(value.cast_unsigned()) => {
                    at += usize::try_from(jump).unwrap();
                }
                JUMP_IF_SAME if registers[to] == u64::from(value.cast_unsigned()) => {
                    at += usize::try_from(jump).unwrap();
                }
                JUMP_IF_OTHER if registers[to] != u64::from(value.cast_unsigned()) => {
                    at += usize::try_from(jump).unwrap();
                }
                JUMP_IF_ABOVE | JUMP_IF_LONGER | JUMP_IF_OTHER | JUMP_IF_SAME => {}
                LOAD_MAP => at += 1,
                CALL => return Ok(registers[2]),
                EXIT => return Err(is_counted),
                other => panic!("unknown code {other:#x}"),
            }
            at += 1;
        }
    }

    fn frame() -> Vec<u8> {
        let mut frame = vec![0_u8; 60];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[20] = 0x40; // "do not fragment" is no fragment
        frame[23] = 17;
        frame[30..34].copy_from_slice(&[10, 1, 2, 3]);
        frame[36..38].copy_from_slice(&7400_u16.to_be_bytes());
        frame
    }

    #[test]
    fn datagrams_of_the_port_alone_are_picked() {
        let picked = |bytes_max| Picked::Datagrams { to: "10.1.2.3:7400".parse().unwrap(), bytes_max };
        let steps = |bytes_max| super::steps(picked(bytes_max), 9, 10);
        for (bytes_max, frame_bytes_max) in [(18, 60), (1232, 1274), (9000, FRAME_BYTES_MAX)] {
            let mut long = frame();
            long.resize(frame_bytes_max, 0);
            assert_eq!(run(&steps(bytes_max), &long, 1), Ok(1));
            long.push(0);
            assert_eq!(run(&steps(bytes_max), &long, 1), Err(true));
        }
        let steps = steps(1232);
        assert_eq!(run(&steps, &frame(), 3), Ok(3));
        assert_eq!(run(&steps, &frame()[..42], 0), Ok(0));
        for cut in 0..42 {
            assert_eq!(run(&steps, &frame()[..cut], 0), Err(false), "{cut} bytes");
        }
        for (at, what) in [(12, 0x86), (14, 0x46), (20, 0x20), (21, 1), (23, 6), (30, 11), (33, 4), (36, 0), (37, 1)] {
            let mut other = frame();
            other[at] = what;
            assert_eq!(run(&steps, &other, 0), Err(false), "byte {at}");
        }
    }
    #[test]
    fn packets_are_picked_unless_this_machine_is_meant() {
        let own = "10.1.2.3".parse().unwrap();
        let but_own = steps(Picked::Packets { but: Some(own) }, 9, 10);
        assert_eq!(run(&but_own, &frame(), 0), Err(false), "to this machine");
        let mut other = frame();
        other[33] = 4;
        other[23] = 6;
        assert_eq!(run(&but_own, &other, 2), Ok(2));
        assert_eq!(run(&but_own, &other[..34], 2), Ok(2));
        assert_eq!(run(&but_own, &other[..33], 2), Err(false), "no whole header");
        assert_eq!(run(&steps(Picked::Packets { but: None }, 9, 10), &frame(), 1), Ok(1));
        for (at, what) in [(0, 1), (0, 0xff), (12, 0x86), (13, 6)] {
            let mut kernels = other.clone();
            kernels[at] = what;
            assert_eq!(run(&but_own, &kernels, 0), Err(false), "byte {at}");
        }
        other.resize(FRAME_BYTES_MAX + 1, 0);
        assert_eq!(run(&but_own, &other, 0), Err(true));
    }
}
