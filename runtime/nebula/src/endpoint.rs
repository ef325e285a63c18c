//! Endpoints of servers: an address, a list, a file, a name.

mod address;
mod listed;
mod resolve;
#[cfg(feature = "dns")]
mod dns;
mod list;

pub use address::{Endpoint, EndpointError, IntoEndpoint, XdpAddress};
#[cfg(feature = "dns")]
pub use dns::Dns;
pub use list::{Endpoints, IntoEndpoints};
pub use listed::Listed;
pub use resolve::{EndpointFile, Resolve, ResolveError, Resolved};
