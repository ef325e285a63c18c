//! The server's end of UDP: datagrams in, answers out, and no state for its clients.
//!
//! ```text
//! datagram ─▶ seal ─▶ hello?  ─▶ welcome                                              (here)
//!                  └▶ token  ─▶ each message: seen before? ─▶ the NIC's stations 2–6    (requests)
//! answers  ─▶ remembered ─▶ packed by client into trains of datagrams ─▶ wire           (outbox)
//! ```

use super::frame::{DATAGRAM_BYTES_MAX, Frame, FrameError, FrameKind, KIND_AT, SNID_AT, word};
use super::granting::GRANTS;
use super::handshake::{Hello, Reason, Refused, Tokens, Welcome, derived, echo_of, half};
use super::key_box::KeyBox;
use super::logged_early_drop::LoggedEarlyDrop;
use super::numbers::Numbers;
use super::outbox::Outbox;
use super::requests::{Memory, Peer};
use super::seal::Seal;
use super::source::{Hosts, SOURCES, Tenancy};
use crate::config::server::ServerConfig;
use crate::net::{DropRule as WireRule, Route, Watch, Wire};
use crate::nic::ingress::{AtOnce, Intake};
use crate::nic::one_sided::OneSided;
use crate::nic::recorder::Recorder;
use crate::nic::transport::Transport;
use crate::rpc::answer::{Answer, Fate};
use crate::rpc::recipient::{Cover, KeyId, Recipient};
use crate::status::Status;
use nebula_nic::early_drop::DropRule;
use nebula_nic::{Abandoned, BackendConfig, NodeId, RpcKey, Sources, Span, Timestamp};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

/// Receive calls in a turn, of some dozens of datagrams each: more than an inline worker serves, so
/// that under overload the excess is refused instead of waiting in the kernel.
const LOOKS_PER_TURN: usize = 4;
const BUSY: usize = 16;
#[expect(clippy::cast_possible_truncation, reason = "16")]
const WORD_AT: u16 = SNID_AT as u16;

#[derive(Debug)]
pub(crate) struct UdpPort {
    wire: Box<dyn Wire>,
    validation: Validation,
    memory: Memory,
    outbox: Outbox,
    early_drop: LoggedEarlyDrop,
    keys: Arc<KeyBox>,
    /// Senders of bytes in this turn that no client sends.
    strange: Vec<Route>,
    /// Senders of this turn's first datagrams that may not be known to the wire as clients.
    proven: Vec<Route>,
    /// The violations last counted, and whether there are more that were not reported.
    counted: (u64, bool),
    now: Timestamp,
}

#[derive(Debug)]
struct Validation {
    seal: Seal,
    tokens: Tokens,
    domain: u8,
    incarnation: u64,
    numbers: Numbers,
    /// Whether a client's datagrams come to the engine that its hello came to.
    keeps_clients: bool,
    hosts: Hosts,
    tenancy: Tenancy,
    rpc_bytes_max: u32,
    reply_bytes_max: u32,
    mtu_bytes: u32,
    slo: Span,
    violations: u64,
    /// The client whose token was last found valid, and its session, for its next datagram.
    latest: (Option<Claim>, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claim {
    peer: SocketAddr,
    snid: NodeId,
    owner: u64,
    token: u64,
}

impl UdpPort {
    /// A port over `wire`, for the engine of `numbers`. The engines of a server have the same
    /// `entropy`, so that each accepts the others' tokens.
    pub(crate) fn new(
        (config, backend): (&ServerConfig, &BackendConfig),
        wire: Box<dyn Wire>,
        entropy: &[u8; 32],
        numbers: Numbers,
        keys: Arc<KeyBox>,
        one_sided: OneSided,
        watch: Watch,
    ) -> Self {
        // Engines must not share nonces.
        let salt = derived(entropy, 1 | u64::from(numbers.engine()) << 32);
        let seal = Seal::new(&config.keys, salt.to_le_bytes());
        let tenancy = Tenancy::new(&config.tenants);
        let validation = Validation {
            tokens: Tokens::new(derived(entropy, 2).to_le_bytes()),
            incarnation: half(derived(entropy, 3)),
            numbers,
            keeps_clients: wire.is_lossless(),
            hosts: Hosts::new(derived(entropy, 6).to_le_bytes(), tenancy.is_kept()),
            tenancy,
            rpc_bytes_max: config.rpc_bytes_max,
            reply_bytes_max: config.reply_bytes_max.unwrap_or(0),
            mtu_bytes: config.mtu_bytes,
            slo: config.promised_slo(),
            domain: config.domain,
            violations: 0,
            latest: (None, 0),
            seal,
        };
        let seed = half(derived(entropy, 4));
        let outbox = Outbox::new(
            &validation.seal,
            wire.datagram_bytes_max(),
            (validation.domain, validation.incarnation),
            backend.mtu,
        );
        let memory = Memory::new((config, backend), seed, one_sided, watch);
        Self {
            wire,
            memory,
            validation,
            outbox,
            early_drop: LoggedEarlyDrop::new(),
            keys,
            strange: Vec::new(),
            proven: Vec::new(),
            counted: (0, false),
            now: Timestamp::ZERO,
        }
    }
}

impl Transport for UdpPort {
    const MAKES_SYSTEM_CALLS: bool = true;
    const SOURCES: Option<Sources> = Some(SOURCES);

    fn poll(&mut self, now: Timestamp, intake: &mut Intake, at_once: &mut impl AtOnce) -> usize {
        self.now = now;
        self.outbox.begin_turn(now);
        let Self { wire, validation, memory, outbox, early_drop, keys, strange, proven, .. } = self;
        let awaits_proof = wire.begin_turn(now);
        if let Some(keys) = keys.take_news() {
            validation.seal.set_keys(&keys);
        }
        let mut packets = 0;
        for _ in 0..LOOKS_PER_TURN {
            let looked = wire.recv(&mut |route, datagram| {
                let bytes = datagram.len();
                if intake.refusals.is_used_up()
                    && let Some((snid, number)) = validation.claimed(now, route.peer, datagram)
                    && intake.turns_away_all(now, number)
                {
                    // Opening it costs most. The unchecked number decides only about this drop.
                    let lost = bytes as u64;
                    early_drop.note(now, route.peer, snid, (lost, lost), &mut intake.recorder);
                    return memory.leave_unread(bytes, intake);
                }
                match validation.open(now, route, datagram) {
                    Opened::Frame(peer, body) => {
                        if awaits_proof && proven.last() != Some(&route) {
                            proven.push(route);
                        }
                        let unanswered = memory.unanswered();
                        // Under early drop, the order of datagrams must not decide who is served.
                        let at_once = early_drop.is_idle().then_some(&mut *at_once);
                        let taken = memory.take_messages(now, &peer, body, (intake, outbox), at_once);
                        packets += taken;
                        let unanswered = memory.unanswered() - unanswered;
                        if unanswered > 0 || !early_drop.is_idle() {
                            let lost = bytes as u64 * unanswered / taken.max(1) as u64;
                            let snid = peer.recipient.snid;
                            early_drop.note(now, route.peer, snid, (bytes as u64, lost), &mut intake.recorder);
                        }
                    }
                    // Anti-amplification: an unvalidated address gets no more bytes than it sent.
                    Opened::Answer(answer) if answer.len() <= bytes => outbox.send_now(route, answer),
                    Opened::Answer(_) | Opened::Nothing => {}
                    Opened::Strange => strange.push(route),
                }
            });
            if !strange.is_empty() {
                strange.drain(..).for_each(|peer| wire.hang_up(peer));
            }
            if awaits_proof {
                proven.drain(..).for_each(|peer| wire.prove(peer));
            }
            // Once there is no time for refusals, reading more would only delay waiting RPCs.
            if intake.refusals.is_used_up() || looked.map_or(true, |datagrams| datagrams < BUSY) {
                break;
            }
        }
        if memory.granting.is_due(now) {
            memory.grant(now, outbox);
        }
        if !early_drop.is_idle() {
            let is_idle = packets == 0 && intake.backend.queue_depth() == 0;
            if let Some(rules) = early_drop.end_turn(now, is_idle, &mut intake.recorder) {
                set_drop_rules(&mut **wire, rules);
            }
        }
        // Only a wire of connections counts violations itself.
        if packets == 0 && self.validation.keeps_clients {
            let counted = self.validation.violations + self.wire.violations();
            self.counted = (counted, self.counted.1 || counted != self.counted.0);
        }
        packets
    }

    /// Clients are not known here; reports that the counts have changed.
    #[inline(always)]
    fn news(&mut self) -> Option<Vec<NodeId>> {
        std::mem::take(&mut self.counted.1).then(Vec::new)
    }

    #[inline]
    fn ended(&mut self, _: NodeId, answer: Option<Box<Answer>>) {
        let Some(answer) = answer else { return };
        if self.memory.outcomes.overwrites(answer.reply_bytes(), &self.outbox) {
            self.flush(self.now);
        }
        self.memory.end(answer, &mut self.outbox);
    }

    fn abandoned(&mut self, now: Timestamp, rpc: RpcKey, answer: Option<Box<Answer>>, log: &mut Option<Recorder>) {
        self.memory.granting.forget(rpc);
        if let Some(mut answer) = answer {
            answer.ending.fate = Fate::Refused(Abandoned::REASON);
            self.memory.abandon(now, answer, &mut self.outbox, log);
        }
    }

    #[inline]
    fn flush(&mut self, now: Timestamp) {
        let Self { wire, validation, memory, outbox, .. } = self;
        outbox.flush(now, memory.replies(), &mut validation.seal, &mut **wire);
    }

    fn let_nobody_in(&mut self) {
        self.wire.let_nobody_in();
    }

    fn counters(&self) -> Status {
        let counters = self.memory.counters();
        // Those accepted so far: they are not known after that.
        let clients = self.validation.numbers.drawn().into();
        let violations = self.validation.violations + counters.violations + self.wire.violations();
        Status { clients, violations, ..counters }
    }

    fn wait(&mut self, timeout: Option<Duration>, parker: BorrowedFd<'_>) -> bool {
        // Dropped datagrams wake no engine.
        if !self.early_drop.is_idle()
            && let Some(rules) = self.early_drop.end()
        {
            set_drop_rules(&mut *self.wire, rules);
        }
        // If waiting fails, the engine polls, which only costs time.
        let _ = self.wire.wait(timeout, Some(parker));
        true
    }
}

#[cold]
fn set_drop_rules(wire: &mut dyn Wire, rules: &[DropRule<SocketAddr>]) {
    let rule = |rule: &DropRule<SocketAddr>| {
        let &DropRule { peer: from, snid, pass } = rule;
        WireRule { from, word_at: WORD_AT, word: snid.0.to_le_bytes(), pass }
    };
    // If the wire cannot, it receives more than can be served, as before.
    let _ = wire.set_drop_rules(&rules.iter().map(rule).collect::<Vec<_>>());
}

enum Opened<'d> {
    /// Messages of a client with a validated address.
    Frame(Peer, &'d [u8]),
    /// An answer of the handshake.
    Answer(Vec<u8>),
    Nothing,
    /// Bytes that no client sends. A network may change a datagram; a connection does not.
    Strange,
}

impl Opened<'_> {
    fn of(answer: Option<Vec<u8>>) -> Self {
        answer.map_or(Self::Nothing, Self::Answer)
    }
}

impl Validation {
    #[inline]
    fn open<'d>(&mut self, now: Timestamp, route: Route, datagram: &'d mut [u8]) -> Opened<'d> {
        let echo = echo_of(datagram);
        let (frame, body) = match self.seal.open(datagram, 0) {
            Ok(opened) => opened,
            Err(error) => return self.refuse_bytes(error, echo),
        };
        if frame.domain != self.domain {
            return self.refuse_domain(&frame, echo);
        }
        match frame.kind {
            FrameKind::Client => {}
            FrameKind::Hello => return self.greet(now, route.peer, &frame, body),
            FrameKind::Welcome | FrameKind::Refusal | FrameKind::Server => {
                self.violations += 1;
                return Opened::Nothing;
            }
        }
        if frame.incarnation != self.incarnation {
            return self.refuse(Reason::Incarnation, echo, &frame);
        }
        let key = frame.cover.key;
        let owner = self.seal.owner(key);
        let Some(session) = self.session(route.peer, &frame, owner) else {
            self.violations += 1;
            return self.refuse(Reason::Token, echo, &frame);
        };
        if !self.numbers.is_own(frame.snid) {
            self.violations += 1;
            return Opened::Nothing;
        }
        let cover = Cover::of_token(frame.word, key);
        let recipient = Recipient { route, cover, snid: frame.snid, datagram_bytes: frame.datagram_bytes };
        let number = self.number(now, route.peer, frame.snid, owner);
        // Without keys anyone can use any number, so an address distinguishes clients that reuse
        // one. With a key the session does, and stays when the address changes.
        let tag = if self.seal.is_sealed() { session } else { cover.secret };
        Opened::Frame(Peer { recipient, number, tag }, body)
    }

    /// The session of a client, if its token fits its address and its key's `owner`.
    #[inline]
    fn session(&mut self, peer: SocketAddr, frame: &Frame, owner: u64) -> Option<u32> {
        let claim = Claim { peer, snid: frame.snid, owner, token: frame.word };
        if self.latest.0 != Some(claim) {
            let session = self.tokens.session(claim.snid, owner);
            if claim.token != self.tokens.of(peer, claim.snid, session) {
                return None;
            }
            self.latest = (Some(claim), session);
        }
        Some(self.latest.1)
    }

    #[inline]
    fn number(&mut self, now: Timestamp, peer: SocketAddr, snid: NodeId, owner: u64) -> NodeId {
        NodeId(self.hosts.number(peer, now, snid).0 | self.tenancy.bits(owner))
    }

    /// The client that a datagram claims to be of, and its number at the NIC.
    #[inline]
    fn claimed(&mut self, now: Timestamp, peer: SocketAddr, datagram: &[u8]) -> Option<(NodeId, NodeId)> {
        let snid = claimed(datagram)?;
        let owner = if self.tenancy.is_kept() { self.seal.claimed_owner(datagram)? } else { 0 };
        Some((snid, self.number(now, peer, snid, owner)))
    }

    #[cold]
    fn greet<'d>(&mut self, now: Timestamp, peer: SocketAddr, frame: &Frame, body: &[u8]) -> Opened<'d> {
        let Some(hello) = Hello::read(frame, body) else {
            self.violations += 1;
            return Opened::Nothing;
        };
        let key = frame.cover.key;
        // The kernel gives a datagram to its client's engine, whichever the hello came to. A
        // connection stays at its engine: another engine's client that connects here is a new one.
        let is_ours = !self.keeps_clients || self.numbers.is_own(hello.snid);
        let snid = match self.keeps_clients {
            _ if is_ours && self.knows(peer, &hello, key) => hello.snid,
            true => self.numbers.draw_own(),
            false => self.numbers.draw(),
        };
        let session = self.tokens.session(snid, self.seal.owner(key));
        let welcome = Welcome {
            domain: self.domain,
            echo: hello.echo,
            incarnation: self.incarnation,
            snid,
            token: self.tokens.of(peer, snid, session),
            datagram_bytes: DATAGRAM_BYTES_MAX,
            time_ns: now.as_ps() / 1000,
            rpc_bytes_max: self.rpc_bytes_max,
            reply_bytes_max: self.reply_bytes_max,
            unscheduled_packets: GRANTS.unscheduled,
            mtu_bytes: self.mtu_bytes,
            slo: self.slo,
        };
        Opened::of(welcome.datagram(&mut self.seal, key))
    }

    /// Whether the server has accepted this client. A client with a key may have changed its
    /// address: the owner's key proves who it is, and the welcome's path proves the address.
    fn knows(&self, peer: SocketAddr, hello: &Hello, key: KeyId) -> bool {
        let session = self.tokens.session(hello.snid, self.seal.owner(key));
        let is_same_session = hello.token >> 32 == u64::from(session);
        is_same_session && (self.seal.is_sealed() || hello.token == self.tokens.of(peer, hello.snid, session))
    }

    #[cold]
    fn refuse<'d>(&mut self, reason: Reason, echo: u64, frame: &Frame) -> Opened<'d> {
        let refused = Refused { reason, echo, incarnation: frame.incarnation, snid: frame.snid };
        // So that only a sender that saw the refused datagram can forge this one.
        Opened::of(refused.datagram(&mut self.seal, Cover::of_token(frame.word, frame.cover.key)))
    }

    /// Refuses the hello of a client of another messaging domain; ignores its other datagrams.
    #[cold]
    fn refuse_domain<'d>(&mut self, frame: &Frame, echo: u64) -> Opened<'d> {
        self.violations += 1;
        if frame.kind != FrameKind::Hello {
            return Opened::Nothing;
        }
        let refused = Refused { reason: Reason::Domain, echo, incarnation: 0, snid: NodeId(0) };
        Opened::of(refused.datagram(&mut Seal::Plain, Cover::default()))
    }

    /// Refuses bytes that could not be opened, if their sender may be a client of another version
    /// or without the key: in plain, so that it can read the refusal.
    #[cold]
    fn refuse_bytes<'d>(&mut self, error: FrameError, echo: u64) -> Opened<'d> {
        self.violations += 1;
        let reason = match error {
            FrameError::Version(_) => Reason::Version,
            FrameError::Sealing if self.seal.is_sealed() => Reason::KeyWanted,
            FrameError::Sealing => Reason::NoKey,
            FrameError::TooShort | FrameError::Kind | FrameError::Forged => return Opened::Strange,
        };
        let refused = Refused { reason, echo, incarnation: 0, snid: NodeId(0) };
        Opened::of(refused.datagram(&mut Seal::Plain, Cover::default()))
    }
}

/// The client that a datagram claims to be of.
#[inline]
fn claimed(datagram: &[u8]) -> Option<NodeId> {
    let is_client = datagram.len() >= SNID_AT + 4 && datagram[KIND_AT] == FrameKind::Client as u8;
    is_client.then(|| NodeId(word(datagram, SNID_AT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::key::{Key, Keys};
    use crate::net::{KernelWire, Time};
    use std::io;
    use std::os::fd::AsFd;
    use std::sync::Mutex;

    const ALWAYS: Timestamp = Timestamp::ZERO;

    fn validations(keys: &Keys) -> Vec<Validation> {
        let config = ServerConfig { keys: keys.clone(), ..ServerConfig::default() };
        let backend = config.backend_config().unwrap();
        let ports = Numbers::for_engines(2, 1).into_iter().map(|numbers| {
            let wire = KernelWire::bind("127.0.0.1:0".parse().unwrap()).unwrap();
            UdpPort::new(
                (&config, &backend),
                Box::new(wire),
                &[7; 32],
                numbers,
                Arc::default(),
                OneSided::try_new(&config).unwrap(),
                Watch::new(&Time::Machine),
            )
            .validation
        });
        ports.collect()
    }

    fn frame(validation: &Validation, peer: SocketAddr, snid: NodeId) -> Frame {
        let session = validation.tokens.session(snid, validation.seal.owner(validation.seal.first()));
        Frame {
            kind: FrameKind::Client,
            domain: validation.domain,
            incarnation: validation.incarnation,
            snid,
            datagram_bytes: 1232,
            word: validation.tokens.of(peer, snid, session),
            cover: Cover { secret: 0, key: validation.seal.first() },
        }
    }

    #[test]
    fn an_engine_takes_messages_of_its_own_clients_and_knows_the_tokens_of_the_others() {
        let mut engines = validations(&Keys::default());
        let peer: SocketAddr = "127.0.0.1:9".parse().unwrap();
        for number in 1..=4 {
            let frame = frame(&engines[0], peer, NodeId(number));
            let mut datagram = [0; 64];
            assert!(Seal::Plain.close(&frame, &mut datagram));
            for (index, engine) in (0..).zip(&mut engines) {
                let mut datagram = datagram;
                let opened = engine.open(ALWAYS, peer.into(), &mut datagram);
                let is_taken = matches!(opened, Opened::Frame(..));
                assert_eq!(is_taken, number % 2 == index, "client {number} at engine {index}");
            }
        }
        assert_eq!([engines[0].violations, engines[1].violations], [2, 2]);
    }

    #[test]
    fn no_two_engines_use_the_same_nonces() {
        let engines = validations(&Key::new([1; 32]).into());
        assert_ne!(engines[0].seal.lead(), engines[1].seal.lead());
    }

    /// The number of a client after a hello from `peer` with the number and token of `frame`.
    fn greeted(validation: &mut Validation, seal: &mut Seal, frame: &Frame, peer: SocketAddr) -> Option<NodeId> {
        let hello = Hello { domain: 0, echo: 1, snid: frame.snid, token: frame.word, datagram_bytes: 1232 };
        let mut hello = hello.datagram(seal)?;
        let Opened::Answer(mut welcome) = validation.open(ALWAYS, peer.into(), &mut hello) else { return None };
        let (frame, body) = seal.open(&mut welcome, 0).ok()?;
        Welcome::read(&frame, body).map(|welcome| welcome.snid)
    }

    #[test]
    fn a_client_stays_what_it_was_at_another_address_if_its_hello_is_sealed_with_a_key_of_the_same_owner() {
        let [home, elsewhere] = ["127.0.0.1:9", "127.0.0.2:9"].map(|address| address.parse().unwrap());
        let hex = |byte| Key::new([byte; 32]).to_hex();
        let keys: Keys = format!("ann {}\nann {}\nbob {}", hex(1), hex(2), hex(3)).parse().unwrap();
        let mut sealed = validations(&keys).remove(0);
        let frame = frame(&sealed, home, NodeId(1000));
        for (key, stays) in [(1, true), (2, true), (3, false)] {
            let mut seal = Seal::new(&Key::new([key; 32]).into(), [key; 16]);
            let snid = greeted(&mut sealed, &mut seal, &frame, elsewhere).unwrap();
            assert_eq!(snid == frame.snid, stays, "key {key}");
        }
        let forged = Frame { word: frame.word ^ 1 << 32, ..frame };
        let mut seal = Seal::new(&Key::new([1; 32]).into(), [9; 16]);
        assert_ne!(greeted(&mut sealed, &mut seal, &forged, home), Some(frame.snid));

        let mut plain = validations(&Keys::default()).remove(0);
        let frame = self::frame(&plain, home, NodeId(1000));
        assert_eq!(greeted(&mut plain, &mut Seal::Plain, &frame, home), Some(frame.snid));
        assert_ne!(greeted(&mut plain, &mut Seal::Plain, &frame, elsewhere), Some(frame.snid));
    }

    /// A wire that records its number of drop rules at each change and at each wait.
    #[derive(Debug, Default)]
    struct RulesWire {
        rules: usize,
        told: Arc<Mutex<Vec<(&'static str, usize)>>>,
    }

    impl RulesWire {
        fn tell(&self, what: &'static str) {
            self.told.lock().unwrap().push((what, self.rules));
        }
    }

    impl Wire for RulesWire {
        fn local(&self) -> SocketAddr {
            "127.0.0.1:9".parse().unwrap()
        }

        fn datagram_bytes_max(&self) -> usize {
            1232
        }

        fn send(&mut self, _: Route, _: &[u8], _: usize) -> io::Result<()> {
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn recv(&mut self, _: &mut dyn FnMut(Route, &mut [u8])) -> io::Result<usize> {
            Ok(0)
        }

        fn set_drop_rules(&mut self, rules: &[WireRule]) -> io::Result<()> {
            self.rules = rules.len();
            self.tell("set");
            Ok(())
        }

        fn wait(&mut self, _: Option<Duration>, _: Option<BorrowedFd<'_>>) -> io::Result<()> {
            self.tell("wait");
            Ok(())
        }
    }

    #[test]
    fn nothing_is_dropped_early_while_the_engine_sleeps() {
        let (config, told) = (ServerConfig::default(), Arc::default());
        let backend = config.backend_config().unwrap();
        let wire = Box::new(RulesWire { rules: 0, told: Arc::clone(&told) });
        let numbers = Numbers::for_engines(1, 1).remove(0);
        let mut port = UdpPort::new(
            (&config, &backend),
            wire,
            &[7; 32],
            numbers,
            Arc::default(),
            OneSided::try_new(&config).unwrap(),
            Watch::new(&Time::Machine),
        );
        let (now, peer) = (Timestamp::ZERO + Span::from_secs(1), "127.0.0.2:9".parse().unwrap());
        for _ in 0..1000 {
            port.early_drop.note(now, peer, NodeId(1), (1000, 1000), &mut None);
        }
        let rules = port.early_drop.end_turn(now, false, &mut None).map(<[_]>::to_vec).unwrap();
        set_drop_rules(&mut *port.wire, &rules);
        let parker = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        for _ in 0..2 {
            assert!(port.wait(None, parker.as_fd()));
        }
        // Dropped datagrams wake no engine, so the rule must go before the first sleep, once.
        assert_eq!(*told.lock().unwrap(), [("set", 1), ("set", 0), ("wait", 0), ("wait", 0)]);
    }
}
