//! Reproduction of papers' figures: published and reproduced values, with intervals and judgments.
//!
//! An [`Entry`] is one figure or table of a paper. Run in a [`Lab`] it gives [`Row`]s: the
//! published value, the reproduced one with its interval, a [`Judgment`], and, if they differ, a
//! sentence with the numbers of that run. Published values and set-ups are data in
//! `data/papers/*.toml`; the code contains none. *Enforced by* `tests/reproduce.rs`.
//!
//! # How to add an entry
//!
//! Add its figures to `data/papers/*.toml`, its set-up's type under [`paper`], a file here with a
//! function from [`Lab`] to [`Reproduction`], and a line in [`ENTRIES`].

pub(crate) mod reproduction;
pub mod paper;
mod row;
mod picture;
mod lab;
mod wording;
mod eq1;
mod sizing;
mod table1;
mod fig2;
mod evaluation;
mod fig6a;
mod fig6b;
mod table3;
mod fig7;
mod fig8;
mod link;
mod reassembler;
mod scrubbing;
mod variants;
mod sensitivity;
mod theory;
mod software_queue;
mod side_by_side;
mod altocumulus;
mod persephone;
mod dagger;

pub use crate::reproduce::reproduction::{ReproduceError, Reproduction};
pub use evaluation::memo::Memo;
pub use lab::{Effort, Lab, Progress};
pub use picture::{Curve, Measure, Picture, Point};
pub use row::{Judgment, Row};

/// The golden rows: `nebula reproduce --effort quick --format json`.
pub const GOLDEN_QUICK: &str = include_str!("../data/golden/reproduce-quick.json");
/// The golden rows: `nebula reproduce --effort full --format json`.
pub const GOLDEN_FULL: &str = include_str!("../data/golden/reproduce-full.json");

/// One figure or table of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name, `paper/what`.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// Approximate cost in seconds on two cores: quick, normal, full.
    pub seconds: [u32; 3],
    /// Whether it runs when no entry is named: all that compare with a paper do.
    pub is_by_default: bool,
    reproduce: fn(&Lab<'_>) -> Result<Reproduction, ReproduceError>,
}

/// All entries.
pub const ENTRIES: &[Entry] = &[
    Entry {
        id: "nebula/eq1",
        title: "how many RPCs wait at 64 cores: Erlang C, by formula and simulated",
        seconds: [1, 1, 8],
        is_by_default: true,
        reproduce: eq1::reproduce,
    },
    Entry {
        id: "nebula/sizing",
        title: "sizes of receive buffer, bitvector and reassembler, from the load",
        seconds: [0, 0, 0],
        is_by_default: true,
        reproduce: sizing::reproduce,
    },
    Entry {
        id: "nebula/table1",
        title: "highest load and queue depth at the SLO: fixed, exponential, bimodal service",
        seconds: [10, 25, 60],
        is_by_default: true,
        reproduce: table1::reproduce,
    },
    Entry {
        id: "nebula/fig2",
        title: "p99 and DRAM bandwidth against load: RSS, RPCValet, SRQ, NEBULA",
        seconds: [3, 10, 70],
        is_by_default: true,
        reproduce: fig2::reproduce,
    },
    Entry {
        id: "nebula/fig6a",
        title: "p99 against load on a simulated server: RSS, RPCValet, SRQ_emu, NEBULA_base, NEBULA",
        seconds: [25, 80, 220],
        is_by_default: true,
        reproduce: fig6a::reproduce,
    },
    Entry {
        id: "nebula/fig6b",
        title: "DRAM bandwidth against load on a simulated server",
        seconds: [12, 35, 90],
        is_by_default: true,
        reproduce: fig6b::reproduce,
    },
    Entry {
        id: "nebula/table3",
        title: "throughput at the SLO and DRAM bandwidth by the share of GETs",
        seconds: [15, 45, 150],
        is_by_default: true,
        reproduce: table3::reproduce,
    },
    Entry {
        id: "nebula/fig7",
        title: "throughput at the SLO by the size of values",
        seconds: [15, 45, 150],
        is_by_default: true,
        reproduce: fig7::reproduce,
    },
    Entry {
        id: "nebula/fig8",
        title: "NIC-to-core steering against software prefetching: p99 against load",
        seconds: [15, 45, 150],
        is_by_default: true,
        reproduce: fig8::reproduce,
    },
    Entry {
        id: "nebula/link",
        title: "the link that a server needs: 80 Gbps saturate while cores are idle",
        seconds: [10, 25, 60],
        is_by_default: true,
        reproduce: link::reproduce,
    },
    Entry {
        id: "nebula/reassembler",
        title: "entries that the reassembler needs, by how fast clients send",
        seconds: [3, 12, 30],
        is_by_default: true,
        reproduce: reassembler::reproduce,
    },
    Entry {
        id: "nebula/scrubbing",
        title: "what scrubbing is worth: room behind one RPC that takes long",
        seconds: [3, 12, 30],
        is_by_default: true,
        reproduce: scrubbing::reproduce,
    },
    Entry {
        id: "nebula/variants",
        title: "mechanisms that the paper leaves open, and what they would change",
        seconds: [20, 60, 120],
        is_by_default: true,
        reproduce: variants::reproduce,
    },
    Entry {
        id: "nebula/sensitivity",
        title: "each assumption of the block level halved and doubled, and its effect",
        seconds: [180, 900, 3600],
        is_by_default: false,
        reproduce: sensitivity::reproduce,
    },
    Entry {
        id: "rpcvalet/theory",
        title: "one queue for 16 cores, two, four, eight, or one a core",
        seconds: [4, 15, 55],
        is_by_default: true,
        reproduce: theory::reproduce,
    },
    Entry {
        id: "rpcvalet/software-queue",
        title: "one queue in hardware against one behind a lock",
        seconds: [3, 8, 28],
        is_by_default: true,
        reproduce: software_queue::reproduce,
    },
    Entry {
        id: "rpcvalet/evaluation",
        title: "the NIC's one queue against 4×4 and 16×1 for HERD and synthetic services",
        seconds: [3, 10, 45],
        is_by_default: true,
        reproduce: |lab| {
            side_by_side::reproduce(lab, "rpcvalet/evaluation", paper::rpcvalet(), |setup| &setup.evaluation)
        },
    },
    Entry {
        id: "zygos/efficiency",
        title: "work stealing against an ideal queue without overhead, at 10 and 25 µs",
        seconds: [1, 2, 10],
        is_by_default: true,
        reproduce: |lab| side_by_side::reproduce(lab, "zygos/efficiency", paper::zygos(), |setup| &setup.efficiency),
    },
    Entry {
        id: "zygos/silo",
        title: "work stealing against IX for TPC-C on Silo",
        seconds: [1, 2, 10],
        is_by_default: true,
        reproduce: |lab| side_by_side::reproduce(lab, "zygos/silo", paper::zygos(), |setup| &setup.silo),
    },
    Entry {
        id: "altocumulus/16-cores",
        title: "one group of 16 cores against ZygOS, Shinjuku, NEBULA and nanoPU at an SLO of 10 µs",
        seconds: [3, 12, 66],
        is_by_default: true,
        reproduce: |lab| {
            side_by_side::reproduce(lab, "altocumulus/16-cores", paper::altocumulus(), |setup| &setup.sixteen)
        },
    },
    Entry {
        id: "altocumulus/scale",
        title: "groups of 16 on 64 and 256 cores: p99 and late RPCs at 161 and 216 MRPS",
        seconds: [1, 8, 45],
        is_by_default: true,
        reproduce: altocumulus::scale,
    },
    Entry {
        id: "altocumulus/thresholds",
        title: "queue lengths as predictors of late RPCs: accuracy against effectiveness",
        seconds: [1, 1, 3],
        is_by_default: true,
        reproduce: altocumulus::thresholds,
    },
    Entry {
        id: "altocumulus/traffic",
        title: "bytes moved between groups: descriptors against payloads",
        seconds: [1, 1, 1],
        is_by_default: true,
        reproduce: altocumulus::traffic,
    },
    Entry {
        id: "shinjuku/bimodal",
        title: "preemption against run to completion, for widely dispersed service times",
        seconds: [2, 8, 45],
        is_by_default: true,
        reproduce: |lab| side_by_side::reproduce(lab, "shinjuku/bimodal", paper::shinjuku(), |setup| &setup.bimodal),
    },
    Entry {
        id: "shinjuku/rocksdb",
        title: "preemption for point and range queries",
        seconds: [3, 20, 150],
        is_by_default: true,
        reproduce: |lab| side_by_side::reproduce(lab, "shinjuku/rocksdb", paper::shinjuku(), |setup| &setup.rocksdb),
    },
    Entry {
        id: "persephone/reservation",
        title: "the cores that DARC reserves",
        seconds: [0, 0, 0],
        is_by_default: true,
        reproduce: persephone::reservation,
    },
    Entry {
        id: "persephone/high-bimodal",
        title: "reserved cores against one queue and preemption, for as many long RPCs as short ones",
        seconds: [2, 10, 60],
        is_by_default: true,
        reproduce: |lab| {
            side_by_side::reproduce(lab, "persephone/high-bimodal", paper::persephone(), |setup| &setup.high_bimodal)
        },
    },
    Entry {
        id: "persephone/extreme-bimodal",
        title: "reserved cores against one queue and preemption, for a few very long RPCs",
        seconds: [2, 4, 15],
        is_by_default: true,
        reproduce: |lab| {
            side_by_side::reproduce(lab, "persephone/extreme-bimodal", paper::persephone(), |setup| {
                &setup.extreme_bimodal
            })
        },
    },
    Entry {
        id: "persephone/tpcc",
        title: "reserved cores against one queue and preemption, for TPC-C",
        seconds: [2, 6, 30],
        is_by_default: true,
        reproduce: |lab| side_by_side::reproduce(lab, "persephone/tpcc", paper::persephone(), |setup| &setup.tpcc),
    },
    Entry {
        id: "concord/micro",
        title: "safe points, with one RPC queued at each core, against interrupts",
        seconds: [3, 20, 95],
        is_by_default: true,
        reproduce: |lab| side_by_side::reproduce(lab, "concord/micro", paper::concord(), |setup| &setup.micro),
    },
    Entry {
        id: "dagger/interfaces",
        title: "PCIe stores and doorbells against a coherent interconnect: throughput and round trip of one core",
        seconds: [1, 2, 15],
        is_by_default: true,
        reproduce: dagger::interfaces,
    },
    Entry {
        id: "dagger/scaling",
        title: "throughput of one to eight threads over a coherent interconnect",
        seconds: [1, 3, 15],
        is_by_default: true,
        reproduce: dagger::scaling,
    },
    Entry {
        id: "dagger/kvs",
        title: "round trips of key-value stores over a coherent interconnect",
        seconds: [1, 1, 2],
        is_by_default: true,
        reproduce: dagger::kvs,
    },
];

impl Entry {
    /// Reproduces the figure.
    ///
    /// # Errors
    ///
    /// [`ReproduceError`] if a run has no result.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_sim::reproduce::{ENTRIES, Effort, Lab, Memo, Judgment};
    /// use nebula_workload::Seed;
    ///
    /// let sizing = ENTRIES.iter().find(|entry| entry.id == "nebula/sizing").expect("it is there");
    /// let found = sizing.reproduce(&Lab { effort: Effort::Quick, seed: Seed(1), progress: &(), memo: &Memo::default() })?;
    /// assert!(found.rows.iter().all(|row| row.judgment() == Judgment::Reproduced));
    /// # Ok::<(), nebula_sim::reproduce::ReproduceError>(())
    /// ```
    pub fn reproduce(&self, lab: &Lab<'_>) -> Result<Reproduction, ReproduceError> {
        (self.reproduce)(lab)
    }

    /// [`reproduce`](Self::reproduce) for tests: the runs are too short for a meaningful result.
    /// `None` for an entry outside NEBULA's evaluation.
    #[doc(hidden)]
    #[must_use]
    pub fn reproduce_briefly(&self, lab: &Lab<'_>) -> Option<Result<Reproduction, ReproduceError>> {
        evaluation::compare_briefly(self.id, lab)
    }
}
