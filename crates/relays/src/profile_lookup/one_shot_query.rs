//! A query to a relay that is not connected: one connection, one query.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{Activity, DialOptions, Interest, RelayMessage, Timing, dial};

use crate::query::{MAX_EVENT_BYTES, Query};
use crate::relay_address::RelayAddress;

const SUBSCRIPTION: &str = "q";

/// Most messages read: the result, a greeting and a few notices.
const MAX_MESSAGES: usize = 64;

/// How long closing may take.
const CLOSING: Duration = Duration::from_millis(250);

#[derive(Clone, Debug)]
pub(crate) struct OneShotQueries {
    pub(crate) source: AddressSource,
    pub(crate) timing: Timing,
    pub(crate) tls: Option<Arc<ClientConfig>>,
    /// Limits concurrent queries; others wait.
    pub(crate) permits: Arc<Semaphore>,
}

impl OneShotQueries {
    /// Sends `query` to a relay. It ends without a result when the relay cannot be reached, requires authentication (a
    /// user's relay need not learn who we are), or sends something else.
    pub(crate) async fn run(self, address: RelayAddress, mut query: Query) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        let options = DialOptions::new(self.source, &self.timing, 2 * MAX_EVENT_BYTES);
        let options = DialOptions { tls: self.tls.as_ref(), ..options };
        let mut connection = match dial(address.url(), &options, |_| true).await {
            Ok(connection) => connection,
            Err(error) => {
                tracing::debug!(relay = %address, %error, "cannot query a user's relay");
                return;
            }
        };
        if connection.send(query.request(SUBSCRIPTION)).await.is_err() {
            return;
        }
        for _ in 0..MAX_MESSAGES {
            let Ok(activity) = connection.next(Interest::READ).await else { return };
            let Activity::Text(text) = activity else { continue };
            let enough = match RelayMessage::parse(&text) {
                Some(RelayMessage::Event { subscription, event }) if subscription == SUBSCRIPTION => !query.take(event),
                Some(RelayMessage::EndOfStored { subscription }) => subscription == SUBSCRIPTION,
                Some(RelayMessage::Closed { subscription, .. }) if subscription == SUBSCRIPTION => return,
                _ => false,
            };
            if enough {
                break;
            }
        }
        let closing = async {
            connection.send(json!(["CLOSE", SUBSCRIPTION]).to_string()).await?;
            connection.send_close().await
        };
        // Best effort: the connection is dropped either way.
        let _ = timeout(CLOSING, closing).await;
        query.answered();
    }
}
