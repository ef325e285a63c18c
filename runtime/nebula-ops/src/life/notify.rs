//! What systemd is told where it started the process (`Type=notify`). Elsewhere nobody is told, and
//! nothing fails.

use sd_notify::NotifyState;

/// The server takes RPCs.
pub(super) fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// The server drains.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping, NotifyState::Status("draining")]);
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("cannot tell the service manager: {error}");
    }
}
