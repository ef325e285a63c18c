//! The publications as data: figures and set-ups of `data/papers/*.toml`, which are compiled in.

pub(crate) mod spelled;
pub(crate) mod law;
mod altocumulus;
mod dagger;
mod evaluation;
mod nebula;
mod variants;
mod rpcvalet;
mod side_by_side;
mod zygos;
mod preemption;

pub use crate::reproduce::paper::law::Law;
pub use crate::reproduce::paper::law::Use;
pub use altocumulus::{AltocumulusSetup, Scale, Thresholds, Traffic, TrainedLaw};
pub use dagger::{DaggerSetup, Derived, HostCase, Interfaces, Kvs, Quantity, Scaling};
pub use evaluation::{AtLoad, Design, Evaluation, Fig6a, Fig7, Fig8, Mix, Steered, Table3, ValueSize};
pub use nebula::{Eq1, Fig2, NebulaSetup, Printed, Setting, Sizing, Table1};
pub use rpcvalet::{RpcValetSetup, SoftwareQueue, Theory};
pub use variants::{Assignment, Link, MachineVariant, Reassembler, Scrubbing, Variants};

pub use preemption::{ConcordSetup, PersephoneSetup, Reservation, ReservedFor, ShinjukuSetup};
pub use side_by_side::{Case, Comparison, Measured, SideBySide};
pub use zygos::ZygosSetup;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::OnceLock;

/// A paper: its set-ups and its figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper<S> {
    /// Its name, venue and year.
    pub paper: String,
    /// Published parameters.
    pub setup: S,
    /// Published values.
    #[serde(rename = "figure")]
    pub figures: Vec<Figure>,
}

/// One published value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The entry that it belongs to, and its name there.
    pub id: String,
    /// What the value measures.
    pub what: String,
    /// The value, in `unit`.
    pub value: f64,
    /// The unit.
    pub unit: String,
    /// Whether it is a value or a bound.
    #[serde(default)]
    pub relation: Relation,
    /// The largest deviation that counts as reproduced, in `unit`.
    pub tolerance: f64,
    /// The reason for this tolerance.
    pub tolerance_why: String,
    /// Where the value was read.
    pub origin: Origin,
    /// The place in the source.
    pub source: String,
    /// The assumption behind the value, for a parameter that is not published.
    #[serde(default)]
    pub assumes: Option<String>,
    /// The parameter fitted to this value, or equal to it. If ours agrees, it is counted apart.
    #[serde(default)]
    pub fitted: Option<String>,
    /// Why the laboratory has no value for this figure. It is counted apart.
    #[serde(default)]
    pub cited: Option<String>,
    /// The value that means "no effect", if the figure is one: 1 for a ratio, 0 for a difference.
    #[serde(default)]
    pub neutral: Option<f64>,
    /// The figure that makes the same claim, if the paper makes it twice.
    #[serde(default)]
    pub same_as: Option<String>,
}

/// Whether a published value is a value or a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// The value itself.
    #[default]
    Equal,
    /// An upper bound.
    AtMost,
    /// A lower bound.
    AtLeast,
}

/// Where a published value was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// In the paper.
    Paper,
    /// In the authors' slides.
    Slides,
    /// In the paper's abstract.
    Abstract,
    /// Known only second-hand, and not compared with the paper's text.
    Recalled,
    /// Inferred from a public program of the authors.
    Artefact,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Paper => "paper",
            Self::Slides => "slides",
            Self::Abstract => "abstract",
            Self::Recalled => "recalled",
            Self::Artefact => "artefact",
        })
    }
}

impl<S> Paper<S> {
    /// The published value of this id.
    ///
    /// # Panics
    ///
    /// If the file has no figure of this id.
    #[must_use]
    pub fn figure(&self, id: &str) -> &Figure {
        let found = self.figures.iter().find(|figure| figure.id == id);
        found.unwrap_or_else(|| panic!("{} has no figure {id:?}", self.paper))
    }
}

/// A function for each paper, called as its file.
macro_rules! papers {
    ($($(#[$doc:meta])* $paper:ident: $setup:ty;)+) => {$(
        $(#[$doc])*
        ///
        /// # Panics
        ///
        /// If its file in `data/papers/` does not match its types.
        #[must_use]
        pub fn $paper() -> &'static Paper<$setup> {
            static PAPER: OnceLock<Paper<$setup>> = OnceLock::new();
            let text = include_str!(concat!("../../data/papers/", stringify!($paper), ".toml"));
            PAPER.get_or_init(|| parsed(stringify!($paper), text))
        }
    )+};
}

papers! {
    /// NEBULA, ISCA 2020.
    nebula: NebulaSetup;
    /// RPCValet, ASPLOS 2019.
    rpcvalet: RpcValetSetup;
    /// Dagger, ASPLOS 2021.
    dagger: DaggerSetup;
    /// ZygOS, SOSP 2017.
    zygos: ZygosSetup;
    /// Altocumulus, MICRO 2022.
    altocumulus: AltocumulusSetup;
    /// Shinjuku, NSDI 2019.
    shinjuku: ShinjukuSetup;
    /// Perséphone, SOSP 2021.
    persephone: PersephoneSetup;
    /// Concord, SOSP 2023.
    concord: ConcordSetup;
}

/// All published values, each with the name of its paper.
pub fn figures() -> impl Iterator<Item = (&'static str, &'static Figure)> {
    let preemptive = of(shinjuku()).chain(of(persephone())).chain(of(concord()));
    of(nebula()).chain(of(rpcvalet())).chain(of(zygos())).chain(of(altocumulus())).chain(preemptive).chain(of(dagger()))
}

fn of<S>(paper: &'static Paper<S>) -> impl Iterator<Item = (&'static str, &'static Figure)> {
    paper.figures.iter().map(|figure| (paper.paper.as_str(), figure))
}

/// Goes through a table, so that the code that reads a type is compiled for one deserializer: the
/// text has four, a third of what this crate compiled.
fn parsed<P: DeserializeOwned>(paper: &str, text: &str) -> P {
    let table: Result<toml::Table, _> = toml::from_str(text);
    table.and_then(toml::Table::try_into).unwrap_or_else(|error| panic!("data/papers/{paper}.toml: {error}"))
}
