//! Static properties of the machine: cores, clock, pages, memory.

use std::hint::black_box;
use std::net::SocketAddr;

use nebula::Cores;
use nebula_kvs::Mode;
use nebula_nic::{CorePlan, ENGINE_TIME, Span};
use nebula_sys::affinity::{allowed_cores, one_thread_each, siblings_of};
use nebula_sys::clock::Clock;
use nebula_sys::mem::{HUGE_PAGE_BYTES, Pages, WordRegion};
use nebula_sys::shared::SharedMemory;
use nebula_sys::udp::{Offload, UdpSocket};

use super::finding::Finding;
use crate::memory;
use nebula_ui::output::units;

/// In the order in which a server depends on them.
pub(super) fn findings() -> Vec<Finding> {
    vec![cores(), engines(), clock(), huge_pages(), store_memory(), shared_memory(), udp()]
}

fn cores() -> Finding {
    let cores = allowed_cores();
    let list = cores.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let use_of = match cores.len() {
        1 => "client and server share it",
        2 => "one for a client, one for `serve kv --inline`",
        _ => "one for a client, one for the engine, the others for workers",
    };
    let physical = one_thread_each(&cores, siblings_of).len();
    let shared = if physical == cores.len() { String::new() } else { format!(" of {physical} physical cores") };
    let quota = Cores::of_this_process().quota_millicores();
    let by_quota = quota.map_or(String::new(), |quota| format!("; a CPU quota of {} of them", quota as f64 / 1000.0));
    let finding = Finding::new("cores", format!("{}{shared} ({list}): {use_of}{by_quota}", cores.len()))
        .value("cores", cores.len())
        .value("physical_cores", physical);
    let finding = quota.into_iter().fold(finding, |finding, quota| finding.value("quota_millicores", quota));
    finding
        .advise_unless(
            quota.is_none_or(|quota| quota >= 2000),
            "raise the CPU quota to two cores or more: when it is used up, every RPC waits for the next period",
        )
        .advise_unless(
            cores.len() >= 2,
            "give this process two cores or more (taskset, cpuset): on one core, every RPC waits for a context switch",
        )
}

/// Engines and workers for short, usual and long RPCs, as `--workers auto` divides the cores.
fn engines() -> Finding {
    const SERVICES: [(Span, &str); 3] =
        [(Span::from_ns(200), "engines_200ns"), (Span::from_us(1), "engines_1us"), (Span::from_us(10), "engines_10us")];
    let cores = u16::try_from(Cores::of_this_process().number()).unwrap_or(u16::MAX);
    let plans = SERVICES.map(|(service, name)| (service, name, CorePlan::new(cores, ENGINE_TIME, service)));
    let parts = plans.map(|(service, _, plan)| format!("RPCs of {} get {}", units::span(service), threads(plan)));
    let measured =
        format!("by --workers auto, {}; an engine takes about {} an RPC", parts.join(", "), units::span(ENGINE_TIME));
    let value = |finding: Finding, (_, name, plan): (Span, &'static str, CorePlan)| {
        finding.value(name, u32::from(plan.engines))
    };
    plans.into_iter().fold(Finding::new("engines", measured), value)
}

fn threads(plan: CorePlan) -> String {
    match plan.is_inline {
        true => format!("{} inline", counted(plan.engines, "engine")),
        false => format!("{} and {}", counted(plan.engines, "engine"), counted(plan.workers, "worker")),
    }
}

fn counted(number: u16, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The socket buffer that UDP endpoints request, so that it holds a burst.
const SOCKET_BYTES: u64 = 4 << 20;

fn udp() -> Finding {
    let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0)));
    let Ok(socket) = socket else {
        return Finding::new("udp", "no socket could be opened".to_owned())
            .advise_unless(false, "allow this process to open sockets: udp:// needs one");
    };
    let Offload { gso, gro } = socket.offload();
    let room = std::fs::read_to_string("/proc/sys/net/core/rmem_max").ok().and_then(|text| text.trim().parse().ok());
    let room: u64 = room.unwrap_or(0);
    let many = match (gso, gro) {
        (true, true) => "several datagrams per system call, both directions",
        (true, false) | (false, true) => "several datagrams per system call, one direction",
        (false, false) => "one datagram per system call",
    };
    Finding::new("udp", format!("{many}; socket receive buffers up to {}", units::bytes(room)))
        .value("gso", gso)
        .value("gro", gro)
        .value("rmem_max_bytes", room)
        .advise_unless(
            gso && gro,
            "use a kernel with UDP GSO (4.18) and GRO (5.0): RPCs that arrive together then cost far less",
        )
        .advise_unless(room >= SOCKET_BYTES, "raise the limit of socket buffers: sysctl -w net.core.rmem_max=4194304")
}

fn clock() -> Finding {
    let clock = Clock::new();
    let read_ns = ns_per_read(clock);
    let kind = if clock.is_counter() { "invariant time-stamp counter" } else { "the kernel's clock" };
    let measured = format!("{kind}, {:.0} MHz, {read_ns:.0} ns per read", clock.hz() / 1e6);
    Finding::new("clock", measured)
        .value("is_counter", clock.is_counter())
        .value("hz", clock.hz().round())
        .value("read_ns", (read_ns * 10.0).round() / 10.0)
        .advise_unless(
            clock.is_counter(),
            "expose an invariant TSC to the virtual machine: reads then cost half, and processes agree on the time",
        )
        .advise_unless(
            read_ns < 100.0,
            "a read this slow is trapped by the hypervisor: allow the virtual machine to read the TSC directly",
        )
}

/// The minimum of several rounds: the cost of a read without interruptions.
fn ns_per_read(clock: Clock) -> f64 {
    const READS: u32 = 10_000;
    let round = |_| {
        let start = clock.ticks();
        (0..READS).for_each(|_| {
            black_box(clock.ticks());
        });
        clock.ps(clock.ticks() - start)
    };
    let least_ps = (0..20).map(round).min().unwrap_or(0);
    least_ps as f64 / 1e3 / f64::from(READS)
}

fn huge_pages() -> Finding {
    let setting = |file: &str| selected(&format!("/sys/kernel/mm/transparent_hugepage/{file}"));
    let (thp, shmem) = (setting("enabled"), setting("shmem_enabled"));
    let free = memory::meminfo("HugePages_Free:").unwrap_or(0);
    let granted = WordRegion::new(2 * HUGE_PAGE_BYTES / 8, Pages::Huge2M).map(|region| region.pages());
    let got = granted.as_ref().map_or_else(ToString::to_string, ToString::to_string);
    let measured =
        format!("a store gets {got}; settings: transparent {thp}, shared memory {shmem}; free in the pool: {free}");
    Finding::new("huge pages", measured)
        .value("granted", got)
        .value("transparent", thp)
        .value("shmem", shmem)
        .value("pool_free", free)
        .advise_unless(
            granted.is_ok_and(|pages| pages != Pages::Base),
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: a store on 4 KiB pages is up to twice as slow",
        )
}

/// The word in brackets.
fn selected(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let word = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    word.unwrap_or("unknown").to_owned()
}

/// NEBULA's data set: 16 B keys and 512 B values.
const ITEMS: u64 = 1_600_000;
const VALUE_BYTES: u32 = 512;

fn store_memory() -> Finding {
    let budget = memory::budget_bytes();
    let needed = memory::store_bytes(&memory::config_for(ITEMS, VALUE_BYTES, Mode::Cache));
    let fitting = memory::items_that_fit(VALUE_BYTES, Mode::Cache, budget.min(1 << 50));
    let measured = format!(
        "a store may use {}; 1.6 M items of 512 B need {}, {} items fit",
        units::bytes(budget),
        units::bytes(needed),
        units::rate(fitting as f64),
    );
    Finding::new("memory", measured)
        .value("budget_bytes", budget)
        .value("needed_bytes", needed)
        .value("items_that_fit", fitting)
        .advise_unless(needed <= budget, "free some memory, or serve with fewer --items")
}

fn shared_memory() -> Finding {
    const BYTES: usize = 1 << 20;
    let mapped = SharedMemory::create("nebula-doctor", BYTES);
    let measured = match &mapped {
        Ok(memory) => format!("memfd of {} mapped", units::bytes(memory.bytes() as u64)),
        Err(error) => error.to_string(),
    };
    Finding::new("shared memory", measured).value("is_mapped", mapped.is_ok()).advise_unless(
        mapped.is_ok(),
        "allow memfd_create and sealing (a container's seccomp profile may forbid them): shm:// needs both",
    )
}
