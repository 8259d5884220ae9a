//! Subscriptions closed by the user before the request received the agreement: relays may deliver the close first.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::message::CloseSubscription;

use crate::UnixMillis;

/// The most closes stored for one request; no honest wallet sends more.
const MAX_CLOSES: usize = 16;

/// How long an early close is kept: longer than the 15 minutes within which the transport accepts messages.
const KEPT: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EarlyCloses(Vec<EarlyClose>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EarlyClose {
    subscription_id: String,
    reason: Option<String>,
    at: UnixMillis,
}

impl EarlyCloses {
    pub(super) fn put(&mut self, close: &CloseSubscription, now: UnixMillis) -> bool {
        if self.of(&close.subscription_id).is_some() {
            return false;
        }
        self.0.retain(|early| now < early.at.plus(KEPT));
        if self.0.len() >= MAX_CLOSES {
            return false;
        }
        let CloseSubscription { subscription_id, reason, .. } = close.clone();
        self.0.push(EarlyClose { subscription_id, reason, at: now });
        true
    }

    #[allow(clippy::option_option)] // closed without a reason is closed
    pub(super) fn of(&self, subscription_id: &str) -> Option<Option<String>> {
        self.0.iter().find(|early| early.subscription_id == subscription_id).map(|early| early.reason.clone())
    }
}
