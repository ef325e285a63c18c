//! The kernel's counters of lost core time: interrupts and steal.

use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counters {
    /// By name, then by core.
    interrupts: BTreeMap<String, Vec<u64>>,
    /// By core: time that the hypervisor gave to others, and all time, in the kernel's ticks.
    steal: BTreeMap<usize, (u64, u64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OfCore {
    pub(super) timer_per_s: f64,
    pub(super) devices_per_s: f64,
    pub(super) busiest: Option<(String, f64)>,
    /// The share of time that the hypervisor gave to others.
    pub(super) steal: f64,
}

impl Counters {
    pub(super) fn now() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self { interrupts: interrupts(&read("/proc/interrupts")), steal: steal(&read("/proc/stat")) }
    }

    pub(super) fn since(&self, before: &Self, core: usize, seconds: f64) -> OfCore {
        let count = |counters: &Self, name: &str| -> u64 {
            counters.interrupts.get(name).and_then(|counts| counts.get(core)).copied().unwrap_or(0)
        };
        let per_s = |name: &str| count(self, name).saturating_sub(count(before, name)) as f64 / seconds;
        let devices = self.interrupts.keys().filter(|name| is_device(name)).map(|name| (name.clone(), per_s(name)));
        let devices: Vec<_> = devices.filter(|(_, per_s)| *per_s > 0.0).collect();
        let (stolen, all) = self.steal.get(&core).copied().unwrap_or_default();
        let (stolen_before, all_before) = before.steal.get(&core).copied().unwrap_or_default();
        let time = all.saturating_sub(all_before);
        OfCore {
            timer_per_s: self.interrupts.keys().filter(|name| is_timer(name)).map(|name| per_s(name)).sum(),
            devices_per_s: devices.iter().map(|(_, per_s)| per_s).sum(),
            busiest: devices.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)),
            steal: if time > 0 { stolen.saturating_sub(stolen_before) as f64 / time as f64 } else { 0.0 },
        }
    }
}

/// Devices have numbers; the kernel's own interrupts have names.
fn is_device(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_digit())
}

fn is_timer(name: &str) -> bool {
    name.starts_with("LOC ") || name == "LOC" || name.starts_with("arch_timer")
}

/// `/proc/interrupts`: a head that names the cores, then a line for each interrupt. Offline cores
/// have no column.
fn interrupts(text: &str) -> BTreeMap<String, Vec<u64>> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let cores: Vec<usize> = head.split_whitespace().filter_map(|name| name.strip_prefix("CPU")?.parse().ok()).collect();
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let mut words = rest.split_whitespace();
        let mut counts = vec![0; cores.iter().max().map_or(0, |most| most + 1)];
        for &core in &cores {
            counts[core] = words.next()?.parse().ok()?;
        }
        let what = words.next_back().unwrap_or_default();
        Some((format!("{} {what}", name.trim()).trim().to_owned(), counts))
    };
    lines.filter_map(line).collect()
}

/// `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal of each core; guests are in
/// user and nice.
fn steal(text: &str) -> BTreeMap<usize, (u64, u64)> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        let times: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        Some((core, (*times.get(7)?, times.iter().sum())))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "           CPU0       CPU2
 24:          5          0  PCI-MSI   0-edge      nvme0q1
 25:        100         10  PCI-MSI   1-edge      eth0-rx-0
LOC:       1000       2000   Local timer interrupts
ERR:          0
";

    fn counters(interrupts_text: &str, stat: &str) -> Counters {
        Counters { interrupts: interrupts(interrupts_text), steal: steal(stat) }
    }

    #[test]
    fn what_happened_is_told_of_each_core_that_there_is() {
        let after = BEFORE.replace("100", "300").replace("  5 ", " 15 ").replace("2000 ", "2500 ");
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 10 80 0 0 0 0 0 0\ncpu2 10 0 10 70 0 0 0 10 0 0\nintr 5\n";
        let later = "cpu0 20 0 20 160 0 0 0 0 0 0\ncpu2 20 0 20 130 0 0 0 30 0 0\n";
        let (before, after) = (counters(BEFORE, stat), counters(&after, later));
        let first = after.since(&before, 0, 2.0);
        assert_eq!((first.devices_per_s, first.steal), (105.0, 0.0));
        assert_eq!(first.busiest, Some(("25 eth0-rx-0".to_owned(), 100.0)));
        let second = after.since(&before, 2, 2.0);
        assert_eq!((second.timer_per_s, second.devices_per_s, second.busiest), (250.0, 0.0, None));
        assert!((second.steal - 0.2).abs() < 1e-9, "{}", second.steal);
        assert_eq!(after.since(&before, 7, 2.0), OfCore::default());
    }

    #[test]
    fn text_of_another_form_is_nothing() {
        for text in ["", "CPU0\n", "nonsense\n1: x y\n", "cpu0\ncpuX 1 2\n"] {
            assert_eq!((interrupts(text).values().flatten().sum::<u64>(), steal(text).len()), (0, 0), "{text}");
        }
    }
}
