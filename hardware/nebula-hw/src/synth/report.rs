//! Parses the output of yosys and OpenSTA.

use serde::{Deserialize, Serialize};

use super::scale;

/// One module with one set of parameters, mapped onto standard cells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Mapped {
    pub(super) cells: u64,
    /// Area in NAND gates with two inputs, without memories.
    pub(super) gates: f64,
    pub(super) flops: u64,
    /// Memories that are kept apart.
    pub(super) memories: Vec<Memory>,
    /// The longest path including a flop's setup time, at 180 nm.
    pub(super) path_ns: f64,
    /// At 180 nm, a clock of 100 MHz, and the activity that OpenSTA assumes; without memories.
    pub(super) watts: f64,
}

impl Mapped {
    pub(super) fn memory_bits(&self) -> u64 {
        self.memories.iter().map(Memory::bits).sum()
    }
}

/// Its name in the RTL, its words and the bits of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) name: String,
    pub(super) words: u64,
    pub(super) width: u64,
}

impl Memory {
    pub(super) fn bits(&self) -> u64 {
        self.words * self.width
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fpga {
    pub(super) lut4: u64,
    pub(super) carries: u64,
    pub(super) flops: u64,
    /// Distributed memories of 16 × 4 bits.
    pub(super) dpr16x4: u64,
    /// Block memories of 18 kb.
    pub(super) dp16kd: u64,
}

/// Reads the three reports of a module; the error is the missing part.
pub(super) fn mapped(stat: &str, memories: &str, timing: &str) -> Result<Mapped, String> {
    let area = number_behind(stat, "Chip area for module").ok_or("no chip area in the statistics")?;
    let slack = slack(timing).ok_or("no slack in the timing report")?;
    Ok(Mapped {
        cells: cells(stat, |name| !name.starts_with('$')),
        gates: scale::gates(area),
        flops: cells(stat, |name| name.starts_with("DFF")),
        memories: self::memories(memories),
        path_ns: scale::SCRIPT_PERIOD_NS - slack,
        watts: watts(timing).ok_or("no total in the power report")?,
    })
}

pub(super) fn fpga(stat: &str) -> Fpga {
    let count = |wanted: &str| cells(stat, |name| name == wanted);
    Fpga {
        lut4: count("LUT4"),
        carries: count("CCU2C"),
        flops: count("TRELLIS_FF"),
        dpr16x4: count("TRELLIS_DPR16X4"),
        dp16kd: count("DP16KD"),
    }
}

/// Counts the cells of the wanted types, in the lines of type and number behind the number of
/// cells.
fn cells(stat: &str, is_wanted: impl Fn(&str) -> bool) -> u64 {
    let listed = stat.rsplit("Number of cells:").next().unwrap_or_default().lines().skip(1);
    let rows = listed.map_while(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?.parse::<u64>().ok()?))
    });
    rows.filter(|(name, _)| is_wanted(name)).map(|(_, count)| count).sum()
}

fn number_behind(text: &str, label: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| line.contains(label))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// The memories in a dump in yosys' own language, by name.
fn memories(dump: &str) -> Vec<Memory> {
    let mut found: Vec<Memory> = Vec::new();
    for line in dump.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("cell $mem_v2 ") {
            found.push(Memory { name: name.trim_start_matches('\\').to_owned(), words: 0, width: 0 });
        } else if let Some(memory) = found.last_mut() {
            let value = |name: &str| line.strip_prefix("parameter \\")?.strip_prefix(name)?.trim().parse().ok();
            memory.words = value("SIZE ").unwrap_or(memory.words);
            memory.width = value("WIDTH ").unwrap_or(memory.width);
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

fn slack(timing: &str) -> Option<f64> {
    let line = timing.lines().find(|line| line.contains("slack ("))?;
    line.split_whitespace().next()?.parse().ok()
}

fn watts(timing: &str) -> Option<f64> {
    let line = timing.lines().find(|line| line.starts_with("Total "))?;
    line.split_whitespace().nth(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
=== backend ===

   Number of cells:               8078
     $mem_v2                         2
     AND2X1                         75
     DFFPOSX1                      253

   Chip area for module '\\backend': 240.000000
";
    const MEMORIES: &str = "\
  cell $mem_v2 \\used
    parameter \\SIZE 69
    parameter \\WIDTH 64
  cell $mem_v2 \\holder
    parameter \\SIZE 10
    parameter \\WIDTH 6
";
    const TIMING: &str = "\
             2.8499   slack (MET)
Group                    Internal    Switching      Leakage        Total
Sequential           6.080981e-03 3.712510e-04 4.066337e-08 6.452273e-03  15.1%
Total                3.149367e-02 1.121505e-02 5.105852e-07 4.270922e-02 100.0%
";

    #[test]
    fn reports_become_numbers() {
        let found = mapped(STAT, MEMORIES, TIMING).expect("all is there");
        assert_eq!((found.cells, found.flops, found.memory_bits()), (328, 253, 69 * 64 + 60));
        assert_eq!(found.memories[1], Memory { name: "used".to_owned(), words: 69, width: 64 });
        assert!((found.gates - 10.0).abs() < 1e-9);
        assert!((found.path_ns - 7.1501).abs() < 1e-9);
        assert!((found.watts - 0.042_709_22).abs() < 1e-9);
    }

    #[test]
    fn a_report_that_lacks_a_figure_is_an_error_that_names_it() {
        assert!(mapped("", MEMORIES, TIMING).is_err_and(|missing| missing.contains("chip area")));
        assert!(mapped(STAT, MEMORIES, "").is_err_and(|missing| missing.contains("slack")));
    }

    #[test]
    fn cells_of_an_fpga_are_counted_by_kind() {
        let stat = "   Number of cells:  9\n     LUT4   5\n     TRELLIS_FF   4\n";
        assert_eq!(fpga(stat), Fpga { lut4: 5, carries: 0, flops: 4, dpr16x4: 0, dp16kd: 0 });
    }
}
