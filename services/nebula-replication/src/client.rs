//! What a client needs: which replica leads, and how the replicas are administered.
//!
//! A client of all replicas, `udp://a,udp://b,udp://c`, finds the leader by itself: one that does
//! not lead refuses an RPC with a NACK, so that it was not executed, and the client sends it to the
//! next. With [`asks_for_leader`] the client also asks from time to time who leads, and sends
//! elsewhere only what comes before it knows.

use nebula::{CallError, Client, ClientConfig, ConnectError, HealthCheck, Span};

use crate::wire::{self, Answer, Members, Message, Sender, WireError};

/// How often a client asks who leads.
const ASK_EVERY: Span = Span::from_ms(20);

/// Adds to a client's configuration that it sends to the leader.
///
/// # Examples
///
/// ```
/// use nebula::ClientConfig;
///
/// let config = nebula_replication::client::asks_for_leader(ClientConfig::default());
/// assert!(config.health.is_some());
/// ```
#[must_use]
pub fn asks_for_leader(config: ClientConfig) -> ClientConfig {
    match wire::encode(Sender::Administrator, &Message::Leads) {
        Ok(request) => config.health(HealthCheck::new(ASK_EVERY, &request, leads)),
        Err(_) => config,
    }
}

fn leads(reply: &[u8]) -> bool {
    matches!(wire::decode_answer(reply), Ok(Answer::Leads(true)))
}

/// A replica could not be asked, or refuses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdministerError {
    /// It cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Its answer is not understood: it is no replica.
    #[error("this server is no replica: {0}")]
    Wire(#[from] WireError),
    /// It refuses.
    #[error("{0}")]
    Refused(String),
}

/// Asks the leader of the replicas at `endpoints`, one of which suffices, to list, add or remove.
/// Where none leads now, a list is that of the replica that answers.
///
/// # Errors
///
/// [`AdministerError`]: the last replica's, where none answers.
pub fn administer(endpoints: &str, config: &ClientConfig, message: &Message) -> Result<Members, AdministerError> {
    let mut failed = None;
    for endpoint in endpoints.split(',').map(str::trim) {
        let members = match ask(endpoint, config, &Message::List) {
            Ok(members) => members,
            Err(error) => {
                failed = Some(error);
                continue;
            }
        };
        let is_list = matches!(message, Message::List);
        return match &members.leader {
            Some(leader) if leader != endpoint || !is_list => ask(leader, config, message),
            None if !is_list => Err(AdministerError::Refused("no replica leads: a majority has to run".to_owned())),
            _ => Ok(members),
        };
    }
    Err(failed.unwrap_or_else(|| AdministerError::Refused("name a replica".to_owned())))
}

fn ask(endpoint: &str, config: &ClientConfig, message: &Message) -> Result<Members, AdministerError> {
    let request = wire::encode(Sender::Administrator, message)?;
    let mut client = Client::connect_with(endpoint, config.clone())?;
    match wire::decode_answer(client.call(&request)?)? {
        Answer::Members(members) => Ok(members),
        Answer::Refused(why) => Err(AdministerError::Refused(why)),
        _ => Err(WireError::NotAMessage.into()),
    }
}
