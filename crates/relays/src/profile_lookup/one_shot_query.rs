//! A short visit to a relay that is none of ours: one connection, one question.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use usher_nostr_connection::address_guard::Trust;
use usher_nostr_connection::{Activity, DialOptions, Interest, OverheadLimits, Timing, dial};

use crate::query::{MOST_EVENT_BYTES, Query};
use crate::relay_address::RelayAddress;
use crate::relay_message::RelayMessage;

/// The id of the one subscription.
const SUBSCRIPTION: &str = "q";

/// Messages that are read at most: what a relay says beside the answer is a greeting and a notice or two.
const MOST_MESSAGES: usize = 64;

/// How long the good-bye may take.
const PARTING: Duration = Duration::from_millis(250);

/// How visits are made.
#[derive(Clone, Debug)]
pub(crate) struct OneShotQueries {
    pub(crate) trust: Trust,
    pub(crate) timing: Timing,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) overhead: OverheadLimits,
    /// Most visits at a time; others wait.
    pub(crate) permits: Arc<Semaphore>,
}

impl OneShotQueries {
    /// Asks `question` at a relay; it ends unanswered when the relay cannot be reached, demands to know who we are
    /// (a stranger's relay need not know who asks for whom), or talks of other things.
    pub(crate) async fn ask(self, address: RelayAddress, mut query: Query) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        let options = DialOptions {
            trust: self.trust,
            timing: &self.timing,
            tls: &self.tls,
            max_message_bytes: 2 * MOST_EVENT_BYTES,
            overhead: &self.overhead,
            dialer: None,
        };
        let mut connection = match dial(address.url(), &options, |_| true).await {
            Ok(connection) => connection,
            Err(error) => {
                tracing::debug!(relay = %address, %error, "a user's relay cannot be asked");
                return;
            }
        };
        if connection.send(query.request(SUBSCRIPTION)).await.is_err() {
            return;
        }
        for _ in 0..MOST_MESSAGES {
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
        let parting = async {
            connection.send(json!(["CLOSE", SUBSCRIPTION]).to_string()).await?;
            connection.send_close().await
        };
        // Whatever comes of it: the connection ends either way.
        let _ = timeout(PARTING, parting).await;
        query.answered();
    }
}
