//! Checks of what takes cores away: isolation, the timer, interrupts, steal. Each reports its
//! effect while two cores were watched.

use std::fs::read_to_string;
use std::time::Duration;

use super::counters::{Counters, OfCore};
use super::finding::Finding;
use crate::hiccup::CoreHiccups;
use nebula_ui::output::units;

/// Interrupts per second and core that a tail shows: one takes some microseconds.
const DEVICES_PER_S_MAX: f64 = 100.0;
/// The kernel ticks a core with one thread less often than this if it leaves the timer off.
const TIMER_PER_S_MAX: f64 = 10.0;
const STEAL_MAX: f64 = 0.001;
/// An isolated core loses at most this share of its time.
const LOST_MAX: f64 = 0.003;

/// The findings between two readings of the counters, while the cores of `hiccups` were watched.
pub(super) fn findings(
    (before, after, watched): (&Counters, &Counters, Duration),
    hiccups: &[CoreHiccups],
) -> Vec<Finding> {
    let seconds = watched.as_secs_f64().max(1e-3);
    let of = |hiccups: &CoreHiccups| (hiccups.core, after.since(before, hiccups.core, seconds));
    let cores: Vec<(usize, OfCore)> = hiccups.iter().map(of).collect();
    vec![isolation(hiccups), timer(&cores, hiccups), interrupts(&cores), steal(&cores)]
}

fn setting(path: &str) -> String {
    let text = read_to_string(path).unwrap_or_default();
    let text = text.trim();
    if text.is_empty() || text == "(null)" { "none".to_owned() } else { text.to_owned() }
}

fn list(cores: impl IntoIterator<Item = usize>) -> String {
    cores.into_iter().map(|core| core.to_string()).collect::<Vec<_>>().join(",")
}

fn isolation(hiccups: &[CoreHiccups]) -> Finding {
    let isolated = setting("/sys/devices/system/cpu/isolated");
    let lost = hiccups.iter().map(|core| core.summary.share_lost).fold(0.0, f64::max);
    let cores = list(hiccups.iter().map(|core| core.core));
    let measured =
        format!("isolated cores: {isolated}; others took {} of the time of a core watched", units::percent(lost));
    Finding::new("isolation", measured)
        .value("isolated", isolated.as_str())
        .value("share_lost_max", lost)
        .fix_unless(
            lost <= LOST_MAX,
            "other programs run on these cores: keep them off",
            format!("add isolcpus=managed_irq,domain,{cores} to the kernel's command line; until then: systemctl set-property --runtime system.slice AllowedCPUs=OTHER-CORES"),
        )
}

fn timer(cores: &[(usize, OfCore)], hiccups: &[CoreHiccups]) -> Finding {
    let most = cores.iter().map(|(_, core)| core.timer_per_s).fold(0.0, f64::max);
    let nohz = setting("/sys/devices/system/cpu/nohz_full");
    // As short as a tick: gaps above 30 us have another cause.
    let [above_1, .., above_30, _] =
        hiccups.first().map_or([0.0; 5], |core| core.summary.per_second_above.map(|(_, per_s)| per_s));
    let measured = format!(
        "{most:.0} ticks per second on a core that runs one thread; cores without: {nohz}; {:.0} gaps of 1 to 30 µs per second",
        (above_1 - above_30).max(0.0)
    );
    let list = list(cores.iter().map(|(core, _)| *core));
    Finding::new("timer ticks", measured).value("ticks_per_s", most).value("nohz_full", nohz.as_str()).fix_unless(
        most <= TIMER_PER_S_MAX,
        "each tick stops a core for some microseconds: leave the timer off on cores that run one thread",
        format!("add nohz_full={list} rcu_nocbs={list} to the kernel's command line"),
    )
}

fn interrupts(cores: &[(usize, OfCore)]) -> Finding {
    let most = cores.iter().map(|(_, core)| core.devices_per_s).fold(0.0, f64::max);
    let busiest = cores.iter().filter_map(|(core, of)| Some((*core, of.busiest.clone()?)));
    let busiest = busiest.max_by(|one, other| one.1.1.total_cmp(&other.1.1));
    let of = busiest
        .as_ref()
        .map_or(String::new(), |(core, (name, per_s))| format!(", most of them of {name} on core {core} ({per_s:.0})"));
    let number = busiest.and_then(|(_, (name, _))| name.split(' ').next().map(str::to_owned));
    let command = format!(
        "systemctl stop irqbalance; echo OTHER-CORES > /proc/irq/{}/smp_affinity_list",
        number.unwrap_or_else(|| "NUMBER".to_owned())
    );
    Finding::new("interrupts", format!("{most:.0} of devices per second on a core watched{of}"))
        .value("device_interrupts_per_s", most)
        .fix_unless(most <= DEVICES_PER_S_MAX, "devices interrupt the cores that serve: send them elsewhere", command)
}

fn steal(cores: &[(usize, OfCore)]) -> Finding {
    let most = cores.iter().map(|(_, core)| core.steal).fold(0.0, f64::max);
    let is_virtual = read_to_string("/proc/cpuinfo").unwrap_or_default().lines().any(|line| {
        (line.starts_with("flags") || line.starts_with("Features"))
            && line.split_whitespace().any(|flag| flag == "hypervisor")
    });
    let machine = if is_virtual { "a virtual machine" } else { "no virtual machine" };
    Finding::new("steal", format!("{machine}; its hypervisor gave {} of a core's time to others", units::percent(most)))
        .value("is_virtual", is_virtual)
        .value("steal_share", most)
        .fix_unless(
            most <= STEAL_MAX,
            "the host has given this machine's cores to others too: ask for dedicated ones",
            "on the host: virsh vcpupin DOMAIN VCPU CORE, for each core of this machine".to_owned(),
        )
}
