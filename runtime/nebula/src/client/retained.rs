//! Copies of requests that a retry policy may have to send again.

use std::collections::BTreeMap;

/// By ticket; `None` unless the retry policy sends again.
#[derive(Debug)]
pub(crate) struct Retained {
    requests: Option<BTreeMap<u64, Vec<u8>>>,
    spare: Vec<Vec<u8>>,
}

impl Retained {
    pub(crate) fn new(keeps: bool) -> Self {
        Self { requests: keeps.then(BTreeMap::new), spare: Vec::new() }
    }

    #[inline(always)]
    pub(crate) fn keep(&mut self, token: u64, request: &[u8]) {
        if let Some(requests) = &mut self.requests {
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.clear();
            buffer.extend_from_slice(request);
            requests.insert(token, buffer);
        }
    }

    pub(crate) fn request(&self, token: u64) -> Option<&[u8]> {
        self.requests.as_ref()?.get(&token).map(Vec::as_slice)
    }

    #[inline(always)]
    pub(crate) fn drop_request(&mut self, token: u64) {
        if let Some(requests) = &mut self.requests
            && let Some(buffer) = requests.remove(&token)
        {
            self.spare.push(buffer);
        }
    }
}
