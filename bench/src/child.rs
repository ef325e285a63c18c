//! Server processes: this program, started again with other arguments.

use crate::Failure;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions};
use rustix::process::{getrlimit, kill_process, setrlimit, waitid};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Killed and reaped when the value is dropped.
pub struct Server(Child);

impl Server {
    /// Another program's server.
    pub fn of(child: Child) -> Self {
        Self(child)
    }

    /// Starts this program and waits until it prints a line.
    pub fn start(words: &[&str]) -> Result<Self, Failure> {
        Self::start_program(std::env::current_exe()?, words)
    }

    /// Starts `program` and waits until it prints a line.
    pub fn start_program(program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Result<Self, Failure> {
        let core = server_core().to_string();
        let mut child = Command::new(program).args(words).env(CORE, core).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().ok_or("the child has no output")?;
        let read = BufReader::new(out).read_line(&mut line);
        let server = Self(child);
        if read? == 0 {
            return Err(format!("the server {words:?} ended before it was ready").into());
        }
        Ok(server)
    }
}

impl Server {
    /// CPU time that its threads have used.
    pub fn core_ns(&self) -> Result<u64, Failure> {
        let mut total = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let told = std::fs::read_to_string(thread?.path().join("schedstat"))?;
            let ran: u64 = told.split(' ').next().ok_or("an empty schedstat")?.parse()?;
            total += ran;
        }
        Ok(total)
    }

    /// How often its threads have gone to sleep.
    pub fn sleeps(&self) -> Result<u64, Failure> {
        let mut total = 0;
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let told = std::fs::read_to_string(thread?.path().join("status"))?;
            let line = told.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            total += line.ok_or("a status without switches")?.trim().parse::<u64>()?;
        }
        Ok(total)
    }

    /// Its memory: a page that several processes map counts a part for each.
    pub fn memory_bytes(&self) -> Result<u64, Failure> {
        memory_bytes(self.0.id())
    }

    pub fn stop(&self) -> Result<(), Failure> {
        self.signal(Signal::STOP)?;
        let stopped = WaitIdOptions::STOPPED;
        waitid(WaitId::Pid(Pid::from_child(&self.0)), stopped)?.ok_or("no child is stopped")?;
        Ok(())
    }

    pub fn go_on(&self) -> Result<(), Failure> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        Ok(kill_process(Pid::from_child(&self.0), signal)?)
    }

    pub fn resident_bytes(&self) -> Result<u64, Failure> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("a status without VmRSS")?;
        // "kB" means 1024 bytes.
        Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
    }
}

impl Server {
    /// Its resident bytes, files and threads.
    pub fn holds(&self) -> Result<[u64; 3], Failure> {
        let count =
            |what: &str| std::fs::read_dir(format!("/proc/{}/{what}", self.0.id())).map(|all| all.count() as u64);
        Ok([self.resident_bytes()?, count("fd")?, count("task")?])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Called by a server that is ready: pins it to another core than the client's, ties its life to
/// the parent's, and reports readiness.
pub fn ready() -> Result<(), Failure> {
    use std::io::Write;
    nebula_sys::process::end_with_parent()?;
    println!("ready");
    std::io::stdout().flush()?;
    Ok(())
}

/// An unused loopback address. The kernel assigns such ports at random, so no other process is
/// likely to get it soon.
pub fn unused_address() -> Result<SocketAddr, Failure> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Raises this process's limit of descriptors to `files`, as far as allowed.
pub fn raise_file_limit(files: u64) -> Result<(), Failure> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if let Some(most) = maximum.filter(|&most| most < files) {
        return Err(format!("so many clients take {files} descriptors, this process may have {most}").into());
    }
    if current.is_some_and(|granted| granted < files) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum })?;
    }
    Ok(())
}

/// The environment variable with a child's core: a child inherits its parent's pinning and does not
/// see other cores.
const CORE: &str = "NEBULA_BENCH_CORE";

fn cores() -> &'static [usize] {
    static CORES: OnceLock<Vec<usize>> = OnceLock::new();
    CORES.get_or_init(nebula_sys::affinity::allowed_cores)
}

/// Servers use the last core; clients use the first.
pub fn server_core() -> usize {
    let told = std::env::var(CORE).ok().and_then(|core| core.parse().ok());
    told.unwrap_or(cores()[cores().len() - 1])
}

/// At most `most` of the cores that are not the servers', and at least one.
pub fn client_cores(most: usize) -> &'static [usize] {
    &cores()[..(cores().len() - 1).clamp(1, most)]
}

pub fn pin_client() -> Result<(), Failure> {
    Ok(nebula_sys::affinity::pin_to(cores()[0])?)
}

/// The memory of a process: a page that several processes map counts a part for each.
pub fn memory_bytes(process: u32) -> Result<u64, Failure> {
    let told = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let kib = told.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB"));
    Ok(kib.ok_or("a process without its memory")?.parse::<u64>()? * 1024)
}
