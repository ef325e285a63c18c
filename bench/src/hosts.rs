//! Hosts of a measurement: network namespaces, which need root and `ip`.

use crate::Failure;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::Command;

/// Removed when the value is dropped.
pub struct Hosts(&'static [&'static str]);

impl Hosts {
    pub fn add(names: &'static [&'static str]) -> Result<Self, Failure> {
        let hosts = Self(names);
        names.iter().try_for_each(|host| ip(&format!("netns add {host}")))?;
        Ok(hosts)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in self.0 {
            let _ = ip(&format!("netns delete {host}"));
        }
    }
}

pub fn ip(words: &str) -> Result<(), Failure> {
    let output = Command::new("ip").args(words.split(' ')).output()?;
    let said = || format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim());
    if output.status.success() { Ok(()) } else { Err(said().into()) }
}

/// Moves this thread to a host.
pub fn enter(host: &str) -> Result<(), Failure> {
    let namespace = File::open(format!("/run/netns/{host}"))?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}
