//! An event that a relay sends.

use nostr::{Event, JsonUtil as _, SubscriptionId};
use tokio_tungstenite::tungstenite::Message;

/// An event with its JSON text, made once for all its receivers.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) event: Event,
    json: String,
}

impl Published {
    pub(super) fn new(event: Event) -> Self {
        let json = event.as_json();
        Self { event, json }
    }

    pub(super) fn frame(&self, subscription: &SubscriptionId) -> Message {
        let id = serde_json::Value::from(subscription.as_str());
        Message::text(format!("[\"EVENT\",{id},{}]", self.json))
    }
}
