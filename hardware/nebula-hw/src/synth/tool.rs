//! Runs yosys and OpenSTA on one module, by scripts in hardware/synth that read the environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::design::Design;
use super::report::{self, Fpga, Mapped};
use super::source::Sources;
use nebula_shell::{Attempt, Failure, Shell, line_of};

/// The open cells of Debian's `qflow-tech-osu018`: 180 nm, typical.
const LIBERTY: &str = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib";

pub(super) struct Tools<'a> {
    shell: &'a Shell,
    rtl: Sources,
    folder: PathBuf,
}

/// Whether bit vectors stay memories or become flops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    Memory,
    Flops,
}

impl<'a> Tools<'a> {
    /// Finds the tools and the RTL; the inner error names the missing ones.
    pub(super) fn find(shell: &'a Shell, rtl: &Path) -> Result<Result<Self, String>, Failure> {
        if let Some(missing) = missing(shell) {
            return Ok(Err(missing));
        }
        let folder = shell.target().join("synth");
        std::fs::create_dir_all(&folder).attempt("make a folder for netlists")?;
        Ok(Ok(Self { shell, rtl: Sources::read(rtl)?, folder }))
    }

    pub(super) fn versions(&self) -> Vec<String> {
        let first = |program: &str, args: &[&str]| {
            let output = self.shell.command(program).args(args).output().ok()?;
            String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
        };
        let sta = first("sta", &["-version"]).map(|version| format!("OpenSTA {version}"));
        first("yosys", &["-V"]).into_iter().chain(sta).collect()
    }

    /// Fails if any module has a latch.
    pub(super) fn find_latches(&self) -> Result<(), Failure> {
        let mut yosys = self.shell.command("yosys");
        yosys.args(["-q", "-c", "hardware/synth/latches.tcl"]).env("RTL", self.rtl.all().join(" "));
        done(&mut yosys, &self.folder.join("latches.log"))
    }

    /// Maps onto standard cells, times the result, and estimates its power.
    pub(super) fn map(&self, design: &Design, window: Window) -> Result<Mapped, Failure> {
        let suffix = if window == Window::Flops { "-flops" } else { "" };
        let netlist = self.folder.join(format!("{}{suffix}.v", design.name()));
        let is_flops = if window == Window::Flops { "1" } else { "0" };
        let timing = netlist.with_extension("timing");
        self.unless_done(&netlist, &["map.tcl", "driven.constr", "timing.tcl"], design, || {
            let mut yosys = self.yosys("map.tcl", design, &netlist);
            done(yosys.env("WINDOW", is_flops).env("LIBERTY", LIBERTY), &netlist.with_extension("log"))?;
            let mut sta = self.shell.command("sta");
            sta.args(["-exit", "hardware/synth/timing.tcl"]);
            done(sta.env("LIBERTY", LIBERTY).env("NETLIST", &netlist).env("TOP", design.module), &timing)
        })?;
        let beside = |extension: &str| read(&netlist.with_extension(extension));
        report::mapped(&beside("v.stat")?, &beside("v.memories")?, &read(&timing)?)
            .map_err(|missing| Failure::new(format!("{}: {missing}", design.name())))
    }

    pub(super) fn map_fpga(&self, design: &Design) -> Result<Fpga, Failure> {
        let netlist = self.folder.join(format!("{}-ecp5", design.name()));
        self.unless_done(&netlist, &["ecp5.tcl"], design, || {
            done(&mut self.yosys("ecp5.tcl", design, &netlist), &netlist.with_extension("log"))
        })?;
        Ok(report::fpga(&read(&netlist.with_extension("ecp5"))?))
    }

    /// Runs the tools, unless they ran on the same sources, scripts and parameters: a file next to
    /// the netlist records these.
    fn unless_done(
        &self,
        netlist: &Path,
        scripts: &[&str],
        design: &Design,
        run: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let made_of = netlist.with_extension("made-of");
        let mut inputs = format!("{}\n{}\n", design.words(), self.rtl.text_of(design.module));
        for script in scripts {
            inputs += &read(&self.shell.root().join("hardware/synth").join(script))?;
        }
        if std::fs::read_to_string(&made_of).is_ok_and(|former| former == inputs) {
            return Ok(());
        }
        run()?;
        std::fs::write(&made_of, inputs).attempt(format!("write {}", made_of.display()))
    }

    fn yosys(&self, script: &str, design: &Design, netlist: &Path) -> Command {
        let mut yosys = self.shell.command("yosys");
        let files = self.rtl.of(design.module).join(" ");
        yosys.args(["-q", "-c", &format!("hardware/synth/{script}")]).env("RTL", files).env("TOP", design.module);
        yosys.env("PARAMETERS", design.words()).env("NETLIST", netlist);
        yosys
    }
}

/// The missing packages, as one line.
fn missing(shell: &Shell) -> Option<String> {
    let programs = [("yosys", "yosys", "-V"), ("sta", "opensta", "-version")];
    let absent = programs.into_iter().filter(|(program, _, version)| !shell.has(program, &[version]));
    let mut packages: Vec<&str> = absent.map(|(_, package, _)| package).collect();
    if !Path::new(LIBERTY).exists() {
        packages.push("qflow-tech-osu018");
    }
    (!packages.is_empty()).then(|| format!("apt-get install {}", packages.join(" ")))
}

/// Runs a command with its output in a file, whose last lines explain a failure.
pub(crate) fn done(command: &mut Command, log: &Path) -> Result<(), Failure> {
    let line = line_of(command);
    let output = command.output().attempt(format!("start `{line}`"))?;
    let text = [output.stdout, output.stderr].concat();
    std::fs::write(log, &text).attempt(format!("write {}", log.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text);
    let last: Vec<&str> = text.lines().rev().take(5).collect();
    let said: Vec<&str> = last.into_iter().rev().collect();
    Err(Failure::new(format!("`{line}` ended with {}:\n{}", output.status, said.join("\n"))))
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).attempt(format!("read {}", path.display()))
}
