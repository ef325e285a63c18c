//! Tenants: groups of clients that share a server by weight.

use super::error::ServeError;
use super::key::is_name;
use nebula_nic::{TENANTS_MAX, Tenants};

/// The bits of a client's number at the NIC that hold its tenant.
pub(crate) const TENANT_SHIFT: u8 = 28;
pub(crate) const TENANT_MASK: u32 = u32::MAX << TENANT_SHIFT;
const _: () = assert!(TENANTS_MAX <= 1 << (32 - TENANT_SHIFT), "each has a number in these bits");
const OTHERS: &str = "*";

/// A group of clients that has one share of a server under overload, and the weight of the share.
///
/// Over `udp://` a tenant is the owner of a key: the name in the key file. Over `shm://` it is a
/// user id. All other clients are one tenant, of weight 1 or that of the name `*`.
///
/// # Examples
///
/// ```
/// let tenant: nebula::Tenant = "ann=3".parse()?;
/// assert_eq!((tenant.name(), tenant.weight()), ("ann", 3));
/// assert!("ann=0".parse::<nebula::Tenant>().is_err());
/// # Ok::<(), nebula::TenantError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    name: String,
    weight: u8,
}

/// A text that is not a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tenant is NAME=WEIGHT: the name of a key or *, and 1 to 255")]
pub struct TenantError;

impl Tenant {
    /// The tenant of `name`.
    ///
    /// # Errors
    ///
    /// [`TenantError`]: a name that is neither `*` nor one that a key can have, or a weight of 0.
    pub fn try_new(name: impl Into<String>, weight: u8) -> Result<Self, TenantError> {
        let name = name.into();
        let is_one = !name.is_empty() && (name == OTHERS || is_name(&name));
        if is_one && weight > 0 { Ok(Self { name, weight }) } else { Err(TenantError) }
    }

    /// The owner of its keys, a user id, or `*`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The weight of its share.
    #[must_use]
    pub const fn weight(&self) -> u8 {
        self.weight
    }
}

impl std::str::FromStr for Tenant {
    type Err = TenantError;

    fn from_str(text: &str) -> Result<Self, TenantError> {
        let (name, weight) = text.split_once('=').ok_or(TenantError)?;
        Self::try_new(name, weight.parse().map_err(|_| TenantError)?)
    }
}

/// Those with a name other than `*`, in order: the first is tenant 1 of the NIC. Tenant 0 is all
/// others.
pub(crate) fn named(tenants: &[Tenant]) -> impl Iterator<Item = &Tenant> {
    tenants.iter().filter(|tenant| tenant.name != OTHERS)
}

pub(crate) fn by_uid(tenants: &[Tenant]) -> Vec<u32> {
    named(tenants).filter_map(|tenant| tenant.name.parse().ok()).collect()
}

pub(crate) fn weights(tenants: &[Tenant]) -> Tenants {
    if tenants.is_empty() {
        return Tenants::ONE;
    }
    let others = tenants.iter().find(|tenant| tenant.name == OTHERS).map_or(1, |tenant| tenant.weight);
    let weights: Vec<u8> = std::iter::once(others).chain(named(tenants).map(|tenant| tenant.weight)).collect();
    Tenants::new(TENANT_SHIFT, &weights)
}

pub(crate) fn check(tenants: &[Tenant], is_udp: bool, has_keys: bool) -> Result<(), ServeError> {
    let is_twice = |index: usize| tenants[..index].iter().any(|other| other.name == tenants[index].name);
    if let Some(index) = (0..tenants.len()).find(|&index| is_twice(index)) {
        return Err(ServeError::TenantTwice { name: tenants[index].name.clone() });
    }
    if tenants.is_empty() {
        return Ok(());
    }
    if !(1..TENANTS_MAX).contains(&named(tenants).count()) {
        return Err(ServeError::Tenants { max: TENANTS_MAX - 1 });
    }
    if is_udp && !has_keys {
        return Err(ServeError::TenantsWithoutKeys);
    }
    match named(tenants).find(|tenant| !is_udp && tenant.name.parse::<u32>().is_err()) {
        Some(tenant) => Err(ServeError::TenantOverShm { name: tenant.name.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenants(texts: &[&str]) -> Vec<Tenant> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn what_is_no_tenant_is_refused() {
        for text in ["ann", "ann=", "ann=0", "ann=256", "ann=-1", "=3", "a b=3", "a*=3", "ann=3=3"] {
            assert_eq!(text.parse::<Tenant>(), Err(TenantError), "{text}");
        }
    }

    #[test]
    fn the_others_are_tenant_0_whatever_the_order() {
        let told = |texts: &[&str]| weights(&tenants(texts));
        assert_eq!(told(&[]), Tenants::ONE);
        assert_eq!(told(&["ann=3"]), Tenants::new(28, &[1, 3]));
        assert_eq!(told(&["ann=3", "*=7", "bob=2"]), Tenants::new(28, &[7, 3, 2]));
        assert_eq!(by_uid(&tenants(&["1000=3", "*=7", "1001=2"])), [1000, 1001]);
    }

    #[test]
    fn tenants_that_nobody_can_be_are_refused() {
        let refused = |texts: &[&str], is_udp, has_keys| check(&tenants(texts), is_udp, has_keys).unwrap_err();
        assert!(matches!(refused(&["ann=1", "ann=2"], true, true), ServeError::TenantTwice { .. }));
        assert!(matches!(refused(&["*=1"], true, true), ServeError::Tenants { .. }));
        assert!(matches!(refused(&["ann=1"], true, false), ServeError::TenantsWithoutKeys));
        assert!(matches!(refused(&["ann=1"], false, false), ServeError::TenantOverShm { .. }));
        let many: Vec<String> = (0..16).map(|uid| format!("{uid}=2")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(matches!(refused(&many, true, true), ServeError::Tenants { .. }));
        assert!(check(&tenants(&many[..15]), false, false).is_ok());
        assert!(check(&tenants(&many[..15]), true, true).is_ok());
        assert!(check(&[], true, false).is_ok());
    }
}
