//! The settings of servers and clients, and the values that follow from them.

pub(crate) mod key;
pub(crate) mod tenant;
pub(crate) mod migration;
pub(crate) mod error;
pub(crate) mod server;
pub(crate) mod kind;
pub(crate) mod client;
pub(crate) mod threads;
