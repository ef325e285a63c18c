//! Parses and writes the steps of an engine's pace, of its long turns, and of early drop.

use super::Words;
use crate::decision::line::{Decision, EarlyStep, IDLE_TURNS_MAX, LongTurnStep, PaceStep};
use crate::early_drop::DropRule;
use crate::id::NodeId;
use crate::sizing::QueueRule;
use crate::time::Span;
use crate::turn::PaceConfig;
use core::fmt;

impl fmt::Display for PaceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Start(PaceConfig { slo, service_mean, workers, is_inline, replies_later, queue }) => {
                write!(f, "start slo_ps={} service_ps={} workers={workers} ", slo.as_ps(), service_mean.as_ps())?;
                write!(f, "inline={} later={} queue=", u8::from(is_inline), u8::from(replies_later))?;
                match queue {
                    None => f.write_str("none"),
                    Some(QueueRule { slo, workers, in_worker_queues }) => {
                        write!(f, "{}/{workers}/{in_worker_queues}", slo.as_ps())
                    }
                }
            }
            Self::EndTurn { work, served, waiting } => write!(f, "turn work={work} served={served} waiting={waiting}"),
            Self::Idle { turns } => write!(f, "idle turns={turns}"),
            Self::EndServing { took, served, most } => {
                write!(f, "serving took_ps={} served={served} most={most}", took.as_ps())
            }
            Self::EndIngress { turned_away } => write!(f, "ingress turned_away={turned_away}"),
            Self::LeaveOut => f.write_str("left-out"),
            Self::Floor { bound } => write!(f, "floor bound={bound}"),
            Self::HasRested => f.write_str("rested"),
            Self::Unfinished => f.write_str("unfinished"),
            Self::BesideRefusals { ingress } => write!(f, "ingress-took took_ps={}", ingress.as_ps()),
        }
    }
}

impl fmt::Display for LongTurnStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { slo } => write!(f, "start slo_ps={}", slo.as_ps()),
            Self::End { elapsed: None } => f.write_str("end idle"),
            Self::End { elapsed: Some(elapsed) } => write!(f, "end elapsed_ps={}", elapsed.as_ps()),
        }
    }
}

impl fmt::Display for EarlyStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { clients_max } => write!(f, "start clients={clients_max}"),
            Self::Note { peer, snid, came, lost } => write!(f, "datagram {peer} {} came={came} lost={lost}", snid.0),
            Self::EndTurn { is_idle } => write!(f, "turn idle={}", u8::from(*is_idle)),
            Self::End => f.write_str("end"),
        }
    }
}

pub(super) fn pace_step(words: &mut Words<'_>) -> Result<PaceStep, &'static str> {
    match words.next("a step of a pace")? {
        "start" => {
            let (slo, service_mean) = (words.span("slo_ps")?, words.span("service_ps")?);
            if service_mean == Span::ZERO {
                return Err("service_ps=MORE_THAN_0");
            }
            let workers = words.named("workers")?;
            let (is_inline, replies_later) = (words.flag("inline")?, words.flag("later")?);
            let queue = queue(words.value_of("queue")?)?;
            Ok(PaceStep::Start(PaceConfig { slo, service_mean, workers, is_inline, replies_later, queue }))
        }
        "turn" => {
            let (work, served) = (words.named("work")?, words.named("served")?);
            Ok(PaceStep::EndTurn { work, served, waiting: words.named("waiting")? })
        }
        "idle" => {
            let turns = words.named("turns")?;
            if turns > IDLE_TURNS_MAX { Err("turns=AT_MOST_1048576") } else { Ok(PaceStep::Idle { turns }) }
        }
        "serving" => {
            let (took, served) = (words.span("took_ps")?, words.named("served")?);
            Ok(PaceStep::EndServing { took, served, most: words.named("most")? })
        }
        "ingress" => Ok(PaceStep::EndIngress { turned_away: words.named("turned_away")? }),
        "ingress-took" => Ok(PaceStep::BesideRefusals { ingress: words.span("took_ps")? }),
        "left-out" => Ok(PaceStep::LeaveOut),
        "floor" => Ok(PaceStep::Floor { bound: words.named("bound")? }),
        "rested" => Ok(PaceStep::HasRested),
        "unfinished" => Ok(PaceStep::Unfinished),
        _ => Err("start, turn, idle, serving, ingress, ingress-took, left-out, floor, rested or unfinished"),
    }
}

fn queue(text: &str) -> Result<Option<QueueRule>, &'static str> {
    const EXPECTED: &str = "queue=SLO_PS/WORKERS/IN_WORKERS or queue=none";
    if text == "none" {
        return Ok(None);
    }
    let read = || {
        let (slo, rest) = text.split_once('/')?;
        let (workers, in_workers) = rest.split_once('/')?;
        let in_workers: u16 = in_workers.parse().ok()?;
        let slo = Span::from_ps(slo.parse().ok()?);
        Some(QueueRule { slo, workers: workers.parse().ok()?, in_worker_queues: in_workers.into() })
    };
    read().map(Some).ok_or(EXPECTED)
}

pub(super) fn long_turn_step(words: &mut Words<'_>) -> Result<LongTurnStep, &'static str> {
    const ENDS: &str = "idle or elapsed_ps=PICOSECONDS";
    match words.next("start or end")? {
        "start" => Ok(LongTurnStep::Start { slo: words.span("slo_ps")? }),
        "end" => match words.next(ENDS)? {
            "idle" => Ok(LongTurnStep::End { elapsed: None }),
            elapsed => {
                let ps = elapsed.strip_prefix("elapsed_ps=").and_then(|ps| ps.parse().ok()).ok_or(ENDS)?;
                Ok(LongTurnStep::End { elapsed: Some(Span::from_ps(ps)) })
            }
        },
        _ => Err("start or end"),
    }
}

pub(super) fn early_step(words: &mut Words<'_>) -> Result<EarlyStep, &'static str> {
    match words.next("a step of early drop")? {
        "start" => Ok(EarlyStep::Start { clients_max: words.named("clients")? }),
        "datagram" => {
            let (peer, snid) = (words.parsed("ADDRESS:PORT")?, NodeId(words.number()?));
            let (came, lost) = (words.named("came")?, words.named("lost")?);
            if lost > came {
                return Err("lost=AT_MOST_CAME");
            }
            Ok(EarlyStep::Note { peer, snid, came, lost })
        }
        "turn" => Ok(EarlyStep::EndTurn { is_idle: words.flag("idle")? }),
        "end" => Ok(EarlyStep::End),
        _ => Err("start, datagram, turn or end"),
    }
}

pub(super) fn pass(words: &mut Words<'_>) -> Result<Decision, &'static str> {
    let (peer, client) = (words.named("peer")?, words.named("client")?);
    Ok(Decision::Pass(DropRule { peer, snid: NodeId(client), pass: words.named("part")? }))
}

impl Words<'_> {
    fn span(&mut self, name: &'static str) -> Result<Span, &'static str> {
        self.named(name).map(Span::from_ps)
    }
}
