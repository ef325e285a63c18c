//! One of several servers, and the connection to it, which is made again after it was lost.

use crate::client::connection::{Connection, Rest};
use crate::client::error::{CallError, ConnectError};
use crate::client::ticket::Ticket;
use crate::config::client::{ClientConfig, Options};
use crate::endpoint::Endpoint;
use nebula_nic::Timestamp;
use nebula_requester::RetryPolicy;
use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A call over a connection: its reply.
pub type AskOne<'c> = dyn FnMut(&[u8]) -> Result<Vec<u8>, CallError> + 'c;

/// Asks a server something over a new connection, by the function that it gets; whether the
/// connection is to be used.
pub type Greeting = dyn Fn(&mut AskOne<'_>) -> bool + Send + Sync;

/// How connections are made.
#[derive(Clone)]
pub(super) struct Maker {
    pub(super) config: ClientConfig,
    pub(super) rest: Rest,
    /// Each is to one run of its server.
    pub(super) is_bound: bool,
    greetings: Vec<Arc<Greeting>>,
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Maker").field("rest", &self.rest).field("is_bound", &self.is_bound).finish_non_exhaustive()
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Unmade {
    Failed(ConnectError),
    /// A greeting said no.
    Unfit,
}

impl Maker {
    /// What follows a NACK is decided for all servers together.
    pub(super) fn new(config: &ClientConfig, rest: Rest) -> Self {
        let config = ClientConfig { retry: RetryPolicy::GiveUp, ..config.clone() };
        Self { config, rest, is_bound: false, greetings: Vec::new() }
    }

    pub(super) fn add_greeting(&mut self, greeting: Arc<Greeting>) {
        self.greetings.push(greeting);
    }

    fn make<L: Connection>(&self, endpoint: Endpoint) -> Result<L, Unmade> {
        let mut link = L::connect_to(endpoint, &self.config, self.rest).map_err(Unmade::Failed)?;
        if self.is_bound {
            link.bind_to_server();
        }
        let fits = self.greetings.iter().all(|greeting| greet(&mut link, &**greeting));
        if fits { Ok(link) } else { Err(Unmade::Unfit) }
    }

    /// Makes one in a thread that ends with it: it may take as long as a call.
    fn begin<L: Connection>(&self, endpoint: Endpoint) -> std::io::Result<JoinHandle<Result<L, Unmade>>> {
        let maker = self.clone();
        let builder = std::thread::Builder::new().name("nebula-connect".to_owned());
        builder.spawn(move || maker.make::<L>(endpoint))
    }
}

/// Whether the greeting is content with the server.
pub(crate) fn greet<L: Connection>(link: &mut L, greeting: &Greeting) -> bool {
    greeting(&mut |request| link.call(request, Options::default()).map(<[u8]>::to_vec))
}

#[derive(Debug)]
enum State<L> {
    Up(Box<L>),
    Down,
    Coming(JoinHandle<Result<L, Unmade>>),
}

/// One of several servers.
#[derive(Debug)]
pub(super) struct Member<L> {
    /// `None` over a network of the caller's: the connection is never made again.
    pub(super) endpoint: Option<Endpoint>,
    state: State<L>,
    /// The places of the RPCs that are outstanding here, by their tickets modulo the slots.
    places: Box<[u32]>,
    /// An RPC was lost here: the connection is given up once nothing is outstanding.
    is_lost: bool,
    /// Its server is none of those that there are to be.
    pub(super) is_to_leave: bool,
    /// The health check that is outstanding.
    pub(super) asked: Option<Ticket>,
    /// When the next one is due.
    pub(super) ask_at: Timestamp,
}

/// A connection that has come up, or has failed to.
#[derive(Debug)]
pub(super) enum Came {
    Up,
    Failed(Unmade),
}

impl<L: Connection> Member<L> {
    pub(super) fn new(endpoint: Option<Endpoint>, slots: u32) -> Self {
        let places = vec![0; slots as usize].into();
        let (is_lost, is_to_leave) = (false, false);
        Self { endpoint, state: State::Down, places, is_lost, is_to_leave, asked: None, ask_at: Timestamp::ZERO }
    }

    /// One that has been made.
    pub(super) fn up(link: L, slots: u32) -> Self {
        Self { state: State::Up(Box::new(link)), ..Self::new(None, slots) }
    }

    pub(super) fn link(&mut self) -> Option<&mut L> {
        if let State::Up(link) = &mut self.state { Some(link) } else { None }
    }

    pub(super) fn link_and_places(&mut self) -> Option<(&mut L, &mut [u32])> {
        if let State::Up(link) = &mut self.state { Some((link, &mut self.places)) } else { None }
    }

    pub(super) fn look(&self) -> Option<&L> {
        if let State::Up(link) = &self.state { Some(link) } else { None }
    }

    pub(super) fn is_down(&self) -> bool {
        matches!(self.state, State::Down)
    }

    pub(super) fn is_coming(&self) -> bool {
        matches!(self.state, State::Coming(_))
    }

    /// Begins to make the connection, if there is none. What the system says where it cannot.
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

    /// Whether the greeting is content with the server; `None` while there is no connection.
    pub(super) fn greet(&mut self, greeting: &Greeting, maker: &Maker) -> Option<bool> {
        let endpoint = self.endpoint.clone();
        let link = self.link()?;
        if link.outstanding() == 0 {
            return Some(greet(link, greeting));
        }
        // Answers of others would be lost: another connection is made for this.
        let other = endpoint.map(|endpoint| maker.make::<L>(endpoint));
        Some(other.is_some_and(|other| other.is_ok()))
    }

    /// What has become of one that was begun, if that is known.
    pub(super) fn come(&mut self) -> Option<Came> {
        if !matches!(&self.state, State::Coming(thread) if thread.is_finished()) {
            return None;
        }
        let State::Coming(thread) = std::mem::replace(&mut self.state, State::Down) else { return None };
        Some(match thread.join() {
            Ok(Ok(link)) => {
                (self.is_lost, self.asked) = (false, None);
                self.state = State::Up(Box::new(link));
                Came::Up
            }
            Ok(Err(unmade)) => Came::Failed(unmade),
            // A greeting of the caller's has panicked.
            Err(_) => Came::Failed(Unmade::Unfit),
        })
    }

    /// An RPC was lost here.
    pub(super) fn lose(&mut self) {
        self.is_lost = self.endpoint.is_some();
    }

    /// Gives a lost connection up once nothing is outstanding; whether it has.
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
}

/// The place of an RPC by its ticket at a server: tickets of outstanding RPCs differ modulo the
/// slots, of which there is a power of two.
#[expect(clippy::cast_possible_truncation, reason = "the low bits")]
pub(super) fn slot(ticket: Ticket, slots: usize) -> usize {
    ticket.0 as usize & (slots - 1)
}
