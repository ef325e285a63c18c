//! `nebula-hw synth`: gates, flops, memory bits, longest path and power of the RTL, with yosys and
//! OpenSTA on open cells.
//!
//! | module | what it holds |
//! |---|---|
//! | `design` | which modules are mapped, with which parameters |
//! | `tool` | runs the scripts of hardware/synth |
//! | `source` | which files a module is made of |
//! | `report` | what they print, as numbers |
//! | `scale` | from 180 nm to 22 nm, by named rules of thumb |
//! | `result` | the file of results, hardware/synth/results.json |
//! | `page` | the tables of docs/HARDWARE.md, made of that file |
//! | `verdict` | the figures compared with those of the papers |
//! | `picture` | the pipeline and the area by module, as SVG |
//!
//! A latch in any module fails, before anything is mapped.

mod design;
mod page;
mod picture;
mod report;
mod result;
mod scale;
mod source;
mod tool;
mod verdict;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use design::Design;
pub(crate) use page::{FILES, expected, stale};
use result::{Results, Row};
pub(crate) use source::Sources;
pub(crate) use tool::done;
use tool::{Tools, Window};

use nebula_shell::{Failure, Shell};

/// Arguments of `nebula-hw synth`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Map what takes seconds, and compare it with the results that are committed.
    #[arg(long)]
    quick: bool,
    /// Map modules whose name begins so.
    #[arg(long, value_name = "MODULE")]
    only: Option<String>,
    /// Write hardware/synth/results.json; with --only, other modules' rows stay.
    /// `nebula-hw page --bless` makes docs/HARDWARE.md of it.
    #[arg(long, conflicts_with = "quick")]
    bless: bool,
    /// The folder of the SystemVerilog files.
    #[arg(long, value_name = "FOLDER", default_value = "hardware/rtl")]
    rtl: PathBuf,
}

const AT_ONCE: usize = 2;

pub(crate) fn run(shell: &Shell, args: &Args) -> Result<(), Failure> {
    let tools = match Tools::find(shell, &shell.root().join(&args.rtl))? {
        Ok(tools) => tools,
        Err(missing) => {
            println!("nebula-hw: nothing mapped, because tools are missing: {missing}");
            return Ok(());
        }
    };
    let is_wanted = |design: &Design| {
        (!args.quick || design.is_quick) && args.only.as_ref().is_none_or(|begin| design.module.starts_with(begin))
    };
    let designs: Vec<Design> = design::all().into_iter().filter(is_wanted).collect();
    if designs.is_empty() {
        return Err(Failure::new("no module of that name is mapped"));
    }
    tools.find_latches()?;
    println!("no module has a latch");
    let rows = mapped(&tools, &designs, args.quick)?;
    let measured = Results { tools: tools.versions(), rows };
    let written = result::read(shell)?;
    if args.quick {
        result::compared(&measured, &written)?;
    }
    if args.bless {
        let all = if args.only.is_some() { written.with(measured) } else { measured };
        result::write(shell, &all.in_order(&design::all()))?;
    }
    Ok(())
}

fn mapped(tools: &Tools<'_>, designs: &[Design], is_quick: bool) -> Result<Vec<Row>, Failure> {
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((index, design)) = taken(&next, designs) {
                    let outcome = row(tools, design, is_quick);
                    let has_failed = outcome.is_err();
                    outcomes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((index, outcome));
                    if has_failed {
                        next.store(designs.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn taken<'a>(next: &AtomicUsize, designs: &'a [Design]) -> Option<(usize, &'a Design)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, designs.get(index)?))
}

/// Maps one design in all its ways. A quick run omits those that take minutes: bit vectors as
/// flops, and the FPGA.
fn row(tools: &Tools<'_>, design: &Design, is_quick: bool) -> Result<Row, Failure> {
    let begin = Instant::now();
    let memories = tools.map(design, Window::Memory)?;
    let flops = (design.has_window && !is_quick).then(|| tools.map(design, Window::Flops)).transpose()?;
    let fpga = (design.on_fpga && !is_quick).then(|| tools.map_fpga(design)).transpose()?;
    let row = Row::new(design, memories, flops, fpga);
    println!("{} ({:.0} s)", row.line(), begin.elapsed().as_secs_f64());
    Ok(row)
}
