//! Nebula's clients as the carrier between replicas.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use nebula::{AsyncClient, CallError, ClientConfig, Span};

use crate::peers::{Carrier, CarryError};

/// One client for each other replica, which connects again to a restarted one.
#[derive(Debug)]
pub struct Clients {
    config: ClientConfig,
    clients: Arc<Mutex<BTreeMap<String, AsyncClient>>>,
}

impl Clients {
    /// RPCs and connections take at most `patience`.
    #[must_use]
    pub fn new(config: ClientConfig, patience: impl Into<Span>) -> Self {
        let config = config.call_timeout(patience).slots(64);
        Self { config, clients: Arc::default() }
    }

    async fn client(&self, endpoint: &str) -> Result<AsyncClient, CarryError> {
        let known = self.clients.lock().unwrap_or_else(PoisonError::into_inner).get(endpoint).cloned();
        if let Some(client) = known {
            return Ok(client);
        }
        let failed = |cause: String| CarryError::Unreachable { endpoint: endpoint.to_owned(), cause };
        let connected = AsyncClient::connect_with(endpoint, self.config.clone()).await;
        let client = connected.map_err(|error| failed(error.to_string()))?.poll_for(Span::ZERO);
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).insert(endpoint.to_owned(), client.clone());
        Ok(client)
    }

    fn forget(&self, endpoint: &str) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).remove(endpoint);
    }
}

impl Carrier for Clients {
    async fn carry(&self, endpoint: &str, request: Vec<u8>) -> Result<Vec<u8>, CarryError> {
        let client = self.client(endpoint).await?;
        let error = match client.call(request).await {
            Ok(reply) => return Ok(reply),
            Err(error) => error,
        };
        let (endpoint, cause) = (endpoint.to_owned(), error.to_string());
        if let CallError::Nack { .. } = error {
            return Err(CarryError::Failed { endpoint, cause });
        }
        self.forget(&endpoint);
        Err(CarryError::Unreachable { endpoint, cause })
    }
}
