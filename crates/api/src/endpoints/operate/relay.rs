//! A relay, in requests and responses of `/relays`.

use serde::Serialize;
use usher_engine::FieldError;
use usher_engine::ports::{RelayChangeError, RelayInfo, RelayLinkState, RelayOrigin};
use usher_engine::request_body;
use usher_engine::request_body::RelayUrl;
use utoipa::ToSchema;

use crate::problem::{ErrorCode, Problem};

impl From<RelayChangeError> for Problem {
    fn from(error: RelayChangeError) -> Self {
        let invalid = |detail| Self::invalid(vec![FieldError { pointer: "/relay".to_owned(), detail }]);
        match error {
            RelayChangeError::Invalid(detail) => invalid(detail),
            RelayChangeError::TooMany { .. } => invalid(error.to_string()),
            RelayChangeError::NotFound => Self::new(ErrorCode::RelayNotFound, error.to_string()),
            RelayChangeError::Store(error) => error.into(),
        }
    }
}

request_body! {
    /// Names a relay.
    pub(crate) struct Body, BodyDraft = "RelayRequest", example { "relay": "wss://relay.example" } {
        /// Its address: `wss://…`, or `ws://…` in a network of your own.
        relay: RelayUrl,
    }
}

/// A relay and the state of its connection.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Relay, example = json!({
    "relay": "wss://relay.example",
    "status": "connected",
    "origin": "configured",
    "since": 1732137600,
    "reason": null,
    "subscribed": true,
    "queued": 0,
}))]
pub(crate) struct Relay {
    /// Its address, normalised: scheme and host in lower case, no default port, no slash for an empty path.
    relay: String,
    /// `connecting` (the first time), `connected`, or `disconnected` (with further attempts at growing intervals).
    #[schema(pattern = "^(connecting|connected|disconnected)$")]
    status: &'static str,
    /// Why it is connected: `configured` or `added` (at run time) by the operator; `user` while the service waits for
    /// that user's reply.
    #[schema(pattern = "^(configured|added|user)$")]
    origin: &'static str,
    /// Since when it has this status, in Unix seconds.
    #[schema(required = true)]
    since: Option<u64>,
    /// Why it is disconnected, or what it refuses, in the relay's own words. API keys learn no more of an added relay than that
    /// it cannot be reached.
    #[schema(required = true)]
    reason: Option<String>,
    /// Whether it has confirmed the service's relay subscription: what wallets send there arrives.
    subscribed: bool,
    /// Events waiting to be sent to it.
    queued: usize,
}

impl Relay {
    /// What a client is shown. With different answers for different failures, a key would be a port scanner.
    pub(super) fn shown(info: RelayInfo, is_key: bool) -> Self {
        let is_hidden = is_key && info.origin != RelayOrigin::Configured && info.state == RelayLinkState::Disconnected;
        Self {
            relay: info.url,
            status: info.state.as_str(),
            origin: info.origin.as_str(),
            since: info.since.map(usher_engine::UnixMillis::secs),
            reason: if is_hidden { Some("it cannot be reached".to_owned()) } else { info.reason },
            subscribed: info.subscribed,
            queued: info.queued,
        }
    }
}
