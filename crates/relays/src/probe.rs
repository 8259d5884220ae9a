//! Checks one relay from outside the service: whether it responds, and its clock.

use std::error::Error;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout};
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{Activity, DialOptions, Interest, RelayMessage, Timing, open, printable};
use usher_protocol::PublicKey;

use crate::relay_address::RelayAddress;

/// The id of the relay subscription.
const SUBSCRIPTION: &str = "probe";

/// Largest message that is received, in bytes: the filter requests one event.
const MAX_MESSAGE_BYTES: usize = 512 * 1024;

const MAX_MESSAGES: usize = 64;

/// A relay that responded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// From name resolution to the end of the response.
    pub took: Duration,
    /// The `Date` header of its response to the WebSocket handshake, if present.
    pub date: Option<String>,
    /// It requires authentication (NIP-42), which the service supports.
    pub wants_authentication: bool,
}

/// Why a relay did not respond.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The connection failed.
    #[error(transparent)]
    Unreachable(Box<dyn Error + Send + Sync>),
    /// The connection ended before the response.
    #[error("it closed the connection")]
    Closed,
    /// It refuses to respond.
    #[error("it refuses the subscription: {0}")]
    Refused(String),
    /// It timed out.
    #[error("no response within {} s", .0.as_secs())]
    TimedOut(Duration),
}

/// Connects to one of the operator's relays, requests one event addressed to `key`, waits for the end of the response
/// (`EOSE`), and closes the connection.
pub async fn probe(address: &RelayAddress, key: PublicKey, limit: Duration) -> Result<Probed, ProbeError> {
    timeout(limit, ask(address, key)).await.map_err(|_elapsed| ProbeError::TimedOut(limit))?
}

async fn ask(address: &RelayAddress, key: PublicKey) -> Result<Probed, ProbeError> {
    let started = Instant::now();
    let timing = Timing::default();
    let options = DialOptions::new(AddressSource::Operator, &timing, MAX_MESSAGE_BYTES);
    let opened = open(address.url(), &options, |_| true).await;
    let (mut connection, response) = opened.map_err(|error| ProbeError::Unreachable(error.into()))?;
    let date = response.headers().get("date").and_then(|date| date.to_str().ok()).map(str::to_owned);
    let request = json!(["REQ", SUBSCRIPTION, { "#p": [key.to_hex()], "limit": 1 }]);
    connection.send(request.to_string()).await.map_err(|_| ProbeError::Closed)?;
    for _ in 0..MAX_MESSAGES {
        let Ok(activity) = connection.next(Interest::READ).await else { break };
        let Activity::Text(text) = activity else { continue };
        let wants_authentication = match RelayMessage::parse(&text) {
            Some(RelayMessage::EndOfStored { subscription }) if subscription == SUBSCRIPTION => false,
            Some(RelayMessage::Closed { subscription, text }) if subscription == SUBSCRIPTION => {
                if !text.starts_with("auth-required:") {
                    return Err(ProbeError::Refused(printable(&text)));
                }
                true
            }
            _ => continue,
        };
        // Best effort: the connection is dropped either way.
        let _ = connection.send_close().await;
        return Ok(Probed { took: started.elapsed(), date, wants_authentication });
    }
    Err(ProbeError::Closed)
}
