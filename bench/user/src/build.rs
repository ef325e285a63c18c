//! Measures the CPU that rustc takes for a server of six lines, with `nebula` built already.

use crate::Failure;
use crate::measure::median;
use crate::row::{Bound, against, plain};
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

const BUILDS: usize = 3;
const TICKS_PER_S: f64 = 100.0;

pub fn run() -> Result<(), Failure> {
    let [client, server] = ["client", "server"].map(|name| {
        cpu_s(name)?;
        let times = (0..BUILDS).map(|_| cpu_s(name)).collect::<Result<Vec<_>, _>>();
        times.map(median)
    });
    let (client, server) = (client?, server?);
    plain("CPU to build a client of six lines, nebula built already", client, "s");
    let more = server - client;
    against("CPU beyond it for a server of six lines", more, "s", ("target", 3.0), Some(Bound::AtMost(1.0)));
    Ok(())
}

/// The CPU that cargo and its children take for an example whose source has changed.
fn cpu_s(example: &str) -> Result<f64, Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = root.join("examples").join(example).with_extension("rs");
    std::fs::File::options().append(true).open(source)?.set_modified(SystemTime::now())?;
    let before = of_children()?;
    let mut cargo = Command::new(env!("CARGO"));
    let built = cargo.args(["build", "--release", "--quiet", "--example", example]).current_dir(root).status()?;
    if !built.success() {
        return Err(format!("the example {example} does not build").into());
    }
    Ok(of_children()? - before)
}

/// Fields 16 and 17 of `/proc/self/stat`: ticks of children that have ended.
fn of_children() -> Result<f64, Failure> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let behind_name = stat.rsplit_once(')').ok_or("a stat without a name")?.1;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).ok_or("a short stat")?.parse::<f64>().map_err(Failure::from);
    Ok((ticks(13)? + ticks(14)?) / TICKS_PER_S)
}
