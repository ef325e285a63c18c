//! Raw access to a ring: the handshake and the slots as bytes, for a client that breaks the
//! protocol.
//!
//! The layout is written a second time on purpose: a change of the protocol without a new version
//! fails here.

use nebula_sys::shared::SharedMemory;
use nebula_sys::sync::{AtomicU64, Ordering};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, connect, recvmsg, send, socket_with,
};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

/// Marks of a slot, by writer.
pub(crate) const REQUEST: u64 = 1;
pub(crate) const REPLY: u64 = 2;
pub(crate) const NACK: u64 = 3;
/// A cancelled request.
pub(crate) const CANCELLED: u64 = 5;

pub(crate) fn dial(endpoint: &str) -> OwnedFd {
    let name = endpoint.strip_prefix("shm://").expect("an endpoint");
    let address = SocketAddrUnix::new_abstract_name(format!("nebula/1/{name}").as_bytes()).expect("short enough");
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).expect("a socket");
    connect(&socket, &address).expect("a server");
    socket
}

/// The version of handshake and slot layout.
pub(crate) const VERSION: u32 = 7;

pub(crate) fn hello(version: u32, slots: u32) -> [u8; 64] {
    let mut message = [0; 64];
    message[..8].copy_from_slice(b"NEBULA\0H");
    message[8..12].copy_from_slice(&version.to_le_bytes());
    message[12..16].copy_from_slice(&slots.to_le_bytes());
    message
}

pub(crate) fn sleepers_hello(slots: u32) -> [u8; 64] {
    let mut message = hello(VERSION, slots);
    message[16] = 1;
    message
}

pub(crate) fn ringers_hello(slots: u32) -> [u8; 64] {
    let mut message = hello(VERSION, slots);
    message[32] = 1;
    message
}

/// Words of a slot's head: two cache lines.
const HEAD_WORDS: usize = 16;

/// Sends `bytes`; false if the other side has hung up.
pub(crate) fn say(socket: &OwnedFd, bytes: &[u8]) -> bool {
    send(socket, bytes, SendFlags::NOSIGNAL).is_ok()
}

/// The server's answer, cut to what came, with its descriptors. Empty if the server hangs up.
pub(crate) fn hear(socket: &OwnedFd) -> (Vec<u8>, Vec<OwnedFd>) {
    let mut message = [0; 128];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut message)], &mut control, RecvFlags::CMSG_CLOEXEC);
    let bytes = got.map_or(0, |got| got.bytes);
    let mut fds = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            fds.extend(received);
        }
    }
    (message[..bytes].to_vec(), fds)
}

/// The code of a refusal; 0 for a welcome.
pub(crate) fn answer_code(message: &[u8]) -> u32 {
    word(message, 12)
}

fn word(message: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(message[at..at + 4].try_into().expect("four bytes"))
}

/// Whether the other side has hung up or sent something.
pub(crate) fn is_readable(socket: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::IN)];
    matches!(poll(&mut fds, Some(&Timespec::default())), Ok(ready) if ready > 0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) mark: u64,
    pub(crate) pkt_idx: u32,
    pub(crate) span: u32,
    pub(crate) rpc_bytes: u32,
    pub(crate) extra: u32,
}

impl Slot {
    /// A request of `rpc_bytes` bytes that spans `span` slots.
    pub(crate) const fn request(rpc_bytes: u32, span: u32) -> Self {
        Self { mark: REQUEST, pkt_idx: 0, span, rpc_bytes, extra: 0 }
    }
}

/// A ring to write into freely.
#[derive(Debug)]
pub(crate) struct RawRing {
    pub(crate) socket: OwnedFd,
    memory: SharedMemory,
    pub(crate) slots: u32,
    pub(crate) mtu_bytes: u32,
    /// The server's longest reply; 0 if unknown.
    pub(crate) reply_bytes_max: u32,
    /// The doorbells of all clients, and the number of this one's.
    doorbells: Option<(SharedMemory, u32)>,
}

impl RawRing {
    /// Connects properly and maps the granted ring.
    pub(crate) fn connect(endpoint: &str, slots: u32) -> Self {
        Self::connect_saying(endpoint, slots, &hello(VERSION, slots))
    }

    /// The same as a client that may sleep.
    pub(crate) fn connect_sleeper(endpoint: &str, slots: u32) -> Self {
        Self::connect_saying(endpoint, slots, &sleepers_hello(slots))
    }

    /// The same as a client that rings its doorbell.
    pub(crate) fn connect_ringer(endpoint: &str, slots: u32) -> Self {
        Self::connect_saying(endpoint, slots, &ringers_hello(slots))
    }

    fn connect_saying(endpoint: &str, slots: u32, hello: &[u8; 64]) -> Self {
        let socket = dial(endpoint);
        assert!(say(&socket, hello), "the server hung up");
        let (message, fds) = hear(&socket);
        let has_doorbell = hello[32] > 0;
        assert_eq!((message.len(), fds.len()), (64, 2 + usize::from(has_doorbell)), "{message:?}");
        assert_eq!((&message[..8], answer_code(&message)), (&b"NEBULA\0W"[..], 0));
        let (granted, mtu_bytes) = (word(&message, 20), word(&message, 24));
        assert_eq!(granted, slots);
        let mut fds = fds.into_iter();
        let memory = fds.next().expect("the ring");
        let memory = SharedMemory::open(memory, slots as usize * Self::stride(mtu_bytes) * 8 + 64).expect("sealed");
        let doorbells = fds.nth(1).map(|doorbells| {
            // A bit for each client, and one for each word of them.
            let words = word(&message, 56).div_ceil(64);
            let bytes = (words + words.div_ceil(64)) as usize * 8;
            let doorbells = SharedMemory::open(doorbells, bytes.next_multiple_of(64)).expect("sealed");
            (doorbells, word(&message, 16) & 0xFFFF)
        });
        Self { socket, memory, slots, mtu_bytes, reply_bytes_max: word(&message, 36), doorbells }
    }

    fn stride(mtu_bytes: u32) -> usize {
        (mtu_bytes as usize + 16) / 8
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.memory.words()
    }

    /// The words of the head of the slot at `position`: two of header, then up to 112 bytes of
    /// payload.
    pub(crate) fn head(&self, position: u32) -> &[AtomicU64] {
        let words = Self::stride(self.mtu_bytes).min(HEAD_WORDS);
        let at = (position % self.slots) as usize * words;
        &self.words()[at..at + words]
    }

    /// The words of the rest of the payload, behind the heads of all slots.
    pub(crate) fn tail(&self, position: u32) -> &[AtomicU64] {
        let words = Self::stride(self.mtu_bytes).saturating_sub(HEAD_WORDS);
        let at = self.slots as usize * HEAD_WORDS + (position % self.slots) as usize * words;
        if words == 0 { &[] } else { &self.words()[at..at + words] }
    }

    /// The word behind the ring that says whether the client sleeps.
    pub(crate) fn sleep_word(&self) -> &AtomicU64 {
        &self.words()[self.slots as usize * Self::stride(self.mtu_bytes)]
    }

    /// Whether the server says that it looks at the ring only when the client rings.
    pub(crate) fn is_quiet(&self) -> bool {
        self.words()[self.slots as usize * Self::stride(self.mtu_bytes) + 1].load(Ordering::Acquire) > 0
    }

    /// Rings this client's doorbell, the only one of its 64 times 64 in a server of so few.
    pub(crate) fn ring(&self) {
        let (doorbells, client) = self.doorbells.as_ref().expect("a doorbell");
        doorbells.words()[1].fetch_or(1 << client, Ordering::Release);
        doorbells.words()[0].fetch_or(1, Ordering::Release);
    }

    /// Writes this value into all words of doorbells.
    pub(crate) fn set_all_doorbells(&self, value: u64) {
        let (doorbells, _) = self.doorbells.as_ref().expect("a doorbell");
        doorbells.words().iter().for_each(|word| word.store(value, Ordering::Relaxed));
    }

    pub(crate) fn put(&self, position: u32, slot: Slot) {
        let words = self.head(position);
        words[1].store(u64::from(slot.rpc_bytes) | u64::from(slot.extra) << 32, Ordering::Relaxed);
        let first = u64::from(position)
            | u64::from(slot.pkt_idx & 0xFFFF) << 32
            | u64::from(slot.span & 0xFFF) << 48
            | slot.mark << 60;
        words[0].store(first, Ordering::Release);
    }

    /// The server's answer at `position`, if any: mark, reply bytes and extra word.
    pub(crate) fn answer(&self, position: u32) -> Option<(u64, u32, u32)> {
        let words = self.head(position);
        let first = words[0].load(Ordering::Acquire);
        let mark = first >> 60;
        let is_answer = first & u64::from(u32::MAX) == u64::from(position) && ![0, REQUEST, CANCELLED].contains(&mark);
        let second = words[1].load(Ordering::Relaxed);
        let half = |value: u64| u32::try_from(value & u64::from(u32::MAX)).expect("masked");
        is_answer.then(|| (mark, half(second), half(second >> 32)))
    }

    pub(crate) fn is_cut(&self) -> bool {
        is_readable(&self.socket)
    }
}
