//! Numbers of services and methods.

use crate::options;
use crate::schema::{Fingerprint, Method, Service};
use protox::prost_reflect::{MethodDescriptor, ServiceDescriptor};
use std::collections::BTreeMap;

const SERVICE_MAX: u32 = u16::MAX as u32;
/// 0 asks for the schema, and there are 12 bits.
const METHOD_MAX: u32 = (1 << 12) - 1;

/// The number of a service that has no option for it: 1 to 65,535, made from its name.
pub(crate) fn name_id(name: &str) -> u32 {
    u32::try_from(Fingerprint::of(name.as_bytes()).0 % u64::from(SERVICE_MAX)).unwrap_or(0) + 1
}

/// The service in the schema; errors go to `faults`.
pub(super) fn service(service: &ServiceDescriptor, faults: &mut Vec<String>) -> Service {
    let id = options::service_id(service).unwrap_or_else(|| name_id(service.full_name()));
    if id == 0 || id > SERVICE_MAX {
        faults.push(format!("{}: (nebula.service_id) is {id}, and has to be 1 to {SERVICE_MAX}", service.full_name()));
    }
    let mut taken = BTreeMap::new();
    let methods = service.methods().filter_map(|one| method(&one, &mut taken, faults));
    let mut methods: Vec<_> = methods.collect();
    methods.sort_by_key(|method| method.id);
    Service { name: service.full_name().into(), id, methods }
}

fn method(method: &MethodDescriptor, taken: &mut BTreeMap<u32, String>, faults: &mut Vec<String>) -> Option<Method> {
    let name = method.full_name();
    if method.is_client_streaming() {
        faults.push(format!("{name} takes a stream: take one request, and let the client send several"));
        return None;
    }
    let Some(id) = options::method_id(method) else {
        let free = (1..=METHOD_MAX).find(|id| !taken.contains_key(id) && !is_said(method, *id)).unwrap_or(1);
        faults.push(format!(
            "{name} has no number: import \"nebula/options.proto\" and write {{ option (nebula.id) = {free}; }}"
        ));
        taken.insert(free, method.name().into());
        return None;
    };
    if id == 0 || id > METHOD_MAX {
        faults.push(format!("{name}: (nebula.id) is {id}, and has to be 1 to {METHOD_MAX}"));
    }
    if let Some(other) = taken.insert(id, method.name().into()) {
        faults.push(format!("{name}: {other} has the number {id} too"));
    }
    Some(Method {
        name: method.name().into(),
        id,
        request: method.input().full_name().into(),
        reply: method.output().full_name().into(),
        idempotent: options::is_idempotent(method),
        removed: false,
        streams: method.is_server_streaming(),
    })
}

fn is_said(method: &MethodDescriptor, id: u32) -> bool {
    method.parent_service().methods().any(|other| options::method_id(&other) == Some(id))
}
