//! The set-ups of NEBULA's evaluation: designs, workloads, and the printed loads.
//!
//! The paper prints rounded rates. A load here is the mean time between arrivals, a round number.

use serde::Deserialize;

/// One of the designs that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Design {
    /// RSS.
    Rss,
    /// RPCValet.
    RpcValet,
    /// SRQ, emulated.
    Srq,
    /// NEBULA without steering.
    Base,
    /// NEBULA without steering, with software prefetching.
    SwPref,
    /// NEBULA.
    Nebula,
}

impl Design {
    /// Name in row ids.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Rss => "rss",
            Self::RpcValet => "rpcvalet",
            Self::Srq => "srq",
            Self::Base => "base",
            Self::SwPref => "swpref",
            Self::Nebula => "nebula",
        }
    }

    /// Name in texts.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Rss => "RSS",
            Self::RpcValet => "RPCValet",
            Self::Srq => "SRQ_emu",
            Self::Base => "NEBULA_base",
            Self::SwPref => "NEBULA_SWPref",
            Self::Nebula => "NEBULA",
        }
    }

    /// The name of its file.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::Rss => "rss",
            Self::RpcValet => "rpcvalet",
            Self::Srq => "srq-emu",
            Self::Base => "nebula-base",
            Self::SwPref => "nebula-swpref",
            Self::Nebula => "nebula",
        }
    }
}

/// Parameters that all figures of the evaluation share.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The machine.
    pub machine: String,
    /// The same machine without fitted parameters.
    pub unfitted: String,
    /// The SLO, in mean service times.
    pub slo_services: f64,
    /// Bytes of a value, unless a figure says otherwise.
    pub value_bytes: u32,
    /// Percentage of GETs, unless a figure says otherwise.
    pub gets_percent: u32,
    /// The loads of the curves as times between arrivals, by ascending load.
    pub gaps_ns: Vec<f64>,
    /// The loads of the curves in quick runs.
    pub coarse_gaps_ns: Vec<f64>,
}

/// A design at a load.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtLoad {
    /// The design.
    #[serde(rename = "name")]
    pub design: Design,
    /// Time between arrivals.
    pub gap_ns: f64,
}

/// Figures 6a and 6b.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fig6a {
    /// The load at which the tails of RSS and RPCValet are compared.
    pub tail_gap_ns: f64,
    /// The load at which the tails of `SRQ_emu` and `NEBULA_base` are compared.
    pub balance_gap_ns: f64,
    /// The highest load of `NEBULA_base`.
    pub base_gap_ns: f64,
    /// A load above that, at which `NEBULA_base` is saturated.
    pub beyond_gap_ns: f64,
    /// The designs, each with the highest load that the paper prints for it.
    #[serde(rename = "design")]
    pub designs: Vec<AtLoad>,
}

/// Table III.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table3 {
    /// Its rows.
    #[serde(rename = "mix")]
    pub mixes: Vec<Mix>,
}

/// One row of Table III.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Name in row ids.
    pub id: String,
    /// Percentage of GETs.
    pub gets_percent: u32,
    /// The highest load that the paper prints for RPCValet.
    pub rpcvalet_gap_ns: f64,
    /// The highest load that the paper prints for `NEBULA_base`.
    pub base_gap_ns: f64,
}

/// Figure 7.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fig7 {
    /// Its value sizes.
    #[serde(rename = "size")]
    pub sizes: Vec<ValueSize>,
}

/// One value size of Figure 7.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueSize {
    /// Bytes of a value.
    pub value_bytes: u32,
    /// The highest load that the paper prints for RPCValet.
    pub rpcvalet_gap_ns: f64,
    /// The highest load that the paper prints for `NEBULA_base`.
    pub base_gap_ns: f64,
}

/// Figure 8.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fig8 {
    /// A load at which all designs have the same tail.
    pub alike_gap_ns: f64,
    /// The highest load of `NEBULA_base`.
    pub base_gap_ns: f64,
    /// Bytes of a small value.
    pub small_value_bytes: u32,
    /// The loads at which the benefit of steering is printed.
    pub steered: Vec<Steered>,
}

/// One load at which the benefit of steering is printed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steered {
    /// Name in row ids.
    pub id: String,
    /// Time between arrivals.
    pub gap_ns: f64,
}
