//! `--metrics ADDRESS:PORT`: the counters of all servers of the process over HTTP, from one thread
//! that reads their status pages as any client could.
//!
//! | path | content |
//! |---|---|
//! | `/` | a page with live charts, for people |
//! | `/metrics` | the same for Prometheus |
//! | `/status.json` | the same for programs: a [`Snapshot`] of the first server, or with `?server=N` of another |
//! | `/servers.json` | the endpoints of all servers of the process |
//! | `/rpcs`, `/rpcs.json` | some recent RPCs, the slowest first, with their times at the stations |
//! | `/ready` | 200 while the server takes RPCs, 503 once it drains |

mod exchange;
mod host;
mod live;
mod pages;
mod prometheus;
mod rpcs;
mod serve;

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use nebula::RunningServer;
use rustix::event::{EventfdFlags, eventfd};

use crate::life::when_free;
use nebula_ui::output::Failure;
use pages::Pages;

/// Dropping it ends its thread.
pub(crate) struct Metrics {
    address: SocketAddr,
    listener: Option<TcpListener>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Listens at `address`, if that is free `within` this time, and answers once
    /// [`start`](Self::start) is called.
    pub(crate) fn bind(address: SocketAddr, within: Duration) -> Result<Self, Failure> {
        let fail = |error| Failure::bad_input(format!("--metrics: cannot listen at {address}: {error}"));
        let what = format!("--metrics {address}");
        let listener = when_free(&what, within, || TcpListener::bind(address))?.map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(Failure::fault)?;
        Ok(Self { address, listener: Some(listener), stop: Arc::new(stop), thread: None })
    }

    /// The address with the port that the kernel chose for port 0.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to answer with the counters of `servers`.
    pub(crate) fn start(&mut self, servers: &[RunningServer]) -> Result<(), Failure> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let (pages, stop) = (Pages::new(servers), self.stop.clone());
        let thread = std::thread::Builder::new().name("nebula-metrics".to_owned());
        let thread = thread.spawn(move || serve::run(&listener, &stop, pages)).map_err(Failure::fault)?;
        self.thread = Some(thread);
        Ok(())
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        self.thread.take().map(JoinHandle::join);
    }
}
