//! Parses and writes a group's configuration, inputs and decisions.

use super::{GroupDecision, GroupInput, GroupLine, GroupSetup};
use crate::backend::GroupConfig;
use crate::decision::ParseDecisionError;
use crate::decision::text::{Words, arrival, parse, read_line, write_line};
use crate::id::GroupId;
use crate::schedule::{ManagerConfig, Migration, ThresholdRow, Thresholds};
use crate::time::Span;
use crate::verdict::Arrival;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// Pairs of numbers, `A:B,C:D`; `-` for none.
struct Pairs<I>(I);

impl<I: Iterator<Item = (u32, u32)> + Clone> fmt::Display for Pairs<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pairs = self.0.clone().peekable();
        if pairs.peek().is_none() {
            return f.write_str("-");
        }
        while let Some((left, right)) = pairs.next() {
            let comma = if pairs.peek().is_some() { "," } else { "" };
            write!(f, "{left}:{right}{comma}")?;
        }
        Ok(())
    }
}

fn pairs(text: &str) -> Result<Vec<(u32, u32)>, &'static str> {
    let pair = |text: &str| {
        let (left, right) = text.split_once(':')?;
        Some((left.parse().ok()?, right.parse().ok()?))
    };
    if text == "-" { Ok(Vec::new()) } else { text.split(',').map(pair).collect::<Option<_>>().ok_or("A:B,…") }
}

fn rows(thresholds: &Thresholds) -> Pairs<impl Iterator<Item = (u32, u32)> + Clone + '_> {
    Pairs(thresholds.rows().iter().map(|row| (row.load_permille, row.waiting)))
}

fn thresholds(text: &str) -> Result<Thresholds, &'static str> {
    let rows = pairs(text)?.into_iter().map(|(load_permille, waiting)| ThresholdRow { load_permille, waiting });
    Thresholds::try_from_rows(rows.collect()).map_err(|_| "thresholds by rising load")
}

struct Rpc<'a>(&'a Arrival);

impl fmt::Display for Rpc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Arrival { rpc, slots, bytes, key_hash, arrived } = self.0;
        write!(f, "rpc={rpc} slots={slots} bytes={bytes} key={key_hash} arrived={}", arrived.as_ps())
    }
}

impl fmt::Display for GroupSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GroupConfig { backend, group, groups, foreign_max } = self.group;
        let ManagerConfig { period, bulk, concurrency, window, window_capacity, thresholds, .. } = &self.manager;
        write!(f, "group={} groups={groups} foreign_max={foreign_max} ", group.0)?;
        write!(f, "period_ps={} bulk={bulk} concurrency={concurrency} ", period.as_ps())?;
        write!(f, "window_ps={} window_capacity={window_capacity} ", window.as_ps())?;
        write!(f, "thresholds={} {backend}", rows(thresholds))
    }
}

impl FromStr for GroupSetup {
    type Err = ParseDecisionError;
    fn from_str(text: &str) -> Result<Self, ParseDecisionError> {
        // The back end's words are last, in any order.
        let at = text.find(" domain=").unwrap_or(text.len());
        let (own, backend) = text.split_at(at);
        let backend = backend.parse();
        parse(own, |words| {
            let backend = backend.map_err(|_| "a back end's configuration")?;
            let (group, groups) = (GroupId(words.named("group")?), words.named("groups")?);
            let foreign_max = words.named("foreign_max")?;
            let period = Span::from_ps(words.named("period_ps")?);
            let (bulk, concurrency) = (words.named("bulk")?, words.named("concurrency")?);
            let window = Span::from_ps(words.named("window_ps")?);
            let window_capacity = words.named("window_capacity")?;
            let thresholds = thresholds(words.value_of("thresholds")?)?;
            let manager =
                ManagerConfig { group, groups, period, bulk, concurrency, window, window_capacity, thresholds };
            Ok(Self { group: GroupConfig { backend, group, groups, foreign_max }, manager })
        })
    }
}

impl fmt::Display for GroupInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nic(input) => input.fmt(f),
            Self::Manage { waiting, published } => {
                let published = Pairs(published.iter().map(|(group, length)| (u32::from(group.0), *length)));
                write!(f, "manage waiting={waiting} published={published}")
            }
            Self::Thresholds(thresholds) => write!(f, "thresholds {}", rows(thresholds)),
            Self::Take { to } => write!(f, "take to={}", to.0),
            Self::Adopt(arrival) => write!(f, "adopt {}", Rpc(arrival)),
            Self::SentBack { by, arrival } => write!(f, "sent-back by={} {}", by.0, Rpc(arrival)),
            Self::Returned { by, slots } => write!(f, "returned by={} slots={slots}", by.0),
        }
    }
}

impl FromStr for GroupInput {
    type Err = ParseDecisionError;
    fn from_str(text: &str) -> Result<Self, ParseDecisionError> {
        let (first, _) = text.trim().split_once(' ').unwrap_or((text, ""));
        let read: fn(&mut Words<'_>) -> Result<Self, &'static str> = match first {
            "manage" => manage,
            "thresholds" => |words| Ok(Self::Thresholds(thresholds(words.next("A:B,…")?)?)),
            "take" => |words| Ok(Self::Take { to: GroupId(words.named("to")?) }),
            "adopt" => |words| arrival(words).map(Self::Adopt),
            "sent-back" => |words| Ok(Self::SentBack { by: GroupId(words.named("by")?), arrival: arrival(words)? }),
            "returned" => |words| Ok(Self::Returned { by: GroupId(words.named("by")?), slots: words.slots()? }),
            _ => return text.parse().map(Self::Nic),
        };
        parse(text, |words| {
            words.next("an input")?;
            read(words)
        })
    }
}

fn manage(words: &mut Words<'_>) -> Result<GroupInput, &'static str> {
    let waiting = words.named("waiting")?;
    let group = |(group, length)| u16::try_from(group).map(|group| (GroupId(group), length)).map_err(|_| "a group");
    let published = pairs(words.value_of("published")?)?.into_iter().map(group).collect::<Result<_, _>>()?;
    Ok(GroupInput::Manage { waiting, published })
}

impl fmt::Display for GroupDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nic(decision) => decision.fmt(f),
            Self::Migrate(Migration { to, count }) => write!(f, "migrate to={} count={count}", to.0),
            Self::Handed(arrival) => write!(f, "handed {}", Rpc(arrival)),
            Self::Adopted => f.write_str("adopted"),
            Self::TurnedAway => f.write_str("turned-away"),
            Self::WaitsAgain => f.write_str("waits-again"),
        }
    }
}

impl FromStr for GroupDecision {
    type Err = ParseDecisionError;
    fn from_str(text: &str) -> Result<Self, ParseDecisionError> {
        let text = text.trim();
        let (first, _) = text.split_once(' ').unwrap_or((text, ""));
        let read: fn(&mut Words<'_>) -> Result<Self, &'static str> = match first {
            "migrate" => {
                |words| Ok(Self::Migrate(Migration { to: GroupId(words.named("to")?), count: words.named("count")? }))
            }
            "handed" => |words| arrival(words).map(Self::Handed),
            "adopted" => |_| Ok(Self::Adopted),
            "turned-away" => |_| Ok(Self::TurnedAway),
            "waits-again" => |_| Ok(Self::WaitsAgain),
            _ => return text.parse().map(Self::Nic),
        };
        parse(text, |words| {
            words.next("a decision")?;
            read(words)
        })
    }
}

impl fmt::Display for GroupLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, self.at, &self.input, &self.decisions)
    }
}

impl FromStr for GroupLine {
    type Err = ParseDecisionError;
    fn from_str(text: &str) -> Result<Self, ParseDecisionError> {
        let (at, input, decisions) = read_line(text)?;
        Ok(Self { at, input, decisions })
    }
}
