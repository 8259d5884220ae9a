//! The receiver port: the app's webhook endpoint.

use std::time::Duration;

use async_trait::async_trait;

use crate::event::Event;
use crate::{StreamId, UnixMillis};

/// Posts events to the app.
#[async_trait]
pub trait WebhookSender: Send + Sync {
    /// Posts one event of `stream`, once, and says how it went. Always returns within a bound of its own.
    ///
    /// The body is the same at every attempt; `now` goes into the signature.
    async fn post(&self, stream: StreamId, event: &Event, now: UnixMillis) -> Posted;
}

/// How a post went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// The receiver said 2xx.
    Accepted {
        /// Which.
        http_status: u16,
    },
    /// It said something else, or nothing: the delivery is tried again.
    Refused {
        /// The status, if there was an answer.
        http_status: Option<u16>,
        /// Why, in words without secrets.
        reason: String,
        /// How long the receiver asked us to wait (`Retry-After`), if it did.
        retry_after: Option<Duration>,
    },
}
