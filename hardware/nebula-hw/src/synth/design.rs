//! The mapped designs: modules of hardware/rtl with the parameters of a core count.

#[derive(Clone, Debug)]
pub(super) struct Design {
    pub(super) module: &'static str,
    /// Its difference from other designs of the module, in the tables.
    pub(super) what: &'static str,
    pub(super) cores: u32,
    pub(super) parameters: Vec<(&'static str, u32)>,
    /// Also times its bit vectors as flops, so that no path ends at a memory.
    pub(super) has_window: bool,
    pub(super) on_fpga: bool,
    /// Small enough to be mapped in each CI run.
    pub(super) is_quick: bool,
}

impl Design {
    /// For files and messages.
    pub(super) fn name(&self) -> String {
        let values: Vec<String> = self.parameters.iter().map(|(name, value)| format!("{name}{value}")).collect();
        [vec![self.module.to_owned()], values].concat().join("-")
    }

    /// In the scripts' format.
    pub(super) fn words(&self) -> String {
        let words: Vec<String> = self.parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
        words.join(" ")
    }
}

/// Slots of the receive buffer for a core count: ten times the mean queue, of RPCs of 1 KB at 64
/// cores.
///
/// # Source
/// NEBULA, section V-C: 540 KB at 64 cores.
const fn slots(cores: u32) -> u32 {
    match cores {
        16 => 1_280,
        64 => 8_640,
        256 => 34_560,
        _ => 138_240,
    }
}

/// Of the arrival queue; a power of two.
const fn places(cores: u32) -> u32 {
    cores * 16
}

/// Of an arrival: sender, transfer, slot, bytes, key and time.
const ENTRY_BITS: u32 = 206;

/// Of an input: all fields that `pipeline` joins.
const INPUT_BITS: u32 = 372;

const CORE_COUNTS: [u32; 4] = [16, 64, 256, 1_024];

pub(super) fn all() -> Vec<Design> {
    [jbsq(), choices(), queues(), buffers(), parts(), reassemblers(), managers(), backends()].concat()
}

fn design(module: &'static str, cores: u32, parameters: &[(&'static str, u32)]) -> Design {
    let parameters = parameters.to_vec();
    Design { module, what: "", cores, parameters, has_window: false, on_fpga: false, is_quick: false }
}

fn jbsq() -> Vec<Design> {
    let of = |cores| {
        let design = design("jbsq", cores, &[("Cores", cores)]);
        Design { on_fpga: cores == 64, is_quick: cores <= 256, ..design }
    };
    CORE_COUNTS.map(of).to_vec()
}

/// Modules that choose a core without credits, and those that refuse; their size hardly depends on
/// the cores.
fn choices() -> Vec<Design> {
    let quick = |design| Design { is_quick: true, ..design };
    vec![
        quick(design("round_robin", 64, &[("Cores", 64)])),
        design("rss", 64, &[("Cores", 64)]),
        design("hash_ahead", 64, &[("Cores", 64), ("Keys", 64), ("InputW", INPUT_BITS)]),
        quick(design("credit", 64, &[("Cores", 64)])),
        design("draw", 64, &[("Cores", 64)]),
        design("nack", 64, &[("Keys", 64)]),
        quick(design("admission", 64, &[])),
        quick(design("frontend", 64, &[("BoundMax", 2), ("EntryW", ENTRY_BITS)])),
    ]
}

fn parts() -> Vec<Design> {
    let of = |module, what, width| Design { what, is_quick: true, ..design(module, 64, &[("Width", width)]) };
    let search = design("room_search", 64, &[("AddrW", 15)]);
    let search = Design { is_quick: true, ..search };
    vec![of("lowest", "of 64 bits", 64), of("longest_run", "of 64 bits", 64), search]
}

fn queues() -> Vec<Design> {
    let of = |per_core| {
        move |cores| Design {
            what: if per_core == 1 { "a queue a core" } else { "one queue" },
            is_quick: cores <= 64,
            ..design(
                "arrival_queue",
                cores,
                &[("Cores", cores), ("Places", places(cores)), ("EntryW", ENTRY_BITS), ("PerCore", per_core)],
            )
        }
    };
    [CORE_COUNTS.map(of(0)).to_vec(), vec![of(1)(16), of(1)(64)]].concat()
}

fn buffers() -> Vec<Design> {
    let of = |is_safe| {
        move |cores| Design {
            what: if is_safe == 1 { "frees checked" } else { "frees trusted" },
            has_window: cores == 16 && is_safe == 1,
            is_quick: cores == 64,
            ..design("recv_buffer", cores, &[("Slots", slots(cores)), ("Cores", cores), ("Safe", is_safe)])
        }
    };
    [CORE_COUNTS.map(of(1)).to_vec(), vec![of(0)(64)]].concat()
}

fn reassemblers() -> Vec<Design> {
    let of = |(what, entries)| Design {
        what,
        ..design("reassembler", 64, &[("Entries", entries), ("Slots", slots(64)), ("Cores", 64)])
    };
    [("16 entries", 16), ("64 entries", 64), ("540 entries", 540)].map(of).to_vec()
}

/// One manager of a group of cores, among as many groups as Altocumulus has in its largest system.
fn managers() -> Vec<Design> {
    vec![design("altocumulus_manager", 256, &[("Groups", 16), ("Rows", 4), ("Descriptors", 16)])]
}

/// The whole back end with one queue, single-packet RPCs and trusted frees: NEBULA without its
/// reassembler.
fn backends() -> Vec<Design> {
    let of = |(what, all)| {
        move |cores| {
            let sizes = [("Slots", slots(cores)), ("Cores", cores), ("Places", places(cores)), ("Entries", 16)];
            let has = [("PerCore", all), ("Reassembles", all), ("Safe", all)];
            Design { what, ..design("backend", cores, &[&sizes[..], &has].concat()) }
        }
    };
    let small = of(("smallest", 0));
    vec![small(16), small(64)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_design_has_files_of_its_own() {
        let mut names: Vec<String> = all().iter().map(Design::name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn parameters_are_words_in_pairs() {
        let design = &buffers()[0];
        assert_eq!(design.words(), "Slots 1280 Cores 16 Safe 1");
        assert_eq!(design.name(), "recv_buffer-Slots1280-Cores16-Safe1");
    }
}
