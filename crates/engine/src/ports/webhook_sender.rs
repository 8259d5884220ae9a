use std::time::Duration;

use async_trait::async_trait;

use crate::event::Event;
use crate::{StreamId, UnixMillis};

/// Posts events to the app.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Posts one event of `stream` once, within its own time limit. The body never changes; the signature covers `now`.
    async fn post(&self, stream: StreamId, event: &Event, now: UnixMillis) -> Posted;
}

/// The result of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The receiver responded with 2xx.
    Accepted {
        /// The status.
        http_status: u16,
    },
    /// The receiver responded with another status, or not at all: the delivery is retried.
    Refused {
        /// The status, if there was a response.
        http_status: Option<u16>,
        /// The reason; contains no secrets.
        reason: String,
        /// The delay requested by the receiver (`Retry-After`), if any.
        retry_after: Option<Duration>,
    },
}
