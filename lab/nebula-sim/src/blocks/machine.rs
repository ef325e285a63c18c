//! The machine of all designs: memory, NIC and cores, with the costs of every mechanism.

use super::error::BlocksError;
use crate::shipped::shipped;
use nebula_memsys::MemoryConfig;
use nebula_nic::ScrubMode;
use serde::{Deserialize, Deserializer, de};

/// A server machine.
///
/// # Examples
///
/// ```
/// use nebula_sim::blocks::Machine;
///
/// let machine = Machine::named("isca20").expect("it ships with Nebula");
/// assert_eq!((machine.memory.cores, machine.nic.link_gbps), (16, 120.0));
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name.
    pub name: String,
    /// Cores, caches, mesh and DRAM.
    pub memory: MemoryConfig,
    /// The NIC.
    pub nic: Nic,
    /// How each core executes.
    pub core: Core,
    /// The clients, and the memory reserved for them.
    pub deployment: Deployment,
}

/// The NIC's link and pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Rate of the link in 10⁹ bit per second.
    pub link_gbps: f64,
    /// When the back end searches for room behind a slow RPC: `on-full`, `after-nack` as in the
    /// paper, `ahead`, or `off`.
    #[serde(default, deserialize_with = "scrub_mode")]
    pub scrub: ScrubMode,
    /// Incomplete RPCs that the reassembler can hold; one for each slot of the receive buffer
    /// unless set. It refuses an RPC that finds it full.
    #[serde(default)]
    pub reassembler_entries: Option<u32>,
    /// Latency from the write of an RPC's last block until the RPC is in the arrival queue, in
    /// nanoseconds.
    pub notify_ns: f64,
    /// Latency from the dispatch of an RPC until it is in the core's completion queue, in
    /// nanoseconds.
    pub dispatch_ns: f64,
    /// Latency from a core's `free` until the NIC knows it, in nanoseconds.
    pub free_ns: f64,
    /// Bytes that the NIC has received and memory has not yet taken, at most: the link waits while
    /// there are more. Assumed: memory takes packets as fast as links bring them unless DRAM is
    /// saturated, and only then does the bound matter.
    #[serde(default = "write_buffer_bytes")]
    pub write_buffer_bytes: u32,
}

const fn write_buffer_bytes() -> u32 {
    65_536
}

fn scrub_mode<'de, D: Deserializer<'de>>(text: D) -> Result<ScrubMode, D::Error> {
    String::deserialize(text)?.parse().map_err(de::Error::custom)
}

/// How a core executes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Computing time of one RPC of the key-value store without cache misses, in nanoseconds: the
    /// only calibrated constant.
    pub compute_ns: f64,
    /// Outstanding loads of a copy loop, in blocks.
    pub load_window: u32,
    /// Least time between two blocks of a copy loop, in nanoseconds.
    pub issue_ns: f64,
    /// Outstanding stores of a core, in blocks.
    pub stores_max: u32,
    /// Time to read the completion queue and prefetch from it, in nanoseconds.
    pub software_prefetch_ns: f64,
    /// Time to look at one slot, of a core that polls slots, in nanoseconds. Assumed: a line that
    /// is prefetched from the LLC, 2 ns on a link of 16 B at 2 GHz, and a comparison.
    #[serde(default = "poll_ns")]
    pub poll_ns: f64,
    /// Whether software that writes a reply fetches a block first even if it overwrites the
    /// complete block.
    pub reply_stores_fetch: bool,
    /// The same for software that writes to its log.
    pub log_stores_fetch: bool,
}

const fn poll_ns() -> f64 {
    2.5
}

/// The clients, and the memory reserved for them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment {
    /// Client nodes.
    pub nodes: u32,
    /// Most outstanding messages per node; per-connection buffers have this many slots per node.
    pub messages_per_node: u32,
    /// Rate of each client's own link in 10⁹ bit per second; packets of different clients then
    /// interleave on the server's link. Unless it is set, all packets of a message come at once,
    /// and the server's link carries one message after another.
    #[serde(default)]
    pub client_gbps: Option<f64>,
    /// The shared receive buffer, in bytes.
    pub receive_buffer_bytes: u32,
    /// The shared pool of send buffers, in bytes.
    pub send_pool_bytes: u64,
    /// Metadata of per-connection slots: blocks that the NIC reads and writes for the receive slot
    /// and for the send slot of an RPC.
    pub slot_metadata_blocks: u32,
    /// Blocks of each receive slot by which the NIC may move a message back, so that its first
    /// block is in the bank next to the core that will serve it; 0 if messages begin where their
    /// slots do.
    #[serde(default)]
    pub headroom_blocks: u32,
}

shipped!(Machine in "machines":
    "isca20", "isca20-unfitted", "server64",
);

impl Machine {
    /// Reads a machine from TOML.
    ///
    /// # Errors
    ///
    /// [`BlocksError::Toml`] with the line and the reason, [`BlocksError::Parameter`] for a value
    /// outside its range.
    pub fn parse(text: &str) -> Result<Self, BlocksError> {
        Self::parse_with(text, &[])
    }

    /// Reads a machine from TOML and replaces the values of some keys:
    /// `("memory.llc.bytes", 33554432.0)`.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Self::parse), and [`BlocksError::Key`] for a key that is missing or is
    /// not a number.
    ///
    /// # Examples
    ///
    /// ```
    /// use nebula_sim::blocks::Machine;
    ///
    /// let text = Machine::source("isca20").expect("it ships with Nebula");
    /// let machine = Machine::parse_with(text, &[("core.load_window", 6.0), ("nic.link_gbps", 240.0)])?;
    /// assert_eq!((machine.core.load_window, machine.nic.link_gbps), (6, 240.0));
    /// assert!(Machine::parse_with(text, &[("core.windows", 6.0)]).is_err());
    /// # Ok::<(), nebula_sim::blocks::BlocksError>(())
    /// ```
    pub fn parse_with(text: &str, changes: &[(&str, f64)]) -> Result<Self, BlocksError> {
        let wrong = |error: toml::de::Error| BlocksError::toml("a machine", text, &error);
        // Parsing the text itself first gives errors their line.
        let plain: Self = toml::from_str(text).map_err(wrong)?;
        let machine = if changes.is_empty() {
            plain
        } else {
            let mut table: toml::Table = toml::from_str(text).map_err(wrong)?;
            for &(key, value) in changes {
                change(&mut table, key, value)?;
            }
            table.try_into().map_err(wrong)?
        };
        machine.validate()?;
        Ok(machine)
    }

    /// Reads a machine from TOML and replaces or adds the values of `changes`, section by section.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Self::parse).
    pub fn parse_over(text: &str, changes: &toml::Table) -> Result<Self, BlocksError> {
        let wrong = |error: toml::de::Error| BlocksError::toml("a machine", text, &error);
        let mut table: toml::Table = toml::from_str(text).map_err(wrong)?;
        merge(&mut table, changes);
        let machine: Self = table.try_into().map_err(wrong)?;
        machine.validate()?;
        Ok(machine)
    }

    /// The number of a key in a machine's text.
    ///
    /// # Errors
    ///
    /// Those of [`parse_with`](Self::parse_with).
    pub fn number(text: &str, key: &str) -> Result<f64, BlocksError> {
        let mut table: toml::Table =
            toml::from_str(text).map_err(|error| BlocksError::toml("a machine", text, &error))?;
        match number_at(&mut table, key)? {
            toml::Value::Integer(value) => Ok(*value as f64),
            toml::Value::Float(value) => Ok(*value),
            _ => Err(BlocksError::Key { key: key.to_owned() }),
        }
    }

    /// Checks that it can be simulated.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] that says what is wrong.
    pub fn validate(&self) -> Result<(), BlocksError> {
        self.memory.validate()?;
        let (nic, core, deployment) = (&self.nic, &self.core, &self.deployment);
        within("nic.link_gbps", nic.link_gbps, 0.1..=100_000.0)?;
        within("nic.write_buffer_bytes", nic.write_buffer_bytes.into(), 64.0..=1e9)?;
        within("nic.reassembler_entries", nic.reassembler_entries.unwrap_or(1).into(), 1.0..=1e6)?;
        within("deployment.client_gbps", deployment.client_gbps.unwrap_or(1.0), 0.001..=100_000.0)?;
        for (name, ns) in [
            ("nic.notify_ns", nic.notify_ns),
            ("nic.dispatch_ns", nic.dispatch_ns),
            ("nic.free_ns", nic.free_ns),
            ("core.compute_ns", core.compute_ns),
            ("core.issue_ns", core.issue_ns),
            ("core.software_prefetch_ns", core.software_prefetch_ns),
            ("core.poll_ns", core.poll_ns),
        ] {
            within(name, ns, 0.0..=1e6)?;
        }
        within("core.load_window", core.load_window.into(), 1.0..=f64::from(WINDOW_MAX))?;
        within("core.stores_max", core.stores_max.into(), 1.0..=f64::from(WINDOW_MAX))?;
        within("deployment.nodes", deployment.nodes.into(), 1.0..=1e6)?;
        within("deployment.messages_per_node", deployment.messages_per_node.into(), 1.0..=1e5)?;
        within("deployment.receive_buffer_bytes", deployment.receive_buffer_bytes.into(), 512.0..=1e9)?;
        within("deployment.send_pool_bytes", deployment.send_pool_bytes as f64, 64.0..=1e11)?;
        within("deployment.headroom_blocks", deployment.headroom_blocks.into(), 0.0..=1024.0)?;
        within("deployment.slot_metadata_blocks", deployment.slot_metadata_blocks.into(), 0.0..=16.0)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; `as` saturates")]
pub(super) fn ps_of(ns: f64) -> u64 {
    libm::round(ns * 1e3) as u64
}

/// Replaces or adds values, section by section.
pub(super) fn merge(table: &mut toml::Table, changes: &toml::Table) {
    for (key, value) in changes {
        match (table.get_mut(key).and_then(toml::Value::as_table_mut), value) {
            (Some(section), toml::Value::Table(changes)) => merge(section, changes),
            _ => drop(table.insert(key.clone(), value.clone())),
        }
    }
}

/// Replaces a number; an integer stays an integer.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and no key takes such numbers")]
fn change(table: &mut toml::Table, key: &str, value: f64) -> Result<(), BlocksError> {
    let number = number_at(table, key)?;
    *number = match number {
        toml::Value::Integer(_) => toml::Value::Integer(libm::round(value) as i64),
        _ => toml::Value::Float(value),
    };
    Ok(())
}

/// The number of a key with its sections.
fn number_at<'a>(table: &'a mut toml::Table, key: &str) -> Result<&'a mut toml::Value, BlocksError> {
    let missing = || BlocksError::Key { key: key.to_owned() };
    let (sections, last) = key.rsplit_once('.').ok_or_else(missing)?;
    let mut table = table;
    for section in sections.split('.') {
        table = table.get_mut(section).and_then(toml::Value::as_table_mut).ok_or_else(missing)?;
    }
    table.get_mut(last).filter(|value| value.is_integer() || value.is_float()).ok_or_else(missing)
}

/// Most outstanding loads or stores of a core.
pub(super) const WINDOW_MAX: u32 = 64;

fn within(name: &'static str, got: f64, range: std::ops::RangeInclusive<f64>) -> Result<(), BlocksError> {
    if range.contains(&got) {
        return Ok(());
    }
    Err(BlocksError::Parameter { name, got, least: *range.start(), most: *range.end() })
}
