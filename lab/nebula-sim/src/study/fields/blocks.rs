//! The fields of the block level.

use super::super::blocks::{CAUSE_FIELDS, Figures, Found, stage_field};
use super::super::outcome::Outcome;
use super::super::text::{digits, ends, time, with_half};
use super::super::units;
use super::parts::{Column, Field, Fields, Shown};
use crate::blocks::{Part, Stage};
use crate::experiment::Effort;
use crate::interval::Interval;
use nebula_memsys::Cause;
use nebula_nic::Span;
use nebula_ui::Value;

impl Shown for Found {
    fn effort(&self) -> &Effort {
        &self.setting.effort
    }

    fn rpcs(&self) -> u64 {
        self.setting.effort.rpcs
    }

    fn slo(&self) -> Span {
        self.setting.slo
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.figures.as_ref().map(|figures| &figures.outcome)
    }
}

/// The fields of `nebula simulate --machine` for a design at a rate.
#[must_use]
pub fn blocks() -> Fields<Found> {
    let groups = [
        question(),
        super::parts::effort().into(),
        vec![Field::new("offered_mrps", "10⁶ RPC/s", "RPCs offered", |found: &Found| {
            Some(found.rate_rps.map(|rps| digits(rps / 1e6)).into())
        })],
        super::parts::outcome(),
        cores(),
        super::parts::replications().into(),
        memory(),
        search(),
        setting(),
    ];
    Fields { fields: groups.into_iter().flatten().collect(), columns: columns() }
}

fn question() -> Vec<Field<Found>> {
    vec![
        Field::new("machine", "", "what every mechanism costs", |found: &Found| {
            Some(found.setting.machine.name.as_str().into())
        }),
        Field::new("design", "", "which mechanisms are used", |found: &Found| Some(found.design.as_str().into())),
        Field::new("application", "", "what runs on it", |found: &Found| {
            Some(found.setting.application.as_str().into())
        }),
        Field::new(
            "load_rps_offered",
            "RPC/s",
            "offered, or found; null where no rate keeps the SLO",
            |found: &Found| Some(found.rate_rps.map(digits).into()),
        ),
    ]
}

fn cores() -> Vec<Field<Found>> {
    vec![
        Field::new(
            "service_ns_mean",
            "ns",
            "from the moment that a core begins until the buffer is free",
            |found: &Found| Some(figure(found, |f| f.service_mean.value)),
        ),
        Field::new("service_ns_mean_ci", "ns", "both ends of its 95 % interval", |found: &Found| {
            Some(interval(found, |f| f.service_mean))
        }),
        Field::new(
            "queue_depth",
            "RPCs",
            "that wait as one that is whole finds them, those given to a core not counted",
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
        Field::new(
            "incomplete",
            "RPCs",
            "in the reassembler, as it takes one: of several packets, of which some are still to come",
            |found: &Found| {
                let (mean, max) = (figure(found, |f| f.incomplete[0]), figure(found, |f| f.incomplete[1]));
                Some(Value::object([("mean", mean), ("max", max)]))
            },
        )
        .parts(&["mean", "max"]),
        Field::new(
            "queued_at_core",
            "share",
            "of the RPCs served, those given to a core that served another",
            |found: &Found| Some(figure(found, |f| f.queued_at_core.value)),
        ),
        Field::new("queued_at_core_ci", "share", "both ends of its 95 % interval", |found: &Found| {
            Some(interval(found, |f| f.queued_at_core))
        }),
        Field::new("idle", "share", "of the time of all cores, what they spend on no RPC", |found: &Found| {
            Some(figure(found, |f| f.idle.value))
        }),
        Field::new("idle_ci", "share", "both ends of its 95 % interval", |found: &Found| {
            Some(interval(found, |f| f.idle))
        }),
    ]
}

/// Times and DRAM traffic; without figures if no rate meets the SLO.
fn memory() -> Vec<Field<Found>> {
    const STAGES: &[&str] = &{
        let mut names = [""; Stage::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = stage_field(Stage::ALL[index]);
            index += 1;
        }
        names
    };
    const PARTS: &[&str] = &{
        let mut names = [""; Part::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = Part::ALL[index].name();
            index += 1;
        }
        names
    };
    vec![
        Field::new("dram_gb_per_s", "10⁹ B/s", "to and from DRAM, of everything on the machine", |found: &Found| {
            Some(figure(found, |f| f.dram_gb_per_s.value))
        }),
        Field::new("dram_gb_per_s_ci", "10⁹ B/s", "both ends of its 95 % interval", |found: &Found| {
            Some(interval(found, |f| f.dram_gb_per_s))
        }),
        Field::new("dram_blocks_per_rpc", "blocks of 64 B", "to and from DRAM for each RPC that came", |found: &Found| {
            Some(figure(found, |f| f.blocks_per_rpc.value))
        }),
        Field::new("dram_blocks_per_rpc_ci", "blocks of 64 B", "both ends of its 95 % interval", |found: &Found| {
            Some(interval(found, |f| f.blocks_per_rpc))
        }),
        Field::new("stage_ns", "ns", "mean time of an RPC in each stage", |found: &Found| {
            let figures = found.figures.as_ref();
            let of = |(index, name): (usize, &&'static str)| {
                (*name, figures.map(|figures| digits(figures.stages[index])).into())
            };
            Some(Value::object(STAGES.iter().enumerate().map(of)))
        })
        .parts(STAGES),
        Field::new(
            "dram_blocks",
            "blocks of 64 B",
            "for each RPC that came, by what lies in them; each part has nic_fetch, nic_write_back, core_fetch, core_write_back and stream",
            |found: &Found| {
                let figures = found.figures.as_ref();
                let cause = |part: usize, cause: usize| {
                    (CAUSE_FIELDS[cause], figures.map(|figures| digits(figures.blocks[part][cause])).into())
                };
                let of = |(part, name): (usize, &&'static str)| {
                    (*name, Value::object((0..Cause::ALL.len()).map(|at| cause(part, at))))
                };
                Some(Value::object(PARTS.iter().enumerate().map(of)))
            },
        )
        .parts(PARTS),
    ]
}

fn search() -> Vec<Field<Found>> {
    vec![
        Field::new(
            "throughput_under_slo_rps",
            "RPC/s",
            "the highest rate that keeps the SLO; only where it was searched for",
            |found: &Found| {
                let rate = found.at_slo.map(|at| digits(at.rate_rps.value));
                found.setting.searches.then(|| rate.into())
            },
        ),
        Field::new(
            "throughput_under_slo_rps_ci",
            "RPC/s",
            "both ends of its 95 % interval; only where it was searched for",
            |found: &Found| {
                let ends = found.at_slo.map_or(Value::Null, |at| ends(at.rate_rps));
                found.setting.searches.then_some(ends)
            },
        ),
        Field::new(
            "search_end",
            "",
            "why the search ended at that rate: missed (a higher one misses the SLO), or, so that the true one may be higher, highest (none higher is tried) or unsettled (so few RPCs do not settle above it); only where it was searched for",
            |found: &Found| found.setting.searches.then(|| found.at_slo.map(|at| at.end.name()).into()),
        ),
    ]
}

fn setting() -> Vec<Field<Found>> {
    vec![
        Field::new("cores", "cores", "of the machine", |found: &Found| {
            Some(u32::from(found.setting.machine.memory.cores).into())
        }),
        Field::new("arrivals", "", "when RPCs arrive", |found: &Found| Some(found.setting.arrivals.as_str().into())),
        Field::new("get_share", "share", "of GETs, of a key-value store", |found: &Found| {
            Some(found.setting.store.map(|(share, _)| digits(share)).into())
        }),
        Field::new("value_bytes", "B", "of a value, of a key-value store", |found: &Found| {
            Some(found.setting.store.map(|(_, bytes)| bytes).into())
        }),
        Field::new("hog_gb_per_s", "10⁹ B/s", "that another program moves to and from DRAM", |found: &Found| {
            Some(found.setting.hog_gb_per_s.into())
        }),
        Field::new("receive_buffer_bytes", "B", "of the shared receive buffer", |found: &Found| {
            Some(found.receive_buffer_bytes.into())
        }),
    ]
}

fn columns() -> Vec<Column<Found>> {
    vec![
        Column::new("design", "design", |found: &Found| Some(found.design.clone())).word(),
        Column::new("offered", "offered_mrps", |found: &Found| {
            (!found.setting.searches).then(|| found.rate_rps.map_or("–".to_owned(), units::rate))
        }),
        Column::new("rate at SLO", "throughput_under_slo_rps", |found: &Found| {
            let at_slo = || found.at_slo.map_or("none".to_owned(), |at| at.rate_in_words());
            found.setting.searches.then(at_slo)
        }),
        super::parts::served(),
        super::parts::nacked(),
        super::parts::mean(),
        super::parts::p99(),
        super::parts::p999(),
        super::parts::slo(),
        super::parts::met(),
        Column::new("service", "service_ns_mean", |found: &Found| {
            Some(shown(found, |f| with_half(f.service_mean, time)))
        }),
        Column::new("queued at core", "queued_at_core", |found: &Found| {
            Some(shown(found, |f| with_half(f.queued_at_core, units::percent)))
        }),
        Column::new("DRAM GB/s", "dram_gb_per_s", |found: &Found| {
            Some(shown(found, |f| with_half(f.dram_gb_per_s, |gb| format!("{gb:.1}"))))
        }),
        Column::new("blocks/RPC", "dram_blocks_per_rpc", |found: &Found| {
            Some(shown(found, |f| with_half(f.blocks_per_rpc, |blocks| format!("{blocks:.1}"))))
        }),
    ]
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
