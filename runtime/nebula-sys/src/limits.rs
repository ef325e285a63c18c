//! The limits that the kernel sets for this process by its control group and those above it, in
//! version 1 and 2: a container's memory and processor time.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The narrowest limits of a process's control groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// The memory that the process may still take, in bytes; `None` without a limit. Memory of
    /// files that nobody uses counts as free.
    pub memory_left_bytes: Option<u64>,
    /// The processor time that it may take, in thousandths of a core; `None` without a quota.
    pub cpu_millicores: Option<u64>,
}

impl Limits {
    /// Those of this process. A file that cannot be read sets no limit.
    ///
    /// # Cost
    ///
    /// Some file reads for each control group above this process's.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::below(Path::new("/"))
    }

    /// The same with `root` in place of `/`.
    fn below(root: &Path) -> Self {
        let Some(hierarchies) = Hierarchies::read(root) else { return Self::default() };
        let least = |controller, of: fn(&Path) -> Option<u64>| {
            hierarchies.directories(controller).iter().filter_map(|directory| of(directory)).min()
        };
        Self { memory_left_bytes: least("memory", memory_left_bytes), cpu_millicores: least("cpu", cpu_millicores) }
    }
}

/// Where this process is, in each hierarchy of control groups.
struct Hierarchies {
    root: PathBuf,
    /// `/proc/self/cgroup`.
    groups: String,
    /// `/proc/self/mountinfo`.
    mounts: String,
}

impl Hierarchies {
    fn read(root: &Path) -> Option<Self> {
        let read = |file: &str| read_to_string(root.join("proc/self").join(file)).ok();
        Some(Self { root: root.to_owned(), groups: read("cgroup")?, mounts: read("mountinfo")? })
    }

    /// The directories of this process's group and of those above it that have `controller`.
    fn directories(&self, controller: &str) -> Vec<PathBuf> {
        let versions = [("cgroup", Some(controller)), ("cgroup2", None)];
        versions.iter().filter_map(|&(kind, controller)| self.directories_of(kind, controller)).flatten().collect()
    }

    fn directories_of(&self, kind: &str, controller: Option<&str>) -> Option<Vec<PathBuf>> {
        let path = self.groups.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let is_it = match controller {
                Some(controller) => controllers.split(',').any(|one| one == controller),
                None => controllers.is_empty(),
            };
            is_it.then_some(path)
        })?;
        let (top, mounted_at) = self.mounts.lines().find_map(|line| {
            let (place, what) = line.split_once(" - ")?;
            let (mut place, mut what) = (place.split(' ').skip(3), what.split(' '));
            let (top, mounted_at) = (place.next()?, place.next()?);
            let is_it = what.next()? == kind
                && controller.is_none_or(|controller| {
                    what.nth(1).is_some_and(|has| has.split(',').any(|one| one == controller))
                });
            is_it.then_some((top, mounted_at))
        })?;
        let mounted_at = self.root.join(mounted_at.trim_start_matches('/'));
        // A container may see only its own group, mounted there, with a name that it has outside.
        let below = Path::new(path).strip_prefix(top).unwrap_or(Path::new(""));
        Some(below.ancestors().map(|group| mounted_at.join(group)).collect())
    }
}

fn number(directory: &Path, file: &str) -> Option<u64> {
    read_to_string(directory.join(file)).ok()?.trim().parse().ok()
}

/// More than any machine has: version 1 writes such a number where there is no limit.
const UNLIMITED_BYTES: u64 = 1 << 60;

fn memory_left_bytes(directory: &Path) -> Option<u64> {
    let names = [
        ("memory.max", "memory.current", "inactive_file "),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
    ];
    names.into_iter().find_map(|(limit, used, unused)| {
        let limit = number(directory, limit).filter(|&limit| limit < UNLIMITED_BYTES)?;
        let stat = read_to_string(directory.join("memory.stat")).unwrap_or_default();
        let unused = stat.lines().find_map(|line| line.strip_prefix(unused)?.trim().parse().ok());
        let used = number(directory, used)?.saturating_sub(unused.unwrap_or(0));
        Some(limit.saturating_sub(used))
    })
}

fn cpu_millicores(directory: &Path) -> Option<u64> {
    let (quota, period) = match read_to_string(directory.join("cpu.max")) {
        Ok(both) => {
            let (quota, period) = both.trim().split_once(' ')?;
            (quota.parse::<u64>().ok()?, period.parse::<u64>().ok()?)
        }
        Err(_) => (number(directory, "cpu.cfs_quota_us")?, number(directory, "cpu.cfs_period_us")?),
    };
    (quota.checked_mul(1000)?).checked_div(period)
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    /// Files below a root that is removed at the end.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("nebula-limits-{}-{name}", std::process::id()));
            for (file, text) in files {
                let path = root.join(file);
                create_dir_all(path.parent().expect("a directory")).expect("a directory");
                write(path, text).expect("a file");
            }
            Self(root)
        }

        fn limits(&self) -> (Option<u64>, Option<u64>) {
            let Limits { memory_left_bytes, cpu_millicores } = Limits::below(&self.0);
            (memory_left_bytes, cpu_millicores)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const V2_MOUNT: &str = "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_narrowest_group_above_a_process_counts() {
        let root = Root::new(
            "nested",
            &[
                ("proc/self/cgroup", "0::/pod/container\n"),
                ("proc/self/mountinfo", V2_MOUNT),
                ("sys/fs/cgroup/pod/memory.max", "1000000\n"),
                ("sys/fs/cgroup/pod/memory.current", "400000\n"),
                ("sys/fs/cgroup/pod/memory.stat", "anon 9\ninactive_file 100000\n"),
                ("sys/fs/cgroup/pod/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/pod/container/memory.max", "max\n"),
                ("sys/fs/cgroup/pod/container/memory.current", "1\n"),
                ("sys/fs/cgroup/pod/container/cpu.max", "50000 100000\n"),
            ],
        );
        assert_eq!(root.limits(), (Some(700_000), Some(500)));
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each_controller() {
        let root = Root::new(
            "v1",
            &[
                ("proc/self/cgroup", "4:memory:/docker/ab\n2:cpu,cpuacct:/docker/ab\n0::/\n"),
                (
                    "proc/self/mountinfo",
                    "35 31 0:32 /docker/ab /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                     32 31 0:29 /docker/ab /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
                ),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n"),
                ("sys/fs/cgroup/memory/memory.usage_in_bytes", "68435456\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ],
        );
        assert_eq!(root.limits(), (Some(200_000_000), Some(1500)));
    }

    #[test]
    fn without_limits_or_control_groups_there_is_none() {
        let unlimited = Root::new(
            "unlimited",
            &[
                ("proc/self/cgroup", "4:memory:/\n2:cpu:/\n"),
                (
                    "proc/self/mountinfo",
                    "35 31 0:32 / /m rw - cgroup cgroup rw,memory\n32 31 0:29 / /c rw - cgroup cgroup rw,cpu\n",
                ),
                ("m/memory.limit_in_bytes", "9223372036854771712\n"),
                ("m/memory.usage_in_bytes", "1\n"),
                ("c/cpu.cfs_quota_us", "-1\n"),
                ("c/cpu.cfs_period_us", "100000\n"),
            ],
        );
        assert_eq!(unlimited.limits(), (None, None));
        assert_eq!(Root::new("none", &[("proc/self/cgroup", "no colon\n0::\n")]).limits(), (None, None));
        // Whatever holds for this process, it can be read.
        let _ = Limits::of_this_process();
    }
}
