//! hardware/synth/results.json: the last results, a row for each design.

use serde::{Deserialize, Serialize};

use super::design::Design;
use super::report::{Fpga, Mapped};
use super::scale;
use nebula_shell::{Attempt, Failure, Shell};

pub(super) const FILE: &str = "hardware/synth/results.json";

/// A quick run accepts gates that differ this much from the committed ones.
const SHARE_MAX: f64 = 0.05;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) tools: Vec<String>,
    pub(super) rows: Vec<Row>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) module: String,
    pub(super) what: String,
    pub(super) cores: u32,
    pub(super) parameters: String,
    /// With separate memories.
    pub(super) mapped: Mapped,
    /// With its bit vectors as flops.
    pub(super) as_flops: Option<Mapped>,
    pub(super) fpga: Option<Fpga>,
}

impl Row {
    pub(super) fn new(design: &Design, mapped: Mapped, as_flops: Option<Mapped>, fpga: Option<Fpga>) -> Self {
        Self {
            module: design.module.to_owned(),
            what: design.what.to_owned(),
            cores: design.cores,
            parameters: design.words(),
            mapped,
            as_flops,
            fpga,
        }
    }

    /// The longest path at 180 nm: through bit vectors if they were mapped as flops.
    pub(super) fn path_ns(&self) -> f64 {
        self.as_flops.as_ref().map_or(self.mapped.path_ns, |mapped| mapped.path_ns)
    }

    /// For the terminal.
    pub(super) fn line(&self) -> String {
        let Mapped { gates, flops, .. } = &self.mapped;
        let memory_bits = self.mapped.memory_bits();
        let (path, clock) = (self.path_ns(), scale::ghz_at_22nm(self.path_ns()));
        format!(
            "{} {} cores{}: {gates:.0} gates, {flops} flops, {memory_bits} bits of memory, {path:.2} ns at 180 nm, {clock:.2} GHz at 22 nm",
            self.module,
            self.cores,
            if self.what.is_empty() { String::new() } else { format!(", {}", self.what) },
        )
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.module, &self.parameters) == (&other.module, &other.parameters)
    }
}

impl Results {
    /// Replaces rows by those of `others`.
    pub(super) fn with(mut self, others: Self) -> Self {
        self.tools = others.tools;
        for row in others.rows {
            match self.rows.iter_mut().find(|old| old.is_of(&row)) {
                Some(old) => *old = row,
                None => self.rows.push(row),
            }
        }
        self
    }

    /// In the order of the designs; other rows follow.
    pub(super) fn in_order(mut self, designs: &[Design]) -> Self {
        let is_of = |row: &Row, design: &Design| row.module == design.module && row.parameters == design.words();
        let place = |row: &Row| designs.iter().position(|design| is_of(row, design)).unwrap_or(designs.len());
        self.rows.sort_by_key(place);
        self
    }
}

/// Empty if there is no file yet.
pub(super) fn read(shell: &Shell) -> Result<Results, Failure> {
    let path = shell.root().join(FILE);
    if !path.exists() {
        return Ok(Results::default());
    }
    parsed(&std::fs::read_to_string(path).attempt(format!("read {FILE}"))?)
}

pub(super) fn parsed(text: &str) -> Result<Results, Failure> {
    serde_json::from_str(text).attempt(format!("read {FILE}"))
}

pub(super) fn write(shell: &Shell, results: &Results) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(results).attempt("write results as JSON")?;
    std::fs::write(shell.root().join(FILE), text + "\n").attempt(format!("write {FILE}"))?;
    println!("written to {FILE}; `cargo hw page --bless` makes docs/HARDWARE.md of it");
    Ok(())
}

/// Fails if gates or flops differ from the committed ones. Another version of the tools may give
/// other gates and is not compared.
pub(super) fn compared(measured: &Results, written: &Results) -> Result<(), Failure> {
    if measured.tools != written.tools {
        println!("nebula-hw: not compared with {FILE}, which {} made", written.tools.join(" and "));
        return Ok(());
    }
    let former = |row: &Row| written.rows.iter().find(|old| old.is_of(row)).cloned();
    let old: Vec<String> =
        measured.rows.iter().filter(|row| former(row).is_none_or(|old| differs(row, &old))).map(Row::line).collect();
    match old.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "{FILE} is of other RTL: run `cargo hw synth --bless` and `cargo hw page --bless`. It differs in\n{}",
            old.join("\n")
        ))),
    }
}

fn differs(row: &Row, old: &Row) -> bool {
    let (new, old) = (&row.mapped, &old.mapped);
    new.flops != old.flops || new.memory_bits() != old.memory_bits() || (new.gates / old.gates - 1.0).abs() > SHARE_MAX
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::synth::report::Memory;

    pub(in super::super) fn row(module: &str, cores: u32, gates: f64) -> Row {
        let memory = Memory { name: "used".to_owned(), words: 1, width: 64 };
        let mapped = Mapped { cells: 10, gates, flops: 5, memories: vec![memory], path_ns: 4.0, watts: 1e-3 };
        let (module, what, parameters) = (module.to_owned(), String::new(), format!("Cores {cores}"));
        Row { module, what, cores, parameters, mapped, as_flops: None, fpga: None }
    }

    fn of(rows: Vec<Row>) -> Results {
        Results { tools: vec!["yosys".to_owned()], rows }
    }

    #[test]
    fn rows_that_were_mapped_replace_their_former_ones() {
        let old = of(vec![row("a", 16, 100.0), row("b", 16, 200.0)]);
        let merged = old.with(of(vec![row("b", 16, 300.0), row("c", 16, 1.0)]));
        let gates: Vec<f64> = merged.rows.iter().map(|row| row.mapped.gates).collect();
        assert_eq!(gates, [100.0, 300.0, 1.0]);
    }

    #[test]
    fn rows_are_in_the_order_of_the_designs() {
        let designs: Vec<Design> = crate::synth::design::all().into_iter().filter(|one| one.module == "jbsq").collect();
        let rows = [64, 16, 7, 256].map(|cores| row("jbsq", cores, 1.0));
        let cores: Vec<u32> = of(rows.to_vec()).in_order(&designs).rows.iter().map(|row| row.cores).collect();
        assert_eq!(cores, [16, 64, 256, 7]);
    }

    #[test]
    fn results_of_other_rtl_are_found() {
        let written = of(vec![row("a", 16, 100.0)]);
        assert!(compared(&of(vec![row("a", 16, 104.0)]), &written).is_ok());
        assert!(compared(&of(vec![row("a", 16, 106.0)]), &written).is_err());
        assert!(compared(&of(vec![row("b", 16, 100.0)]), &written).is_err());
    }

    #[test]
    fn results_of_other_tools_are_not_compared() {
        let written = Results { tools: vec!["another".to_owned()], rows: Vec::new() };
        assert!(compared(&of(vec![row("a", 16, 100.0)]), &written).is_ok());
    }
}
