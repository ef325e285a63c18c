//! Connecting to a server that may still be starting.

use std::time::{Duration, Instant};

use nebula::{Client, ClientConfig, ConnectError};

use crate::flags::ServerList;
use nebula_ops::or_fail::OrFail;
use nebula_ui::output::Failure;
use nebula_ui::signal;

/// How long to retry while no server listens.
const PATIENCE: Duration = Duration::from_secs(2);
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

pub(super) fn connect(endpoint: &ServerList, config: &ClientConfig) -> Result<Client, Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        match Client::connect_with(endpoint.as_str(), config.clone()) {
            Err(ConnectError::NobodyServes { .. }) if Instant::now() < until => {
                signal::check()?;
                std::thread::sleep(BETWEEN_TRIES);
            }
            connected => return connected.or_fail(),
        }
    }
}
