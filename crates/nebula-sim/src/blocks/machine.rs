//! The machine: memory, NIC and cores, from one TOML file; what every mechanism costs, for all designs.

use super::BlocksError;
use crate::shipped::{Shipped, shipped};
use nebula_memsys::MemoryConfig;
use serde::Deserialize;

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
    /// Its name.
    pub name: String,
    /// Cores, caches, mesh and DRAM.
    pub memory: MemoryConfig,
    /// The NIC.
    pub nic: Nic,
    /// What each core does.
    pub core: Core,
    /// Who calls, and the memory set aside for them.
    pub deployment: Deployment,
}

/// The NIC's link and pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Rate of the link in 10⁹ bit a second.
    pub link_gbps: f64,
    /// From the write of an RPC's last block until the RPC is in the arrival queue, in nanoseconds.
    pub notify_ns: f64,
    /// From the dispatch of an RPC until it is in the core's completion queue, in nanoseconds.
    pub dispatch_ns: f64,
    /// From a core's free until the NIC knows of it, in nanoseconds.
    pub free_ns: f64,
}

/// How a core executes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Computing for one RPC of the key-value store, beside its misses, in nanoseconds: the one calibrated constant.
    pub compute_ns: f64,
    /// Blocks that a copy loop has on the way at once.
    pub load_window: u32,
    /// From one block of a copy loop to the next at the least, in nanoseconds.
    pub issue_ns: f64,
    /// Blocks of stores that a core has on the way at once.
    pub stores_max: u32,
    /// Looking into the completion queue and prefetching from it, in nanoseconds.
    pub software_prefetch_ns: f64,
    /// Whether a store to a block that will be overwritten whole still fetches it first, where software writes a reply.
    pub reply_stores_fetch: bool,
    /// The same where software writes into its log.
    pub log_stores_fetch: bool,
}

/// Who calls, and what is set aside for them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deployment {
    /// Nodes that may call.
    pub nodes: u32,
    /// Messages that each may have outstanding, which per-connection buffers have slots for.
    pub messages_per_node: u32,
    /// The shared receive buffer, in bytes.
    pub receive_buffer_bytes: u32,
    /// The shared pool of send buffers, in bytes.
    pub send_pool_bytes: u64,
    /// Bookkeeping of per-connection slots: blocks that the NIC reads and writes for an RPC's receive slot, and for its send slot.
    pub slot_metadata_blocks: u32,
}

/// The machines that ship with Nebula.
const SHIPPED: Shipped = shipped!("machines":
    "isca20", "isca20-unfitted", "server64",
);

impl Machine {
    /// The names of those that ship with Nebula.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SHIPPED.names()
    }

    /// The one of this name that ships with Nebula.
    ///
    /// # Panics
    ///
    /// If its file is no machine, which a test rules out.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        SHIPPED.parsed(name, Self::parse)
    }

    /// The text of the one of this name that ships with Nebula.
    #[must_use]
    pub fn source(name: &str) -> Option<&'static str> {
        SHIPPED.text(name)
    }

    /// Reads a machine from TOML.
    ///
    /// # Errors
    ///
    /// [`BlocksError::Toml`] with line and reason, [`BlocksError::Parameter`] for a value that is not possible.
    pub fn parse(text: &str) -> Result<Self, BlocksError> {
        Self::parse_with(text, &[])
    }

    /// Reads a machine from TOML with other values for some of its keys: `("memory.llc.bytes", 33554432.0)`.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and [`BlocksError::Key`] for a key that the text does not have or that is no number.
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
        // From the text itself, an error has its line.
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

    /// The number that a machine's text has under a key.
    ///
    /// # Errors
    ///
    /// As [`parse_with`](Self::parse_with).
    pub fn number(text: &str, key: &str) -> Result<f64, BlocksError> {
        let mut table: toml::Table =
            toml::from_str(text).map_err(|error| BlocksError::toml("a machine", text, &error))?;
        match number_at(&mut table, key)? {
            toml::Value::Integer(value) => Ok(*value as f64),
            toml::Value::Float(value) => Ok(*value),
            _ => Err(BlocksError::Key { key: key.to_owned() }),
        }
    }

    /// Whether it can be simulated.
    ///
    /// # Errors
    ///
    /// [`BlocksError`] with what is wrong with it.
    pub fn validate(&self) -> Result<(), BlocksError> {
        self.memory.validate()?;
        let (nic, core, deployment) = (&self.nic, &self.core, &self.deployment);
        within("nic.link_gbps", nic.link_gbps, 0.1..=100_000.0)?;
        for (name, ns) in [
            ("nic.notify_ns", nic.notify_ns),
            ("nic.dispatch_ns", nic.dispatch_ns),
            ("nic.free_ns", nic.free_ns),
            ("core.compute_ns", core.compute_ns),
            ("core.issue_ns", core.issue_ns),
            ("core.software_prefetch_ns", core.software_prefetch_ns),
        ] {
            within(name, ns, 0.0..=1e6)?;
        }
        within("core.load_window", core.load_window.into(), 1.0..=f64::from(WINDOW_MAX))?;
        within("core.stores_max", core.stores_max.into(), 1.0..=f64::from(WINDOW_MAX))?;
        within("deployment.nodes", deployment.nodes.into(), 1.0..=1e6)?;
        within("deployment.messages_per_node", deployment.messages_per_node.into(), 1.0..=1e5)?;
        within("deployment.receive_buffer_bytes", deployment.receive_buffer_bytes.into(), 512.0..=1e9)?;
        within("deployment.send_pool_bytes", deployment.send_pool_bytes as f64, 64.0..=1e11)?;
        within("deployment.slot_metadata_blocks", deployment.slot_metadata_blocks.into(), 0.0..=16.0)
    }
}

/// Nanoseconds as picoseconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative; `as` saturates")]
pub(super) fn ps_of(ns: f64) -> u64 {
    libm::round(ns * 1e3) as u64
}

/// Replaces a number, and keeps it whole where it was.
#[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and no key takes such numbers")]
fn change(table: &mut toml::Table, key: &str, value: f64) -> Result<(), BlocksError> {
    let number = number_at(table, key)?;
    *number = match number {
        toml::Value::Integer(_) => toml::Value::Integer(libm::round(value) as i64),
        _ => toml::Value::Float(value),
    };
    Ok(())
}

/// The number under a key with its sections.
fn number_at<'a>(table: &'a mut toml::Table, key: &str) -> Result<&'a mut toml::Value, BlocksError> {
    let missing = || BlocksError::Key { key: key.to_owned() };
    let (sections, last) = key.rsplit_once('.').ok_or_else(missing)?;
    let mut table = table;
    for section in sections.split('.') {
        table = table.get_mut(section).and_then(toml::Value::as_table_mut).ok_or_else(missing)?;
    }
    table.get_mut(last).filter(|value| value.is_integer() || value.is_float()).ok_or_else(missing)
}

/// Loads or stores that a core has on the way at most.
pub(super) const WINDOW_MAX: u32 = 64;

fn within(name: &'static str, got: f64, range: std::ops::RangeInclusive<f64>) -> Result<(), BlocksError> {
    if range.contains(&got) {
        return Ok(());
    }
    Err(BlocksError::Parameter { name, got, least: *range.start(), most: *range.end() })
}
