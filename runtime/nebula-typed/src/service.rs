//! What generated code says about a service.

use nebula_build::schema::{Fingerprint, Schema};

/// A service of a `.proto`, as one version of it was compiled.
#[derive(Clone, Copy, Debug)]
pub struct ServiceInfo {
    /// Its name, with its package.
    pub name: &'static str,
    /// Its number in each request.
    pub id: u16,
    /// It and all messages and enums that it uses: an encoded [`Schema`].
    pub schema: &'static [u8],
    /// That of the schema.
    pub fingerprint: Fingerprint,
    /// Room for its longest reply, in bytes; `None` where a reply has no longest form.
    pub reply_bytes_max: Option<u32>,
}

impl ServiceInfo {
    /// The schema, decoded.
    ///
    /// # Panics
    ///
    /// When the bytes are no schema: generated code has them from the generator.
    #[must_use]
    pub fn schema(&self) -> Schema {
        Schema::from_bytes(self.schema).expect("generated with the service")
    }
}
