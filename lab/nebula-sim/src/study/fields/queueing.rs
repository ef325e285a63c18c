//! The fields of the queueing level, and those of a comparison of systems.

use super::super::found::{AtTier, Figures, Found};
use super::super::outcome::Outcome;
use super::super::over_time::{OverTime, Slot};
use super::super::point::Ask;
use super::super::text::{depth, digits, ends, load, time, with_half};
use super::super::units;
use super::parts::{Column, Field, Fields, Shown};
use crate::experiment::Effort;
use crate::hottest::cores_differ;
use crate::interval::Interval;
use crate::load::{Flows, Source};
use crate::system::Calls;
use crate::tally::CoreTime;
use nebula_nic::Span;
use nebula_ui::Value;

impl Shown for Found {
    fn effort(&self) -> &Effort {
        &self.point.effort
    }

    fn rpcs(&self) -> u64 {
        let planned = || self.point.effort.length(&self.point.system, &self.point.load).rpcs;
        self.figures.map_or_else(planned, |figures| figures.rpcs)
    }

    fn slo(&self) -> Span {
        self.point.slo
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.figures.as_ref().map(|figures| &figures.outcome)
    }
}

/// The fields of `nebula simulate` for a point: its question, its figures and its setting.
#[must_use]
pub fn queueing() -> Fields<Found> {
    let mut columns: Vec<Column<Found>> =
        vec![Column::new("policy", "policy", |found: &Found| Some(found.point.name.clone())).word()];
    columns.extend([
        Column::new("load", "load", |found: &Found| {
            is_measured(found).then(|| found.figures.map_or("–".to_owned(), |figures| load(figures.load)))
        }),
        load_at_slo(),
        Column::new("offered", "offered_mrps", |found: &Found| Some(shown(found, |f| units::rate(f.offered_rps)))),
        super::parts::served(),
        super::parts::nacked(),
        Column::new("NACKed, light flows", "accepted_light", |found: &Found| {
            light(found).map(|accepted| with_half(rest_of(accepted), units::percent))
        }),
        Column::new("busy", "busy", |found: &Found| Some(shown(found, |f| with_half(f.busy, units::percent)))),
        Column::new("hottest", "hottest", |found: &Found| {
            let hottest = |f: &Figures| f.hottest.map_or("–".to_owned(), |share| with_half(share, units::percent));
            is_uneven(found).then(|| shown(found, hottest))
        }),
        super::parts::mean(),
        super::parts::p50(),
        super::parts::p99(),
        super::parts::p999(),
        Column::new("slowdown p99.9", "slowdown.p999", |found: &Found| {
            slowdown(found, |f| f.slowdown_p999).map(|slowdown| with_half(slowdown, depth))
        }),
        Column::new("peak p99", "peak_p99_ns", |found: &Found| {
            found.over_time.as_ref().map(|over| with_half(over.peak_p99, time))
        }),
        Column::new("recovery", "recovery_ns", |found: &Found| {
            found.over_time.as_ref().map(|over| over.recovery_in_words())
        }),
        super::parts::slo(),
        super::parts::met(),
        Column::new("queue mean", "queue_depth.mean", |found: &Found| {
            Some(shown(found, |f| with_half(f.depth_mean, depth)))
        }),
        Column::new("queue p99", "queue_depth.p99", |found: &Found| {
            Some(shown(found, |f| with_half(f.depth_p99, depth)))
        }),
    ]);
    columns.extend(tier_columns());
    Fields { fields: fields(), columns }
}

fn tier_columns() -> [Column<Found>; 6] {
    fn lines(
        heading: &'static str,
        of: &'static str,
        applies: fn(&Found) -> bool,
        get: fn(&AtTier) -> String,
    ) -> Column<Found> {
        Column::new(heading, of, move |found: &Found| {
            (is_tiered(found) && applies(found)).then(|| found.tiers.iter().map(get).collect::<Vec<_>>().join("\n"))
        })
    }
    let in_tiers = |found: &Found| !found.point.system.behind.is_empty();
    let names = Column::new("tier", "tier", move |found: &Found| {
        in_tiers(found).then(|| found.point.system.tier_names().join("\n"))
    });
    [
        names.word(),
        lines("tier busy", "tier_busy", in_tiers, |tier| with_half(tier.busy, units::percent)),
        lines("tier p99", "tier_p99_ns", in_tiers, |tier| with_half(tier.p99, time)),
        lines("tier NACKed", "tier_nacked", in_tiers, |tier| with_half(tier.nacked, units::percent)),
        lines("copies", "tier_copied", |_| true, |tier| with_half(tier.copied, units::percent)),
        lines("wasted", "tier_wasted", |_| true, |tier| with_half(tier.wasted, units::percent)),
    ]
}

fn is_tiered(found: &Found) -> bool {
    found.point.system.is_tiered()
}

fn hedge_of(calls: &Calls) -> String {
    calls.hedge.map_or("none".to_owned(), |hedge| hedge.to_string())
}

/// Results of each tier, as lists, the front first.
fn tiers() -> Vec<Field<Found>> {
    fn list(name: &'static str, unit: &'static str, what: &'static str, get: fn(&AtTier) -> Interval) -> Field<Found> {
        Field::new(name, unit, what, move |found: &Found| {
            let value = |tier: &AtTier| digits(get(tier).value);
            is_tiered(found).then(|| found.tiers.iter().map(value).collect::<Vec<f64>>().into())
        })
    }
    fn ci(name: &'static str, unit: &'static str, get: fn(&AtTier) -> Interval) -> Field<Found> {
        Field::new(name, unit, "both ends of the 95 % interval of each", move |found: &Found| {
            is_tiered(found).then(|| Value::List(found.tiers.iter().map(|tier| ends(get(tier))).collect()))
        })
    }
    vec![
        Field::new(
            "tier",
            "",
            "the names of the tiers, the front first; this and the next lists only where calls have parts, copies, deadlines or tiers",
            |found: &Found| {
                let names = || found.point.system.tier_names().into_iter().map(str::to_owned).collect::<Vec<_>>();
                is_tiered(found).then(|| names().into())
            },
        ),
        list("tier_busy", "share", "of the time of its cores, that they served", |tier| tier.busy),
        ci("tier_busy_ci", "share", |tier| tier.busy),
        list("tier_p99_ns", "ns", "the p99 from a call to its first answer, of calls that were answered", |tier| {
            tier.p99
        }),
        ci("tier_p99_ns_ci", "ns", |tier| tier.p99),
        list("tier_nacked", "share", "NACKs over copies that were sent", |tier| tier.nacked),
        ci("tier_nacked_ci", "share", |tier| tier.nacked),
        list("tier_late", "share", "calls whose deadline was over when a core took them, over calls", |tier| tier.late),
        ci("tier_late_ci", "share", |tier| tier.late),
        list("tier_copied", "share", "second copies over calls", |tier| tier.copied),
        ci("tier_copied_ci", "share", |tier| tier.copied),
        list("tier_wasted", "share", "of its cores' busy time, that of copies which did not answer first", |tier| {
            tier.wasted
        }),
        ci("tier_wasted_ci", "share", |tier| tier.wasted),
        Field::new(
            "fan_out",
            "servers",
            "that a client asks at once; only where calls have parts, copies or deadlines",
            |found: &Found| found.point.system.calls.map(|calls| u32::from(calls.fan_out).into()),
        ),
        Field::new(
            "hedge",
            "",
            "when a client sends a second copy, or none; only where calls have parts, copies or deadlines",
            |found: &Found| found.point.system.calls.map(|calls| hedge_of(&calls).into()),
        ),
        Field::new("deadline_ns", "ns", "after which a client gives up; only where it does", |found: &Found| {
            found.point.system.calls.and_then(|calls| calls.deadline).map(|deadline| deadline.as_ns_f64().into())
        }),
    ]
}

/// The fields of `nebula compare` for a system: its name, those of [`queueing`], and the core time.
#[must_use]
pub fn comparison() -> Fields<Found> {
    let name = Field::new("system", "", "the system's name, or its policy", |found: &Found| {
        Some(found.point.name.clone().into())
    });
    let behind = [Field::new("dedicated", "cores", "that only schedule, of each server", |found: &Found| {
        Some(u32::from(found.point.system.dedicated).into())
    })];
    let behind = behind.into_iter().chain(host());
    let columns = [
        Column::new("system", "system", |found: &Found| Some(found.point.name.clone())).word(),
        Column::new("policy", "policy", |found: &Found| Some(found.point.system.policy_name())).word(),
        Column::new("load", "load", |found: &Found| is_measured(found).then(|| shown(found, |f| load(f.load)))),
        load_at_slo(),
        super::parts::served(),
        super::parts::p50(),
        super::parts::p99(),
        super::parts::slo(),
    ];
    Fields {
        fields: [name].into_iter().chain(fields()).chain(behind).collect(),
        columns: columns.into_iter().chain(core_time()).collect(),
    }
}

fn host() -> [Field<Found>; 3] {
    [
        Field::new(
            "host_interface",
            "",
            "how cores hand RPCs to the NIC: mmio, doorbell, poll, invalidate, adaptive; null without a host interface",
            |found: &Found| Some(found.point.system.host.map(|host| host.interface.name().to_owned()).into()),
        ),
        Field::new(
            "host_batch",
            "RPCs",
            "of which the NIC is told at once; null without a host interface",
            |found: &Found| Some(found.point.system.host.map(|host| u32::from(host.batch)).into()),
        ),
        Field::new(
            "host_reads_per_line",
            "reads",
            "by the NIC for each line that it got, those that found nothing included; null without a host interface",
            |found: &Found| {
                Some(found.figures.as_ref().and_then(|figures| figures.host.reads_per_line()).map(digits).into())
            },
        ),
    ]
}

fn fields() -> Vec<Field<Found>> {
    let groups = [
        question(),
        super::parts::effort().into(),
        vec![Field::new("offered_mrps", "10⁶ RPC/s", "RPCs that came", |found: &Found| {
            Some(figure(found, |f| f.offered_rps / 1e6))
        })],
        super::parts::outcome(),
        slowdowns(),
        cores(),
        queue(),
        super::parts::replications().into(),
        search(),
        over_time(),
        tiers(),
        setting(),
    ];
    groups.into_iter().flatten().collect()
}

fn question() -> Vec<Field<Found>> {
    vec![
        Field::new("policy", "", "how RPCs are given to cores", |found: &Found| {
            Some(found.point.system.policy_name().into())
        }),
        Field::new("cores", "cores", "of a server", |found: &Found| Some(u32::from(found.point.system.cores).into())),
        Field::new("service", "", "how long an RPC keeps its core", |found: &Found| {
            Some(found.point.load.service.to_string().into())
        }),
        Field::new(
            "load",
            "share",
            "of the cores' time: offered in an open loop, achieved in a closed one",
            |found: &Found| Some(figure(found, |f| f.load)),
        ),
    ]
}

fn slowdowns() -> Vec<Field<Found>> {
    fn ci(name: &'static str, what: &'static str, get: fn(&Figures) -> Option<Interval>) -> Field<Found> {
        Field::new(name, "", what, move |found: &Found| slowdown(found, get).map(ends))
    }
    vec![
        Field::new(
            "slowdown",
            "",
            "latency over service time, of the RPCs of a mix that were served",
            |found: &Found| {
                let [p99, p999] = [slowdown(found, |f| f.slowdown_p99)?, slowdown(found, |f| f.slowdown_p999)?];
                Some(Value::object([("p99", digits(p99.value).into()), ("p999", digits(p999.value).into())]))
            },
        )
        .parts(&["p99", "p999"]),
        ci("slowdown_p99_ci", "both ends of the 95 % interval of its p99", |f| f.slowdown_p99),
        ci("slowdown_p999_ci", "both ends of the 95 % interval of its p99.9", |f| f.slowdown_p999),
    ]
}

fn slowdown(found: &Found, get: fn(&Figures) -> Option<Interval>) -> Option<Interval> {
    found.figures.as_ref().and_then(get)
}

fn cores() -> Vec<Field<Found>> {
    vec![
        Field::new("busy", "share", "of all cores' time, that a core was not idle", |found: &Found| {
            Some(figure(found, |f| f.busy.value))
        }),
        Field::new("busy_ci", "share", "both ends of its 95 % interval", |found: &Found| {
            Some(interval(found, |f| f.busy))
        }),
        Field::new(
            "hottest",
            "share",
            "of its time, that the busiest core of a run was not idle; only where flows, keys or speeds make cores differ",
            |found: &Found| is_uneven(found).then(|| hottest(found).map(|share| digits(share.value)).into()),
        ),
        Field::new(
            "hottest_ci",
            "share",
            "both ends of its 95 % interval; only where there is one",
            |found: &Found| is_uneven(found).then(|| hottest(found).map_or(Value::Null, ends)),
        ),
        Field::new(
            "accepted_light",
            "share",
            "of the RPCs of flows that send fewer than the mean flow, that were served; only where there are such flows and a bound on the queue",
            |found: &Found| light(found).map(|accepted| digits(accepted.value).into()),
        ),
        Field::new(
            "accepted_light_ci",
            "share",
            "both ends of its 95 % interval; only where there is one",
            |found: &Found| light(found).map(ends),
        ),
        Field::new("core_time", "share", "of all cores' time, by what it went to", |found: &Found| {
            let shares = found.figures.as_ref().map(|figures| figures.core_time.shares().map(digits));
            let part = |(index, name)| (name, shares.map(|shares| shares[index]).into());
            Some(Value::object(CoreTime::NAMES.into_iter().enumerate().map(part)))
        })
        .parts(&CoreTime::NAMES),
        Field::new("core_time_ci", "share", "both ends of the 95 % interval of each", |found: &Found| {
            let figures = found.figures.as_ref();
            let part = |(index, name)| (name, figures.map_or(Value::Null, |figures| ends(figures.core_times[index])));
            Some(Value::object(CoreTime::NAMES.into_iter().enumerate().map(part)))
        })
        .parts(&CoreTime::NAMES),
    ]
}

fn queue() -> Vec<Field<Found>> {
    vec![
        Field::new(
            "queue_depth",
            "RPCs",
            "that wait as an arrival finds them, those given to a core not counted",
            |found: &Found| {
                let (mean, p99) = (figure(found, |f| f.depth_mean.value), figure(found, |f| f.depth_p99.value));
                Some(Value::object([("mean", mean), ("p99", p99)]))
            },
        )
        .parts(&["mean", "p99"]),
        Field::new("queue_depth_mean_ci", "RPCs", "both ends of the 95 % interval of the mean", |found: &Found| {
            Some(interval(found, |f| f.depth_mean))
        }),
        Field::new("queue_depth_p99_ci", "RPCs", "both ends of the 95 % interval of the p99", |found: &Found| {
            Some(interval(found, |f| f.depth_p99))
        }),
        Field::new("queued_ns", "ns", "from arrival until a core began", |found: &Found| {
            let (mean, p99) = (figure(found, |f| f.queued_mean), figure(found, |f| f.queued_p99));
            Some(Value::object([("mean", mean), ("p99", p99)]))
        })
        .parts(&["mean", "p99"]),
    ]
}

fn search() -> Vec<Field<Found>> {
    vec![
        Field::new(
            "load_at_slo",
            "share",
            "the highest load that keeps the SLO; only where it was searched for",
            |found: &Found| (!is_measured(found)).then(|| found.at_slo.map(|at| digits(at.load.value)).into()),
        ),
        Field::new(
            "load_at_slo_ci",
            "share",
            "both ends of its 95 % interval; only where it was searched for",
            |found: &Found| (!is_measured(found)).then(|| found.at_slo.map_or(Value::Null, |at| ends(at.load))),
        ),
        Field::new(
            "throughput_under_slo_rps",
            "RPC/s",
            "served at that load; only where it was searched for",
            |found: &Found| (!is_measured(found)).then(|| found.at_slo.map(|at| digits(at.served_rps.value)).into()),
        ),
        Field::new(
            "search_end",
            "",
            "why the search ended at that load: missed (a higher one misses the SLO), or, so that the true one may be higher, highest (none higher is tried) or unsettled (so few RPCs do not settle above it); only where it was searched for",
            |found: &Found| (!is_measured(found)).then(|| found.at_slo.map(|at| at.end.name()).into()),
        ),
    ]
}

fn over_time() -> Vec<Field<Found>> {
    let list = |found: &Found, get: fn(&Slot) -> f64| {
        let figures = |over: &OverTime| over.slots.iter().map(|slot| digits(get(slot)).into()).collect();
        found.over_time.as_ref().map(|over| Value::List(figures(over)))
    };
    vec![
        Field::new("load_over_time", "", "how the load changes; of a load that changes", |found: &Found| {
            found.point.load.over_time.as_ref().map(|profile| profile.to_string().into())
        }),
        Field::new(
            "peak_p99_ns",
            "ns",
            "the highest p99 of a hundredth of the period, a NACK counted as infinite; of a load that changes",
            |found: &Found| found.over_time.as_ref().map(|over| digits(over.peak_p99.value).into()),
        ),
        Field::new(
            "peak_p99_ns_ci",
            "ns",
            "the highest lower and the highest upper end of the 95 % intervals of those p99s; of a load that changes",
            |found: &Found| found.over_time.as_ref().map(|over| ends(over.peak_p99)),
        ),
        Field::new(
            "recovery_ns",
            "ns",
            "from the end of the highest load until the p99 is within the SLO, to a hundredth of the period; null if not before the next; of a load that changes",
            |found: &Found| found.over_time.as_ref().map(|over| digits(over.recovery.value).into()),
        ),
        Field::new(
            "recovery_ns_ci",
            "ns",
            "from there until the p99 may be within the SLO, by its 95 % interval, and until it certainly is; null if not before the next; of a load that changes",
            |found: &Found| found.over_time.as_ref().map(|over| ends(over.recovery)),
        ),
        Field::new(
            "slot_at_ns",
            "ns",
            "when each hundredth of the period begins; of a load that changes",
            move |found: &Found| list(found, |slot| slot.at),
        ),
        Field::new("slot_load", "share", "the load in it; of a load that changes", move |found: &Found| {
            list(found, |slot| slot.load)
        }),
        Field::new(
            "slot_p99_ns",
            "ns",
            "the p99 of the RPCs sent in it; of a load that changes",
            move |found: &Found| list(found, |slot| slot.p99.value),
        ),
        Field::new(
            "slot_p99_ns_ci",
            "ns",
            "both ends of the 95 % interval of each; of a load that changes",
            |found: &Found| {
                let of_each = |over: &OverTime| over.slots.iter().map(|slot| ends(slot.p99)).collect();
                found.over_time.as_ref().map(|over| Value::List(of_each(over)))
            },
        ),
    ]
}

fn setting() -> Vec<Field<Found>> {
    vec![
        Field::new("arrivals", "", "when RPCs arrive; of an open loop", |found: &Found| {
            match &found.point.load.source {
                Source::Open { arrivals, .. } => Some(arrivals.to_string().into()),
                Source::Closed { .. } => None,
            }
        }),
        Field::new("clients", "clients", "that wait for replies; of a closed loop", |found: &Found| {
            match found.point.load.source {
                Source::Closed { clients, .. } => Some(clients.into()),
                Source::Open { .. } => None,
            }
        }),
        Field::new("outstanding", "RPCs", "that each client has at a time; of a closed loop", |found: &Found| {
            match found.point.load.source {
                Source::Closed { outstanding, .. } => Some(outstanding.into()),
                Source::Open { .. } => None,
            }
        }),
        Field::new("think", "", "between an answer and the next RPC; of a closed loop", |found: &Found| {
            match &found.point.load.source {
                Source::Closed { think, .. } => Some(think.as_ref().map(ToString::to_string).into()),
                Source::Open { .. } => None,
            }
        }),
        Field::new("flows", "", "how RPCs are spread over flows; only where they share them", |found: &Found| {
            let flows = found.point.load.flows;
            (flows != Flows::EachRpc).then(|| flows.to_string().into())
        }),
        Field::new("keys", "", "how RPCs are spread over keys; only where they share them", |found: &Found| {
            found.point.load.keys.map(|keys| keys.to_string().into())
        }),
        Field::new("speeds", "", "of the cores of a server, where they differ", |found: &Found| {
            found.point.system.speeds.as_ref().map(|speeds| speeds.to_string().into())
        }),
        Field::new("servers", "servers", "that share the load", |found: &Found| {
            Some(u32::from(found.point.system.servers).into())
        }),
        Field::new("balancer", "", "that chooses the server of an RPC, where there is one", |found: &Found| {
            found.point.system.router.map(|router| router.to_string().into())
        }),
        Field::new("distance_ns", "ns", "from the balancer to a server, where there is one", |found: &Found| {
            found.point.system.router.map(|router| router.dispatch.as_ns_f64().into())
        }),
        Field::new("queue_bound", "RPCs", "that may wait at a server; null for any number", |found: &Found| {
            Some(found.point.system.queue_bound.into())
        }),
        Field::new(
            "fair_shares",
            "",
            "true where flows that have had most of the room are NACKed first; only where so",
            |found: &Found| found.point.system.fair_shares.then(|| true.into()),
        ),
        Field::new("dispatch_ns", "ns", "from an RPC's dispatch until its core can begin it", |found: &Found| {
            Some(found.point.system.costs.dispatch.as_ns_f64().into())
        }),
        Field::new("notify_ns", "ns", "from an RPC's end until the NIC knows of it", |found: &Found| {
            Some(found.point.system.costs.notify.as_ns_f64().into())
        }),
        Field::new(
            "decision_ns",
            "ns",
            "that the one dispatcher is busy with each RPC, where given",
            |found: &Found| given(found.point.system.costs.decision),
        ),
        Field::new("hop_ns", "ns", "of a hop of the mesh between cores, where given", |found: &Found| {
            given(found.point.system.costs.hop)
        }),
        Field::new(
            "per_core_ns",
            "ns",
            "that a dispatcher or a thief spends on each core for every RPC, where given",
            |found: &Found| given(found.point.system.costs.per_core),
        ),
        Field::new("lock_handoff_ns", "ns", "that a core of mcs-lock holds the lock for each RPC", |found: &Found| {
            Some(found.point.system.costs.lock_handoff.as_ns_f64().into())
        }),
    ]
}

fn load_at_slo() -> Column<Found> {
    Column::new("load at SLO", "load_at_slo", |found: &Found| {
        (!is_measured(found)).then(|| found.at_slo.map_or("none".to_owned(), |at| at.load_in_words()))
    })
}

fn core_time() -> impl Iterator<Item = Column<Found>> {
    let column = |(index, name)| Column::new(name, "core_time", move |found: &Found| Some(share(found, index)));
    CoreTime::NAMES.into_iter().enumerate().map(column)
}

fn share(found: &Found, index: usize) -> String {
    let percent = |share: Interval| match share.value == 0.0 {
        true => "–".to_owned(),
        false => with_half(share, |share| format!("{:.1} %", 100.0 * share)),
    };
    found.figures.as_ref().map_or("–".to_owned(), |figures| percent(figures.core_times[index]))
}

fn given(cost: Span) -> Option<Value> {
    (cost != Span::ZERO).then(|| cost.as_ns_f64().into())
}

fn is_uneven(found: &Found) -> bool {
    cores_differ(&found.point.system, &found.point.load)
}

fn light(found: &Found) -> Option<Interval> {
    found.figures.as_ref().and_then(|figures| figures.accepted_light)
}

fn hottest(found: &Found) -> Option<Interval> {
    found.figures.as_ref().and_then(|figures| figures.hottest)
}

fn rest_of(share: Interval) -> Interval {
    Interval { value: 1.0 - share.value, lo: 1.0 - share.hi, hi: 1.0 - share.lo }
}

fn is_measured(found: &Found) -> bool {
    found.point.ask == Ask::Measure
}

fn figure(found: &Found, get: fn(&Figures) -> f64) -> Value {
    found.figures.as_ref().map(|figures| digits(get(figures))).into()
}

fn interval(found: &Found, get: fn(&Figures) -> Interval) -> Value {
    found.figures.as_ref().map_or(Value::Null, |figures| ends(get(figures)))
}

fn shown(found: &Found, show: fn(&Figures) -> String) -> String {
    found.figures.as_ref().map_or("–".to_owned(), show)
}
