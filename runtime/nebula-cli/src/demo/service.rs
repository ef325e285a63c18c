//! The service of the demo: this program as a child process.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nebula::Endpoint;
use nebula_nic::Span;
use rustix::process::Signal;

use super::machine::Machine;
use super::options::Options;
use nebula_ui::output::Failure;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    SloBounded,
    Unbounded,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) kind: Kind,
    /// Queue and receive buffer are sized from it, unless they are unbounded.
    pub(super) slo: Span,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::SloBounded => "jbsq:2 with NACK",
            Kind::Unbounded => "jbsq:2 unbounded",
        }
    }

    pub(super) const fn what(self) -> &'static str {
        match self {
            Kind::SloBounded => "buffer and queue sized from the SLO; an RPC that does not fit is NACKed at once",
            Kind::Unbounded => "connection-sized buffer, no NACKs",
        }
    }
}

#[derive(Debug)]
pub(super) struct Service {
    endpoint: Endpoint,
    child: Child,
    times: TimesFile,
}

/// The sample of service times; removed on drop.
#[derive(Debug)]
struct TimesFile(PathBuf);

impl TimesFile {
    fn create() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("nebula-demo-{}-service.csv", std::process::id()));
        // `create_new` follows no link and overwrites no file. A file of an earlier demo with this
        // process id is removed first.
        let _ = std::fs::remove_file(&path);
        let created = std::fs::File::create_new(&path).map(drop);
        created.map_err(|error| Failure::fault(format!("cannot create {}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for TimesFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Service {
    pub(super) fn start(terms: Terms, options: &Options, machine: &Machine, items: u64) -> Result<Self, Failure> {
        let endpoint = Endpoint::Shm(format!("nebula-demo-{}", std::process::id()));
        let program = std::env::current_exe()
            .map_err(|error| Failure::fault(format!("cannot find the path of this program: {error}")))?;
        let times = TimesFile::create()?;
        let mut command = Command::new(program);
        command.args(["serve", "kv", "--endpoint", &endpoint.to_string(), "--end-with-parent", "--policy", "jbsq:2"]);
        command.args(["--items", &items.to_string(), "--value-bytes", &options.value_bytes.to_string()]);
        command.args(["--slo", &flag(terms.slo), "--work", &flag(options.work)]);
        command.arg("--service-times").arg(&times.0);
        let pins: Vec<String> = machine.service_cores().iter().map(ToString::to_string).collect();
        command.args(["--pin", &pins.join(",")]);
        match machine.workers() {
            0 => command.arg("--inline"),
            workers => command.args(["--workers", &workers.to_string()]),
        };
        if terms.kind == Kind::Unbounded {
            command.arg("--unbounded");
        }
        // A terminal sends Ctrl-C to the whole process group. In its own group the service ends
        // only when the demo ends it; otherwise the demo would report a fault.
        command.process_group(0);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.map_err(|error| Failure::fault(format!("cannot start the service: {error}")))?;
        let mut service = Self { endpoint, child, times };
        service.wait_ready()?;
        Ok(service)
    }

    fn wait_ready(&mut self) -> Result<(), Failure> {
        let mut line = String::new();
        if let Some(out) = self.child.stdout.as_mut() {
            BufReader::new(out).read_line(&mut line).map_err(Failure::fault)?;
        }
        if line.starts_with("ready") { Ok(()) } else { Err(self.last_words()) }
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Ends the service as Ctrl-C would, and reads its sample of service times.
    pub(super) fn end(mut self) -> Result<Vec<Span>, Failure> {
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), Signal::TERM);
        if !self.has_ended_within(PATIENCE_AT_END) || !self.child.wait().is_ok_and(|status| status.success()) {
            return Err(self.last_words());
        }
        let text = std::fs::read_to_string(&self.times.0).map_err(Failure::fault)?;
        let spans = text.lines().skip(1).map(|line| line.parse().map_err(Failure::fault));
        spans.map(|ns: Result<f64, Failure>| ns.map(span_of_ns)).collect()
    }

    /// The last error of the service if it has ended by itself, else `failure`.
    pub(super) fn blame(mut self, failure: Failure) -> Failure {
        match failure {
            Failure::Fault(_) if self.has_ended() => self.last_words(),
            failure => failure,
        }
    }

    /// A client may notice the end of the service before the kernel reports the child's exit
    /// status.
    fn has_ended(&mut self) -> bool {
        self.has_ended_within(Duration::from_millis(200))
    }

    fn has_ended_within(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                ended => return matches!(ended, Ok(Some(_))),
            }
        }
    }

    fn last_words(&mut self) -> Failure {
        let _ = self.child.kill();
        let status = self.child.wait().map_or("unknown status".to_owned(), |status| status.to_string());
        let mut said = String::new();
        if let Some(mut err) = self.child.stderr.take() {
            let _ = err.read_to_string(&mut said);
        }
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
        Failure::fault(format!("the service ended ({status}): {}", last.trim_start_matches("error: ")))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Releasing a store of a gigabyte takes some time.
const PATIENCE_AT_END: Duration = Duration::from_secs(30);

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time that was measured; `as` saturates")]
fn span_of_ns(ns: f64) -> Span {
    Span::from_ps((ns * 1e3) as u64)
}

fn flag(span: Span) -> String {
    format!("{}ns", span.as_ns())
}
