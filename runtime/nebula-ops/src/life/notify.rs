//! Notifies systemd if it started the process (`Type=notify-reload`); otherwise does nothing.

use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};

pub(super) fn ready(status: &str) {
    tell(&format!("READY=1\nSTATUS={status}\n"));
}

/// Begins to read files again; [`reloaded`] follows.
pub(super) fn reloading() {
    let now = clock_gettime(ClockId::Monotonic);
    tell(&format!("RELOADING=1\nMONOTONIC_USEC={}\n", now.tv_sec * 1_000_000 + now.tv_nsec / 1_000));
}

pub(super) fn reloaded() {
    tell("READY=1\n");
}

pub(super) fn stopping() {
    tell("STOPPING=1\nSTATUS=draining\n");
}

fn tell(lines: &str) {
    let Some(to) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&to, lines) {
        tracing::warn!("cannot tell the service manager: {error}");
    }
}

/// An address that begins with `@` is an abstract name, which has no file.
fn send(to: &OsStr, lines: &str) -> std::io::Result<()> {
    let address = match to.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(to)?,
    };
    UnixDatagram::unbound()?.send_to_addr(lines.as_bytes(), &address).map(drop)
}
