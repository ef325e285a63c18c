//! One of several servers, and the connection to it, which is made again after a loss.

use crate::client::connection::{Connection, Greeting, Open, Rest};
use crate::client::error::ConnectError;
use crate::client::ticket::Ticket;
use crate::config::client::ClientConfig;
use crate::endpoint::Endpoint;
use nebula_nic::Timestamp;
use nebula_requester::RetryPolicy;
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

#[derive(Clone)]
pub(super) struct Maker {
    pub(super) config: ClientConfig,
    pub(super) rest: Rest,
    open: Open,
    /// Binds each connection to one run of its server.
    pub(super) is_bound: bool,
    greetings: Vec<Arc<Greeting>>,
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maker").field("rest", &self.rest).field("is_bound", &self.is_bound).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) enum Unmade {
    Failed(ConnectError),
    Unfit,
}

impl Maker {
    /// Connections do not retry after a NACK: the client decides that for all servers together.
    pub(super) fn new(config: &ClientConfig, rest: Rest, open: Open) -> Self {
        let config = ClientConfig { retry: RetryPolicy::GiveUp, ..config.clone() };
        Self { config, rest, open, is_bound: false, greetings: Vec::new() }
    }

    pub(super) fn add_greeting(&mut self, greeting: Arc<Greeting>) {
        self.greetings.push(greeting);
    }

    fn make(&self, endpoint: Endpoint) -> Result<Box<dyn Connection>, Unmade> {
        let mut link = (self.open)(endpoint, &self.config, self.rest).map_err(Unmade::Failed)?;
        if self.is_bound {
            link.bind_to_server();
        }
        let fits = self.greetings.iter().all(|greeting| link.greet(greeting.clone()));
        if fits { Ok(link) } else { Err(Unmade::Unfit) }
    }

    fn begin(&self, endpoint: Endpoint) -> std::io::Result<Making> {
        let maker = self.clone();
        let builder = std::thread::Builder::new().name("nebula-connect".to_owned());
        builder.spawn(move || maker.make(endpoint))
    }
}

/// A thread that makes a connection.
type Making = JoinHandle<Result<Box<dyn Connection>, Unmade>>;

#[derive(Debug)]
enum State {
    Up(Box<dyn Connection>),
    Down,
    Coming(Making),
}

#[derive(Debug)]
pub(super) struct Member {
    /// `None` over a network of the caller's: the connection is never made again.
    pub(super) endpoint: Option<Endpoint>,
    state: State,
    /// The places of the RPCs outstanding here, by their tickets modulo the slots.
    places: Box<[u32]>,
    /// An RPC was lost here: the connection closes once nothing is outstanding.
    is_lost: bool,
    pub(super) is_to_leave: bool,
    /// Breaks of this connection that were noted, and whether it was broken then.
    breaks: u32,
    was_broken: bool,
    pub(super) asked: Option<Ticket>,
    pub(super) ask_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Breaks,
    Works,
}

#[derive(Debug)]
pub(super) enum Came {
    Up,
    Failed(Unmade),
}

impl Member {
    pub(super) fn new(endpoint: Option<Endpoint>, slots: u32) -> Self {
        let places = vec![0; slots as usize].into();
        Self {
            endpoint,
            state: State::Down,
            places,
            is_lost: false,
            is_to_leave: false,
            breaks: 0,
            was_broken: false,
            asked: None,
            ask_at: Timestamp::ZERO,
        }
    }

    pub(super) fn up(link: Box<dyn Connection>, slots: u32) -> Self {
        Self { state: State::Up(link), ..Self::new(None, slots) }
    }

    pub(super) fn link(&mut self) -> Option<&mut (dyn Connection + 'static)> {
        if let State::Up(link) = &mut self.state { Some(&mut **link) } else { None }
    }

    pub(super) fn link_and_places(&mut self) -> Option<(&mut (dyn Connection + 'static), &mut [u32])> {
        if let State::Up(link) = &mut self.state { Some((&mut **link, &mut self.places)) } else { None }
    }

    pub(super) fn look(&self) -> Option<&(dyn Connection + 'static)> {
        if let State::Up(link) = &self.state { Some(&**link) } else { None }
    }

    pub(super) fn is_down(&self) -> bool {
        matches!(self.state, State::Down)
    }

    pub(super) fn is_coming(&self) -> bool {
        matches!(self.state, State::Coming(_))
    }

    /// Begins to connect, if there is no connection. Returns the system's error.
    pub(super) fn begin(&mut self, maker: &Maker) -> Option<std::io::Error> {
        let endpoint = self.endpoint.clone().filter(|_| self.is_down())?;
        match maker.begin(endpoint) {
            Ok(thread) => {
                self.state = State::Coming(thread);
                None
            }
            Err(error) => Some(error),
        }
    }

    pub(super) fn greet(&mut self, greeting: &Arc<Greeting>, maker: &Maker) -> Option<bool> {
        let endpoint = self.endpoint.clone();
        let link = self.link()?;
        if link.outstanding() == 0 {
            return Some(link.greet(greeting.clone()));
        }
        // This connection would lose the answers of others, so another one is made.
        let other = endpoint.map(|endpoint| maker.make(endpoint));
        Some(other.is_some_and(|other| other.is_ok()))
    }

    pub(super) fn come(&mut self) -> Option<Came> {
        if !matches!(&self.state, State::Coming(thread) if thread.is_finished()) {
            return None;
        }
        let State::Coming(thread) = std::mem::replace(&mut self.state, State::Down) else { return None };
        Some(match thread.join() {
            Ok(Ok(link)) => {
                (self.is_lost, self.asked) = (false, None);
                (self.breaks, self.was_broken) = (link.breaks(), link.is_broken());
                self.state = State::Up(link);
                Came::Up
            }
            Ok(Err(unmade)) => Came::Failed(unmade),
            // A greeting of the caller's has panicked.
            Err(_) => Came::Failed(Unmade::Unfit),
        })
    }

    pub(super) fn lose(&mut self) {
        self.is_lost = self.endpoint.is_some();
    }

    /// Closes a lost connection once nothing is outstanding. Returns whether it has.
    pub(super) fn give_up(&mut self) -> bool {
        let gives_up = self.is_lost && self.look().is_some_and(|link| link.outstanding() == 0);
        if gives_up {
            self.close();
        }
        gives_up
    }

    pub(super) fn close(&mut self) {
        (self.state, self.is_lost, self.asked) = (State::Down, false, None);
    }

    /// Whether the connection has broken since the last look, or works again.
    pub(super) fn change(&mut self) -> Option<Change> {
        let link = self.look()?;
        let (breaks, is_broken) = (link.breaks(), link.is_broken());
        let was_broken = std::mem::replace(&mut self.was_broken, is_broken);
        if std::mem::replace(&mut self.breaks, breaks) != breaks {
            Some(Change::Breaks)
        } else if was_broken && !is_broken {
            Some(Change::Works)
        } else {
            None
        }
    }
}

/// The place of an RPC by its ticket at a server. Tickets of outstanding RPCs differ modulo
/// `slots`, a power of two.
#[expect(clippy::cast_possible_truncation, reason = "the low bits")]
pub(super) fn slot(ticket: Ticket, slots: usize) -> usize {
    ticket.0 as usize & (slots - 1)
}
