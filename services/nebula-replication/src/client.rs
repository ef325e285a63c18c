//! Finds the leader of the replicas, and administers them.
//!
//! A client of all replicas, `udp://a,udp://b,udp://c`, finds the leader by itself: any other
//! replica refuses an RPC with a NACK, unexecuted, and the client sends it to the next. With
//! [`asks_for_leader`] the client also asks regularly who leads, and sends to others only until it
//! knows.

use nebula::{CallError, Client, ClientConfig, ConnectError, HealthCheck, Span};

use crate::wire::{self, Answer, Members, Message, Sender, WireError};

const ASK_EVERY: Span = Span::from_ms(20);

/// Makes a client send to the leader.
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

/// A replica did not answer, or refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdministerError {
    /// It cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// Its answer is invalid: it is no replica.
    #[error("this server is no replica: {0}")]
    Wire(#[from] WireError),
    /// It refused.
    #[error("{0}")]
    Refused(String),
}

/// Asks the leader of the replicas at `endpoints`, one of which suffices, to list, add or remove.
/// Without a leader, the replica that answers lists.
///
/// # Errors
///
/// [`AdministerError`]: that of the last replica, if none answers.
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
