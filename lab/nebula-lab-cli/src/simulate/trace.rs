//! The file of `--trace`: a line for each RPC.

use std::path::Path;

use nebula_lab::simulate::Trace;
use nebula_nic::Timestamp;
use nebula_sim::TracedRpc;

use nebula_ui::output::Failure;

const HEADER: [&str; 7] = ["policy", "load", "rpc", "arrival_ns", "core", "start_ns", "end_ns"];

/// Writes the RPCs of all points. A refused RPC has no core, start and end.
pub(super) fn write(path: &Path, traces: &[Trace]) -> Result<(), Failure> {
    let failed = |error: csv::Error| Failure::fault(format!("cannot write {}: {error}", path.display()));
    let mut file = csv::Writer::from_path(path).map_err(failed)?;
    file.write_record(HEADER).map_err(failed)?;
    for Trace { name, load, rpcs } in traces {
        let load = load.map_or(String::new(), |load| load.to_string());
        for (number, rpc) in rpcs.iter().enumerate() {
            file.write_record(record(name, &load, number, rpc)).map_err(failed)?;
        }
    }
    file.flush().map_err(|error| failed(error.into()))
}

fn record(name: &str, load: &str, number: usize, rpc: &TracedRpc) -> [String; 7] {
    let ns = |at: Timestamp| format!("{}.{:03}", at.as_ps() / 1000, at.as_ps() % 1000);
    let [core, start, end] =
        rpc.served.map_or_else(Default::default, |(core, begun, ended)| [core.to_string(), ns(begun), ns(ended)]);
    [name.to_owned(), load.to_owned(), number.to_string(), ns(rpc.arrived), core, start, end]
}
