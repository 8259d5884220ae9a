//! What a standby is made of.

use std::sync::Arc;

use axum::response::Response;
use http::request::Parts;
use tokio::sync::watch;
use usher_engine::ports::Randomness;

use crate::auth::ApiTokens;
use crate::forwarding_key::ForwardingKey;

/// The parts of a standby.
#[derive(Clone)]
pub struct StandbyParts {
    /// Clients that send one of these tokens keep their connections when the limit is reached.
    pub tokens: ApiTokens,
    /// Proves to the active instance that this is an instance of the service.
    pub key: ForwardingKey,
    /// Largest request body, in bytes ([`Limits::body_bytes`](crate::Limits)).
    pub body_bytes: usize,
    /// `host:port` of the active instance, if known.
    pub active: watch::Receiver<Option<Arc<str>>>,
    /// Why the database cannot name the active instance, for callers with the token.
    pub database_failure: watch::Receiver<Option<Arc<str>>>,
    /// The page for browsers while no instance is active.
    pub page: Arc<dyn Fn(&Parts) -> Response + Send + Sync>,
    /// Makes request ids.
    pub randomness: Arc<dyn Randomness>,
}
