//! The description of a service in generated code.

use nebula_build::schema::{Fingerprint, Schema};

/// A service of a `.proto`, in one compiled version.
#[derive(Clone, Copy, Debug)]
pub struct ServiceInfo {
    /// Its name, with its package.
    pub name: &'static str,
    /// Its number in each request.
    pub id: u16,
    /// The service, and all messages and enums that it uses: an encoded [`Schema`].
    pub schema: &'static [u8],
    /// The schema's fingerprint.
    pub fingerprint: Fingerprint,
    /// Room for its longest reply, in bytes; `None` if replies have no bound.
    pub reply_bytes_max: Option<u32>,
}

impl ServiceInfo {
    /// The schema, decoded.
    ///
    /// # Panics
    ///
    /// When the bytes are no schema, which generated code excludes.
    #[must_use]
    pub fn schema(&self) -> Schema {
        Schema::from_bytes(self.schema).expect("generated with the service")
    }
}
