//! The handshake of client and server before they share memory. See `docs/PROTOCOL.md`.
//!
//! Messages are datagrams of fixed length over a Unix seqpacket socket; receivers check all fields.

use crate::rpc::slot::{Geometry, MTU_BYTES_MAX, SLOTS_MAX, SPAN_MAX, mtu_for};
use nebula_nic::RegionId;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// "NEBULA" and the kind of the message.
const MAGIC: u64 = u64::from_le_bytes(*b"NEBULA\0\0");
/// The version of handshake and slot layout, which change together.
pub(crate) const VERSION: u32 = 7;

const MESSAGE_BYTES: usize = 64;

pub(crate) const SLOTS_MIN: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    /// Slots of the ring, a power of two.
    pub(crate) slots: u32,
    /// The most slots that it takes instead; 0: exactly as many as it requests.
    pub(crate) slots_max: u32,
    /// Whether the client may sleep, and wants to be woken then.
    pub(crate) sleeps: bool,
    pub(crate) domain: u8,
    /// Whether it asks only for the status page, and sends no RPCs.
    pub(crate) observes: bool,
    /// Whether it asks for the regions that it may map.
    pub(crate) maps: bool,
    /// Whether it rings a doorbell when the server says that it does not look at its ring.
    pub(crate) has_doorbell: bool,
}

/// Why a server refuses a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Client and server have different versions.
    #[error("the server speaks version {server} of the protocol, and this client another: build both from one release")]
    Version {
        /// The server's version.
        server: u32,
    },
    /// The ring's slots are too few, too many or no power of two.
    #[error("the server refused the ring's size: slots must be a power of two from 2 to 65536")]
    Slots,
    /// This user id may not connect.
    #[error("the server does not serve this user id: run both as one user, or add it to the server's allowed_uids")]
    UserId,
    /// The server's limit of clients is reached.
    #[error("as many clients are connected as the server allows: try later, or raise its clients_max")]
    TooManyClients,
    /// The server has no memory for the ring.
    #[error("the server has no memory for the ring: ask for fewer slots")]
    NoMemory,
    /// The server serves another messaging domain.
    #[error(
        "the server serves messaging domain {server}, and this client asks for another: give that one (ClientConfig::domain)"
    )]
    Domain {
        /// The server's domain.
        server: u8,
    },
}

impl Refusal {
    const fn code(self) -> u32 {
        match self {
            Refusal::Version { .. } => 1,
            Refusal::Slots => 2,
            Refusal::UserId => 3,
            Refusal::TooManyClients => 4,
            Refusal::NoMemory => 5,
            Refusal::Domain { .. } => 6,
        }
    }

    const fn from_code(code: u32, server: u32, domain: u8) -> Option<Self> {
        match code {
            1 => Some(Refusal::Version { server }),
            2 => Some(Refusal::Slots),
            3 => Some(Refusal::UserId),
            4 => Some(Refusal::TooManyClients),
            5 => Some(Refusal::NoMemory),
            6 => Some(Refusal::Domain { server: domain }),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) snid: u32,
    pub(crate) geometry: Geometry,
    /// The largest RPC, in bytes.
    pub(crate) rpc_bytes_max: u32,
    pub(crate) status_bytes: u32,
    /// The service's longest reply, in bytes; 0 if unknown.
    pub(crate) reply_bytes_max: u32,
    pub(crate) slo_ps: u64,
    /// Whether the server reads the mark of cancelled RPCs. An older server would wait at it.
    pub(crate) cancels: bool,
    /// How many messages follow, each with a region to map.
    pub(crate) regions: u32,
    /// The doorbells of how many clients the third descriptor has; 0 if there is none.
    pub(crate) doorbells: u32,
    /// The word of the status page that says whether the client's engine sleeps.
    pub(crate) asleep_word: u32,
}

type Message = [u8; MESSAGE_BYTES];

fn put(message: &mut Message, at: usize, value: u32) {
    message[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn take(message: &Message, at: usize) -> u32 {
    u32::from_le_bytes([message[at], message[at + 1], message[at + 2], message[at + 3]])
}

fn start(kind: u8) -> Message {
    let mut message = [0; MESSAGE_BYTES];
    message[..8].copy_from_slice(&MAGIC.to_le_bytes());
    message[7] = kind;
    message
}

fn is_start(message: &Message, kind: u8) -> bool {
    message[..7] == MAGIC.to_le_bytes()[..7] && message[7] == kind
}

impl Hello {
    pub(crate) fn encode(self) -> Message {
        let mut message = start(b'H');
        put(&mut message, 8, self.version);
        put(&mut message, 12, self.slots);
        put(&mut message, 16, self.sleeps.into());
        put(&mut message, 20, self.domain.into());
        put(&mut message, 24, self.observes.into());
        put(&mut message, 28, self.maps.into());
        put(&mut message, 32, self.has_doorbell.into());
        put(&mut message, 36, self.slots_max);
        message
    }

    pub(crate) fn decode(message: &Message) -> Option<Self> {
        is_start(message, b'H').then(|| Self {
            version: take(message, 8),
            slots: take(message, 12),
            sleeps: take(message, 16) != 0,
            domain: message[20],
            observes: take(message, 24) != 0,
            maps: take(message, 28) != 0,
            has_doorbell: take(message, 32) != 0,
            slots_max: take(message, 36),
        })
    }

    pub(crate) fn check(self, domain: u8) -> Result<(), Refusal> {
        if self.version != VERSION {
            return Err(Refusal::Version { server: VERSION });
        }
        if !self.slots.is_power_of_two() || !(SLOTS_MIN..=SLOTS_MAX).contains(&self.slots) {
            return Err(Refusal::Slots);
        }
        if self.domain != domain && !self.observes {
            return Err(Refusal::Domain { server: domain });
        }
        Ok(())
    }
}

pub(crate) type Answer = Result<Welcome, Refusal>;

pub(crate) fn encode_answer(answer: Answer) -> Message {
    let mut message = start(b'W');
    put(&mut message, 8, VERSION);
    match answer {
        Err(refusal) => {
            put(&mut message, 12, refusal.code());
            if let Refusal::Domain { server } = refusal {
                put(&mut message, 16, server.into());
            }
        }
        Ok(welcome) => {
            put(&mut message, 16, welcome.snid);
            put(&mut message, 20, welcome.geometry.slots);
            put(&mut message, 24, welcome.geometry.mtu_bytes);
            put(&mut message, 28, welcome.rpc_bytes_max);
            put(&mut message, 32, welcome.status_bytes);
            put(&mut message, 36, welcome.reply_bytes_max);
            message[40..48].copy_from_slice(&welcome.slo_ps.to_le_bytes());
            put(&mut message, 48, welcome.cancels.into());
            put(&mut message, 52, welcome.regions);
            put(&mut message, 56, welcome.doorbells);
            put(&mut message, 60, welcome.asleep_word);
        }
    }
    message
}

/// Reads an answer; `None` if this version does not know the message.
pub(crate) fn decode_answer(message: &Message) -> Option<Answer> {
    if !is_start(message, b'W') {
        return None;
    }
    let (server, code) = (take(message, 8), take(message, 12));
    if code != 0 {
        return Refusal::from_code(code, server, message[16]).map(Err);
    }
    if server != VERSION {
        return Some(Err(Refusal::Version { server }));
    }
    let (slots, mtu_bytes) = (take(message, 20), take(message, 24));
    let is_sound = slots.is_power_of_two()
        && (SLOTS_MIN..=SLOTS_MAX).contains(&slots)
        && (1..=MTU_BYTES_MAX).contains(&mtu_bytes)
        && mtu_for(mtu_bytes) == mtu_bytes;
    if !is_sound {
        return None;
    }
    let geometry = Geometry::new(slots, mtu_bytes);
    let mut slo = [0; 8];
    slo.copy_from_slice(&message[40..48]);
    let welcome = Welcome {
        snid: take(message, 16),
        geometry,
        rpc_bytes_max: take(message, 28).min(geometry.mtu_bytes.saturating_mul(SPAN_MAX)),
        status_bytes: take(message, 32),
        reply_bytes_max: take(message, 36),
        slo_ps: u64::from_le_bytes(slo),
        cancels: take(message, 48) == 1,
        regions: take(message, 52),
        doorbells: take(message, 56),
        asleep_word: take(message, 60),
    };
    Some(Ok(welcome))
}

/// A region that a client may map: its message carries the memory's descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mappable {
    pub(crate) region: RegionId,
    pub(crate) bytes: u64,
    pub(crate) may_write: bool,
}

impl Mappable {
    pub(crate) fn encode(self) -> Message {
        let mut message = start(b'R');
        put(&mut message, 8, self.region.0);
        put(&mut message, 12, self.may_write.into());
        message[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        message
    }

    pub(crate) fn decode(message: &Message) -> Option<Self> {
        let low = u64::from(take(message, 16));
        is_start(message, b'R').then(|| Self {
            region: RegionId(take(message, 8)),
            may_write: take(message, 12) != 0,
            bytes: low | u64::from(take(message, 20)) << 32,
        })
    }
}

pub(crate) fn send(socket: impl AsFd, message: &Message, fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(std::io::Error::other("too many descriptors for one message"));
    }
    let sent = sendmsg(socket, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == MESSAGE_BYTES { Ok(()) } else { Err(std::io::Error::other("the message was cut short")) }
}

/// Receives a message and its descriptors; `Ok(None)` if the peer closed, or sent another length.
pub(crate) fn receive(socket: impl AsFd) -> std::io::Result<Option<(Message, Vec<OwnedFd>)>> {
    let mut message = [0; MESSAGE_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got = recvmsg(socket, &mut [IoSliceMut::new(&mut message)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            fds.extend(received);
        }
    }
    Ok((got.bytes == MESSAGE_BYTES).then_some((message, fds)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::{FdFlags, fcntl_getfd};

    const HELLO: Hello = Hello {
        version: VERSION,
        slots: 64,
        slots_max: 0,
        sleeps: false,
        domain: 0,
        observes: false,
        maps: false,
        has_doorbell: false,
    };

    const WELCOME: Welcome = Welcome {
        snid: 3,
        geometry: Geometry::new(64, 624),
        rpc_bytes_max: 1 << 20,
        status_bytes: 4096,
        reply_bytes_max: 70_000,
        slo_ps: 100_000_000,
        cancels: true,
        regions: 3,
        doorbells: 100,
        asleep_word: 49,
    };

    #[test]
    fn messages_survive_the_way_there() {
        for sleeps in [false, true] {
            let hello = Hello {
                version: VERSION,
                slots: 64,
                slots_max: if sleeps { 0 } else { 4096 },
                sleeps,
                domain: 7,
                observes: !sleeps,
                maps: sleeps,
                has_doorbell: !sleeps,
            };
            assert_eq!(Hello::decode(&hello.encode()), Some(hello));
        }
        for cancels in [false, true] {
            let welcome = Welcome { cancels, ..WELCOME };
            assert_eq!(decode_answer(&encode_answer(Ok(welcome))), Some(Ok(welcome)));
        }
        let mappable = Mappable { region: RegionId(0x2_0001), bytes: 5 << 33, may_write: true };
        assert_eq!(Mappable::decode(&mappable.encode()), Some(mappable));
        for refusal in [
            Refusal::Version { server: VERSION },
            Refusal::Slots,
            Refusal::UserId,
            Refusal::TooManyClients,
            Refusal::NoMemory,
        ] {
            assert_eq!(decode_answer(&encode_answer(Err(refusal))), Some(Err(refusal)));
        }
    }

    #[test]
    fn a_ring_that_cannot_be_is_refused_by_both_sides() {
        for slots in [0, 1, 3, 65, SLOTS_MAX * 2] {
            assert_eq!(Hello { version: VERSION, slots, ..HELLO }.check(0), Err(Refusal::Slots));
            let geometry = Geometry::new(slots, WELCOME.geometry.mtu_bytes);
            assert_eq!(decode_answer(&encode_answer(Ok(Welcome { geometry, ..WELCOME }))), None);
        }
        for mtu_bytes in [0, 47, 64, MTU_BYTES_MAX * 2 + 48] {
            let geometry = Geometry::new(WELCOME.geometry.slots, mtu_bytes);
            assert_eq!(decode_answer(&encode_answer(Ok(Welcome { geometry, ..WELCOME }))), None);
        }
    }

    #[test]
    fn another_version_is_refused() {
        assert_eq!(Hello { version: 2, ..HELLO }.check(0), Err(Refusal::Version { server: VERSION }));
        let mut answer = encode_answer(Ok(WELCOME));
        answer[8] = 9;
        assert_eq!(decode_answer(&answer), Some(Err(Refusal::Version { server: 9 })));
    }

    #[test]
    fn what_is_received_is_kept_from_processes_that_are_started_meanwhile() {
        let (here, there) = std::os::unix::net::UnixStream::pair().unwrap();
        send(&there, &encode_answer(Ok(WELCOME)), &[here.as_fd(), there.as_fd()]).unwrap();
        let (message, received) = receive(&here).unwrap().unwrap();
        assert_eq!((message, received.len()), (encode_answer(Ok(WELCOME)), 2));
        assert!(received.iter().all(|fd| fcntl_getfd(fd).unwrap().contains(FdFlags::CLOEXEC)));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        nebula_testing::seeded(|u| {
            let message: Message = u.arbitrary()?;
            let _ = (Hello::decode(&message), decode_answer(&message), Mappable::decode(&message));
            Ok(())
        });
    }
}
