//! How much a requester may have in flight: a [window](Window) that answers and refusals move, the
//! receiver's [grants](nebula_nic::grants), or no bound.

use super::window::{Window, WindowConfig};
use nebula_nic::time::{Span, Timestamp};

/// The progress of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Its packets.
    pub packets: u32,
    /// Those sent, counted from the first.
    pub sent: u32,
    /// Those that the receiver has granted, counted from the first; 0 if it grants nothing.
    pub granted: u32,
}

impl Progress {
    /// Packets that are not sent yet.
    #[must_use]
    pub const fn left(self) -> u32 {
        self.packets.saturating_sub(self.sent)
    }
}

/// Decides how many packets a requester may send. It is called with the outcome of each packet; an
/// implementation may ignore events.
pub trait FlowControl {
    /// Packets of `message` that may be sent with `in_flight` packets of all messages on their way.
    fn room(&self, in_flight: u32, message: Progress) -> u32;

    /// Packets of all messages together that may be sent while `in_flight` are on their way.
    fn room_of_all(&self, in_flight: u32) -> u32 {
        let _ = in_flight;
        u32::MAX
    }

    /// Whether little may be sent because much was refused.
    fn is_refused(&self) -> bool {
        false
    }

    /// The interval between packets, if less than one per `round_trip` may be sent.
    fn pace(&self, round_trip: Span) -> Option<Span> {
        let _ = round_trip;
        None
    }

    /// `packets` have been answered; in the last round trip at most `in_flight` were in flight.
    fn answered(&mut self, packets: u32, in_flight: u32) {
        let _ = (packets, in_flight);
    }

    /// A packet sent at `sent` was refused for lack of room.
    fn refused(&mut self, now: Timestamp, sent: Timestamp) {
        let _ = (now, sent);
    }

    /// `packets` sent at `sent` count as lost.
    fn lost(&mut self, packets: u32, sent: Timestamp) {
        let _ = (packets, sent);
    }

    /// `packets` that counted as lost were not.
    fn found(&mut self, packets: u32) {
        let _ = packets;
    }

    /// Nothing has been answered for longer than a time-out.
    fn silence(&mut self) {}
}

/// The sender's side of Homa: the first packets of a message go out unasked, the others when the
/// receiver has granted them.
///
/// The receiver's side is [`Grants`](nebula_nic::grants::Grants). Once a message was refused for
/// lack of room, one packet of each goes out unasked until something is answered: a receiver
/// without room for the first would refuse the others.
///
/// Source: Homa, SIGCOMM 2018, §3.2: unscheduled bytes, then grants.
///
/// # Examples
///
/// ```
/// use nebula_requester::{FlowControl, Homa, Progress};
///
/// let homa = Homa::new(4);
/// assert_eq!(homa.room(1000, Progress { packets: 9, sent: 1, granted: 0 }), 3);
/// assert_eq!(homa.room(1000, Progress { packets: 9, sent: 4, granted: 8 }), 4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Homa {
    unscheduled: u32,
    /// Nothing was answered since a message was refused.
    is_refused: bool,
}

impl Homa {
    /// Messages begin with `unscheduled` packets, at least one, to announce them to the receiver.
    #[must_use]
    pub const fn new(unscheduled: u32) -> Self {
        Self { unscheduled: if unscheduled == 0 { 1 } else { unscheduled }, is_refused: false }
    }
}

impl FlowControl for Homa {
    fn room(&self, _: u32, message: Progress) -> u32 {
        let unscheduled = if self.is_refused { 1 } else { self.unscheduled };
        message.packets.min(unscheduled.max(message.granted)).saturating_sub(message.sent)
    }

    fn answered(&mut self, _: u32, _: u32) {
        self.is_refused = false;
    }

    fn refused(&mut self, _: Timestamp, _: Timestamp) {
        self.is_refused = true;
    }
}

/// No bound: for lossless links with flow control, or to measure the benefit of a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unbounded;

impl FlowControl for Unbounded {
    #[inline]
    fn room(&self, _: u32, message: Progress) -> u32 {
        message.left()
    }
}

/// A flow control chosen at run time. It costs one branch: no pointer call, no allocation.
///
/// # Examples
///
/// ```
/// use nebula_requester::{Flow, FlowControl, FlowKind, Progress, WindowConfig};
///
/// let message = Progress { packets: 100, sent: 0, granted: 0 };
/// let rooms = FlowKind::ALL.map(|kind| Flow::new(kind, WindowConfig { first: 10, max: 64 }).room(3, message));
/// assert_eq!(rooms, [7, 1, 100]);
/// ```
#[derive(Clone, Debug)]
pub enum Flow {
    /// A window.
    Window(Window),
    /// Grants of the receiver.
    Homa(Homa),
    /// No bound.
    Unbounded(Unbounded),
}

impl Flow {
    /// A flow control of `kind`: with this window, or with one unscheduled packet until the
    /// receiver [reports](Self::set_unscheduled) how many it takes.
    #[must_use]
    pub fn new(kind: FlowKind, window: WindowConfig) -> Self {
        match kind {
            FlowKind::Window => Self::Window(Window::new(window)),
            FlowKind::Homa => Self::Homa(Homa::new(1)),
            FlowKind::Unbounded => Self::Unbounded(Unbounded),
        }
    }

    /// Sets the packets with which messages begin, if a receiver grants the others.
    pub fn set_unscheduled(&mut self, packets: u32) {
        if let Self::Homa(homa) = self {
            homa.unscheduled = packets.max(1);
        }
    }

    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> FlowKind {
        match self {
            Self::Window(_) => FlowKind::Window,
            Self::Homa(_) => FlowKind::Homa,
            Self::Unbounded(_) => FlowKind::Unbounded,
        }
    }

    /// The window, if it has one.
    #[must_use]
    #[inline]
    pub const fn window(&self) -> Option<&Window> {
        match self {
            Self::Window(window) => Some(window),
            Self::Homa(_) | Self::Unbounded(_) => None,
        }
    }
}

/// Calls a method of the flow control that was chosen.
macro_rules! chosen {
    ($flow:ident, $method:ident($($argument:ident),*)) => {
        match $flow {
            Self::Window(flow) => flow.$method($($argument),*),
            Self::Homa(flow) => flow.$method($($argument),*),
            Self::Unbounded(flow) => flow.$method($($argument),*),
        }
    };
}

impl FlowControl for Flow {
    #[inline]
    fn room(&self, in_flight: u32, message: Progress) -> u32 {
        chosen!(self, room(in_flight, message))
    }

    #[inline]
    fn room_of_all(&self, in_flight: u32) -> u32 {
        chosen!(self, room_of_all(in_flight))
    }

    #[inline]
    fn is_refused(&self) -> bool {
        chosen!(self, is_refused())
    }

    #[inline]
    fn pace(&self, round_trip: Span) -> Option<Span> {
        chosen!(self, pace(round_trip))
    }

    #[inline]
    fn answered(&mut self, packets: u32, in_flight: u32) {
        chosen!(self, answered(packets, in_flight));
    }

    fn refused(&mut self, now: Timestamp, sent: Timestamp) {
        chosen!(self, refused(now, sent));
    }

    fn lost(&mut self, packets: u32, sent: Timestamp) {
        chosen!(self, lost(packets, sent));
    }

    fn found(&mut self, packets: u32) {
        chosen!(self, found(packets));
    }

    fn silence(&mut self) {
        chosen!(self, silence());
    }
}

/// The kinds of flow control: `window`, `homa` or `none`.
///
/// # Examples
///
/// ```
/// use nebula_requester::FlowKind;
///
/// assert_eq!("none".parse(), Ok(FlowKind::Unbounded));
/// assert_eq!(FlowKind::default().to_string(), "window");
/// assert!("tcp".parse::<FlowKind>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FlowKind {
    /// [`Window`].
    #[default]
    Window,
    /// [`Homa`], with [grants](nebula_nic::grants) of the receiver.
    Homa,
    /// [`Unbounded`].
    Unbounded,
}

/// The text names no flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown flow control: expected window, homa or none")]
pub struct FlowKindError;

nebula_nic::spelled! {
    FlowKind { Window = "window", Homa = "homa", Unbounded = "none" } else |text| -> FlowKindError { FlowKindError }
}
