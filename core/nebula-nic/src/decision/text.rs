//! Parses and writes inputs and decisions.

mod engine;

use super::line::{Decision, Input, LogLine, PoolStep, RefuseStep, TurnStep};
use crate::early_drop::DropRule;
use crate::ending::NEVER;
use crate::fair_share::{Sources, Tenants};
use crate::id::{CoreId, GroupId, NodeId, RpcKey, Slot, SlotRange, TransferId};
use crate::pool::PoolConfig;
use crate::schedule::turns::{Next, SUSPENDED_MAX, Yielded};
use crate::schedule::typed_queues::RpcType;
use crate::time::{Span, Timestamp};
use crate::turn::Refusal;
use crate::verdict::{Abandoned, Arrival, Dispatch, Freed, Verdict};
use crate::wire::{Header, Kind};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::{FromStr, SplitWhitespace};

/// The text is not an input, a decision or a line of a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read \"{text}\": expected {expected}")]
pub struct ParseDecisionError {
    pub(in crate::decision) text: String,
    pub(in crate::decision) expected: &'static str,
}

spelled! {
    Kind { Request = "request", Reply = "reply", Nack = "nack", Ack = "ack" } else |text| -> &'static str {
        "request, reply, nack or ack"
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(header) => {
                let Header { kind, rpc_bytes, pkt_idx, key_hash, .. } = header;
                write!(f, "packet {kind} {} bytes={rpc_bytes} idx={pkt_idx} key={key_hash}", header.rpc())
            }
            Self::Free { core, slots } => write!(f, "free core={} slots={slots}", core.0),
            Self::Type(kind) => write!(f, "type {}", kind.0),
            Self::Timeout => f.write_str("timeout"),
            Self::PeerGone(snid) => write!(f, "peer-gone {}", snid.0),
            Self::QueueBound(waiting) => write!(f, "queue-bound {waiting}"),
            Self::Poll => f.write_str("poll"),
            Self::Pull { core } => write!(f, "pull core={}", core.0),
            Self::Steal { core, queues } => write!(f, "steal core={} queues={queues:x}", core.0),
            Self::Turn { core, step } => write!(f, "turn core={} {step}", core.0),
            Self::Over { rpc, deadline, is_cancelled } => {
                write!(f, "over {rpc} ")?;
                write_patience(f, *deadline, *is_cancelled)
            }
            Self::Crowd { rpc, host, bytes } => write!(f, "crowd {rpc} host={host} bytes={bytes}"),
            Self::Hold { host, slots } => write!(f, "hold host={host} slots={slots}"),
            Self::GiveBack { host, slots } => write!(f, "give-back host={host} slots={slots}"),
            Self::Keep { held, bytes } => write!(f, "keep held={held} bytes={bytes}"),
            Self::Refuse(RefuseStep::Start { each }) => write!(f, "refuse start each_ps={}", each.as_ps()),
            Self::Refuse(RefuseStep::Judge { asks_little }) => write!(f, "refuse light={}", u8::from(*asks_little)),
            Self::Refuse(RefuseStep::Count) => f.write_str("refuse sent"),
            Self::Pool(PoolStep::Start(PoolConfig { slo, threads, most, sources, tenants })) => {
                let Sources { shift, bits } = sources;
                write!(f, "pool start slo_ps={} threads={threads} most={most} sources={shift}+{bits}", slo.as_ps())?;
                if *tenants == Tenants::ONE { f.write_str(" tenants=one") } else { write!(f, " tenants={tenants}") }
            }
            Self::Pool(PoolStep::Judge(client)) => write!(f, "pool client={}", client.0),
            Self::Pool(PoolStep::Next) => f.write_str("pool next"),
            Self::Pool(PoolStep::End(took)) => write!(f, "pool end took_ps={}", took.as_ps()),
            Self::Pool(PoolStep::Over { deadline, is_cancelled }) => {
                f.write_str("pool over ")?;
                write_patience(f, *deadline, *is_cancelled)
            }
            Self::Pace(step) => write!(f, "pace {step}"),
            Self::LongTurn(step) => write!(f, "long-turn {step}"),
            Self::Early(step) => write!(f, "early {step}"),
        }
    }
}

/// How long a client waits.
fn write_patience(f: &mut fmt::Formatter<'_>, deadline: Timestamp, is_cancelled: bool) -> fmt::Result {
    f.write_str("deadline=")?;
    match deadline {
        NEVER => f.write_str("never")?,
        deadline => write!(f, "{}", deadline.as_ps())?,
    }
    write!(f, " cancelled={}", u8::from(is_cancelled))
}

impl fmt::Display for TurnStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { quantum, suspended_max } => {
                write!(f, "start quantum_ps={} suspended={suspended_max}", quantum.as_ps())
            }
            Self::Given => f.write_str("given"),
            Self::Next => f.write_str("next"),
            Self::NextSuspended => f.write_str("next-suspended"),
            Self::Yield => f.write_str("yield"),
            Self::End => f.write_str("end"),
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(Verdict::Write { slots, offset_bytes, bytes, complete }) => {
                let state = if *complete { "complete" } else { "more" };
                write!(f, "write slots={slots} offset={offset_bytes} bytes={bytes} {state}")
            }
            Self::Packet(Verdict::Nack { reason }) => write!(f, "nack {reason}"),
            Self::Packet(Verdict::Drop { reason }) => write!(f, "drop {reason}"),
            Self::Free(Freed::Taken) => f.write_str("freed"),
            Self::Free(Freed::Refused) => f.write_str("refused"),
            Self::Free(Freed::Foreign { origin }) => write!(f, "foreign origin={}", origin.0),
            Self::Abandoned(Abandoned { rpc, slots }) => write!(f, "abandoned {rpc} slots={slots}"),
            Self::Dispatch(Dispatch { core, arrival }) => {
                let Arrival { rpc, slots, bytes, key_hash, arrived } = arrival;
                write!(f, "dispatch core={} rpc={rpc} slots={slots} bytes={bytes} ", core.0)?;
                write!(f, "key={key_hash} arrived={}", arrived.as_ps())
            }
            Self::Victim(core) => write!(f, "victim={}", core.0),
            Self::Turn(Next::Begin { context }) => write!(f, "begin context={context}"),
            Self::Turn(Next::Resume { context }) => write!(f, "resume context={context}"),
            Self::Yield(Yielded::Runs) => f.write_str("runs"),
            Self::Yield(Yielded::Suspended) => f.write_str("suspended"),
            Self::Fits => f.write_str("fits"),
            Self::Refusal(Refusal::Answered) => f.write_str("answered"),
            Self::Refusal(Refusal::Silent) => f.write_str("silent"),
            Self::First => f.write_str("first"),
            Self::Last => f.write_str("last"),
            Self::Bound(bound) => write!(f, "bound={bound}"),
            Self::Together(rpcs) => write!(f, "together={rpcs}"),
            Self::Serves(span) => write!(f, "serves_ps={}", span.as_ps()),
            Self::Pass(DropRule { peer, snid, pass }) => write!(f, "pass peer={peer} client={} part={pass}", snid.0),
            Self::PassAll => f.write_str("pass-all"),
        }
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, self.at, &self.input, &self.decisions)
    }
}

pub(in crate::decision) fn write_line(
    f: &mut fmt::Formatter<'_>,
    at: Timestamp,
    input: &impl fmt::Display,
    decisions: &[impl fmt::Display],
) -> fmt::Result {
    write!(f, "{} {input} -> ", at.as_ps())?;
    let Some((last, before)) = decisions.split_last() else { return f.write_str("-") };
    for decision in before {
        write!(f, "{decision}; ")?;
    }
    write!(f, "{last}")
}

pub(in crate::decision) fn read_line<I, D>(text: &str) -> Result<(Timestamp, I, Vec<D>), ParseDecisionError>
where
    I: FromStr<Err = ParseDecisionError>,
    D: FromStr<Err = ParseDecisionError>,
{
    let malformed = |expected| ParseDecisionError { text: text.into(), expected };
    let (cause, decisions) = text.split_once(" -> ").ok_or_else(|| malformed("INPUT -> DECISIONS"))?;
    let (at, input) = cause.trim().split_once(' ').ok_or_else(|| malformed("PICOSECONDS INPUT"))?;
    let at = at.parse().map(Timestamp::from_ps).map_err(|_| malformed("picoseconds"))?;
    let decisions = match decisions.trim() {
        "-" => Vec::new(),
        decisions => decisions.split(';').map(str::parse).collect::<Result<_, _>>()?,
    };
    Ok((at, input.parse()?, decisions))
}

/// Parses a whole text with `read`, which says what it expected if it fails.
pub(in crate::decision) fn parse<T>(
    text: &str,
    read: impl FnOnce(&mut Words<'_>) -> Result<T, &'static str>,
) -> Result<T, ParseDecisionError> {
    let mut words = Words(text.split_whitespace());
    let value = read(&mut words).and_then(|value| words.end().map(|()| value));
    value.map_err(|expected| ParseDecisionError { text: text.into(), expected })
}

impl FromStr for Input {
    type Err = ParseDecisionError;
    fn from_str(text: &str) -> Result<Self, ParseDecisionError> {
        parse(text, input)
    }
}

impl FromStr for Decision {
    type Err = ParseDecisionError;
    fn from_str(text: &str) -> Result<Self, ParseDecisionError> {
        parse(text, decision)
    }
}

impl FromStr for LogLine {
    type Err = ParseDecisionError;
    fn from_str(text: &str) -> Result<Self, ParseDecisionError> {
        let (at, input, decisions) = read_line(text)?;
        Ok(Self { at, input, decisions })
    }
}

fn input(words: &mut Words<'_>) -> Result<Input, &'static str> {
    match words.next("an input")? {
        "packet" => packet(words).map(Input::Packet),
        "free" => Ok(Input::Free { core: CoreId(words.named("core")?), slots: words.slots()? }),
        "type" => Ok(Input::Type(RpcType(words.number()?))),
        "timeout" => Ok(Input::Timeout),
        "peer-gone" => Ok(Input::PeerGone(NodeId(words.number()?))),
        "queue-bound" => Ok(Input::QueueBound(words.number()?)),
        "poll" => Ok(Input::Poll),
        "pull" => Ok(Input::Pull { core: CoreId(words.named("core")?) }),
        "steal" => {
            let core = CoreId(words.named("core")?);
            let queues = u64::from_str_radix(words.value_of("queues")?, 16).map_err(|_| "queues=HEX")?;
            Ok(Input::Steal { core, queues })
        }
        "turn" => Ok(Input::Turn { core: CoreId(words.named("core")?), step: turn_step(words)? }),
        "over" => {
            let rpc = rpc(words.next("SNID.TID")?)?;
            let (deadline, is_cancelled) = patience(words)?;
            Ok(Input::Over { rpc, deadline, is_cancelled })
        }
        "crowd" => {
            let rpc = rpc(words.next("SNID.TID")?)?;
            Ok(Input::Crowd { rpc, host: words.named("host")?, bytes: words.named("bytes")? })
        }
        "hold" => Ok(Input::Hold { host: words.named("host")?, slots: words.named("slots")? }),
        "give-back" => Ok(Input::GiveBack { host: words.named("host")?, slots: words.named("slots")? }),
        "keep" => Ok(Input::Keep { held: words.named("held")?, bytes: words.named("bytes")? }),
        "refuse" => refuse_step(words).map(Input::Refuse),
        "pool" => pool_step(words).map(Input::Pool),
        "pace" => engine::pace_step(words).map(Input::Pace),
        "long-turn" => engine::long_turn_step(words).map(Input::LongTurn),
        "early" => engine::early_step(words).map(Input::Early),
        _ => Err(concat!(
            "packet, free, type, timeout, peer-gone, queue-bound, poll, pull, steal, turn, over, crowd, hold, ",
            "give-back, keep, refuse, pool, pace, long-turn or early"
        )),
    }
}

fn pool_step(words: &mut Words<'_>) -> Result<PoolStep, &'static str> {
    let first = words.next("start, client=N, next, end or over")?;
    if let Some(client) = first.strip_prefix("client=") {
        return client.parse().map(|client| PoolStep::Judge(NodeId(client))).map_err(|_| "client=SNID");
    }
    match first {
        "start" => {
            let (slo, threads) = (Span::from_ps(words.named("slo_ps")?), words.named("threads")?);
            let most = words.named("most")?;
            let (shift, bits) = words.value_of("sources")?.split_once('+').ok_or("sources=SHIFT+BITS")?;
            let number = |text: &str| text.parse().map_err(|_| "sources=SHIFT+BITS");
            let sources = Sources { shift: number(shift)?, bits: number(bits)? };
            let tenants = match words.value_of("tenants")? {
                "one" => Tenants::ONE,
                tenants => tenants.parse()?,
            };
            if !sources.is_possible() || !tenants.are_possible() {
                return Err("sources and tenants in the bits of a number");
            }
            Ok(PoolStep::Start(PoolConfig { slo, threads, most, sources, tenants }))
        }
        "next" => Ok(PoolStep::Next),
        "end" => Ok(PoolStep::End(Span::from_ps(words.named("took_ps")?))),
        "over" => {
            let (deadline, is_cancelled) = patience(words)?;
            Ok(PoolStep::Over { deadline, is_cancelled })
        }
        _ => Err("start, client=N, next, end or over"),
    }
}

fn patience(words: &mut Words<'_>) -> Result<(Timestamp, bool), &'static str> {
    let deadline = match words.value_of("deadline")? {
        "never" => NEVER,
        ps => ps.parse().map(Timestamp::from_ps).map_err(|_| "deadline=PICOSECONDS or deadline=never")?,
    };
    Ok((deadline, words.flag("cancelled")?))
}

fn refuse_step(words: &mut Words<'_>) -> Result<RefuseStep, &'static str> {
    match words.next("start, light=0, light=1 or sent")? {
        "start" => {
            let each = Span::from_ps(words.named("each_ps")?);
            if each == Span::ZERO { Err("each_ps=MORE_THAN_0") } else { Ok(RefuseStep::Start { each }) }
        }
        "light=0" => Ok(RefuseStep::Judge { asks_little: false }),
        "light=1" => Ok(RefuseStep::Judge { asks_little: true }),
        "sent" => Ok(RefuseStep::Count),
        _ => Err("start, light=0, light=1 or sent"),
    }
}

fn turn_step(words: &mut Words<'_>) -> Result<TurnStep, &'static str> {
    match words.next("what happens at the core")? {
        "start" => {
            let quantum = Span::from_ps(words.named("quantum_ps")?);
            let suspended_max = words.named("suspended")?;
            if quantum == Span::ZERO || suspended_max > SUSPENDED_MAX {
                return Err("quantum_ps=MORE_THAN_0 suspended=AT_MOST_62");
            }
            Ok(TurnStep::Start { quantum, suspended_max })
        }
        "given" => Ok(TurnStep::Given),
        "next" => Ok(TurnStep::Next),
        "next-suspended" => Ok(TurnStep::NextSuspended),
        "yield" => Ok(TurnStep::Yield),
        "end" => Ok(TurnStep::End),
        _ => Err("start, given, next, next-suspended, yield or end"),
    }
}

fn packet(words: &mut Words<'_>) -> Result<Header, &'static str> {
    let kind = words.next("a kind")?.parse()?;
    let RpcKey { snid, tid } = rpc(words.next("SNID.TID")?)?;
    let rpc_bytes = words.named("bytes")?;
    Ok(Header { kind, snid, tid, rpc_bytes, pkt_idx: words.named("idx")?, key_hash: words.named("key")? })
}

fn decision(words: &mut Words<'_>) -> Result<Decision, &'static str> {
    let first = words.next("a decision")?;
    if let Some((name, value)) = first.split_once('=') {
        return named_decision(name, value);
    }
    match first {
        "write" => write(words).map(Decision::Packet),
        "nack" => Ok(Decision::Packet(Verdict::Nack { reason: words.parsed("a reason of a nack")? })),
        "drop" => Ok(Decision::Packet(Verdict::Drop { reason: words.parsed("a reason of a drop")? })),
        "freed" => Ok(Decision::Free(Freed::Taken)),
        "refused" => Ok(Decision::Free(Freed::Refused)),
        "foreign" => Ok(Decision::Free(Freed::Foreign { origin: GroupId(words.named("origin")?) })),
        "abandoned" => {
            let rpc = rpc(words.next("SNID.TID")?)?;
            Ok(Decision::Abandoned(Abandoned { rpc, slots: words.slots()? }))
        }
        "dispatch" => dispatch(words).map(Decision::Dispatch),
        "begin" => Ok(Decision::Turn(Next::Begin { context: words.named("context")? })),
        "resume" => Ok(Decision::Turn(Next::Resume { context: words.named("context")? })),
        "runs" => Ok(Decision::Yield(Yielded::Runs)),
        "suspended" => Ok(Decision::Yield(Yielded::Suspended)),
        "fits" => Ok(Decision::Fits),
        "answered" => Ok(Decision::Refusal(Refusal::Answered)),
        "silent" => Ok(Decision::Refusal(Refusal::Silent)),
        "first" => Ok(Decision::First),
        "last" => Ok(Decision::Last),
        "pass" => engine::pass(words),
        "pass-all" => Ok(Decision::PassAll),
        _ => Err(concat!(
            "write, nack, drop, freed, refused, foreign, abandoned, dispatch, victim=CORE, begin, resume, runs, ",
            "suspended, fits, answered, silent, first, last, bound=N, together=N, serves_ps=N, pass or pass-all"
        )),
    }
}

/// A decision of one word, `NAME=VALUE`.
fn named_decision(name: &str, value: &str) -> Result<Decision, &'static str> {
    let number = |expected| value.parse().map_err(|_| expected);
    match name {
        "victim" => value.parse().map(|core| Decision::Victim(CoreId(core))).map_err(|_| "victim=CORE"),
        "bound" => number("bound=N").map(Decision::Bound),
        "together" => number("together=N").map(Decision::Together),
        "serves_ps" => value.parse().map(|ps| Decision::Serves(Span::from_ps(ps))).map_err(|_| "serves_ps=N"),
        _ => Err("victim=CORE, bound=N, together=N or serves_ps=N"),
    }
}

fn write(words: &mut Words<'_>) -> Result<Verdict, &'static str> {
    let slots = words.slots()?;
    let (offset_bytes, bytes) = (words.named("offset")?, words.named("bytes")?);
    let complete = match words.next("complete or more")? {
        "complete" => true,
        "more" => false,
        _ => return Err("complete or more"),
    };
    Ok(Verdict::Write { slots, offset_bytes, bytes, complete })
}

fn dispatch(words: &mut Words<'_>) -> Result<Dispatch, &'static str> {
    Ok(Dispatch { core: CoreId(words.named("core")?), arrival: arrival(words)? })
}

pub(in crate::decision) fn arrival(words: &mut Words<'_>) -> Result<Arrival, &'static str> {
    let rpc = rpc(words.value_of("rpc")?)?;
    let (slots, bytes, key_hash) = (words.slots()?, words.named("bytes")?, words.named("key")?);
    let arrived = Timestamp::from_ps(words.named("arrived")?);
    Ok(Arrival { rpc, slots, bytes, key_hash, arrived })
}

fn rpc(text: &str) -> Result<RpcKey, &'static str> {
    let (snid, tid) = pair(text, '.').ok_or("SNID.TID")?;
    Ok(RpcKey { snid: NodeId(snid), tid: TransferId(tid) })
}

fn pair(text: &str, separator: char) -> Option<(u32, u32)> {
    let (left, right) = text.split_once(separator)?;
    Some((left.parse().ok()?, right.parse().ok()?))
}

pub(in crate::decision) struct Words<'a>(SplitWhitespace<'a>);

impl<'a> Words<'a> {
    pub(in crate::decision) fn next(&mut self, expected: &'static str) -> Result<&'a str, &'static str> {
        self.0.next().ok_or(expected)
    }

    fn parsed<T: FromStr>(&mut self, expected: &'static str) -> Result<T, &'static str> {
        self.next(expected)?.parse().map_err(|_| expected)
    }

    fn number<T: FromStr>(&mut self) -> Result<T, &'static str> {
        self.parsed("a whole number that fits")
    }

    pub(in crate::decision) fn value_of(&mut self, name: &'static str) -> Result<&'a str, &'static str> {
        self.next(name)?.strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).ok_or(name)
    }

    pub(in crate::decision) fn named<T: FromStr>(&mut self, name: &'static str) -> Result<T, &'static str> {
        self.value_of(name)?.parse().map_err(|_| name)
    }

    fn flag(&mut self, name: &'static str) -> Result<bool, &'static str> {
        match self.value_of(name)? {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(name),
        }
    }

    pub(in crate::decision) fn slots(&mut self) -> Result<SlotRange, &'static str> {
        let (start, slots) = pair(self.value_of("slots")?, '+').ok_or("slots=START+COUNT")?;
        Ok(SlotRange { start: Slot(start), slots })
    }

    fn end(&mut self) -> Result<(), &'static str> {
        if self.0.next().is_none() { Ok(()) } else { Err("no further words") }
    }
}
