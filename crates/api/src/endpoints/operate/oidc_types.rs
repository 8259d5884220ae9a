//! The OpenID Connect provider as its operator manages it: what several endpoints share.

use std::sync::Arc;

use serde::Serialize;
use usher_engine::ports::{OpenIdControl, OpenIdKey, OpenIdKeyError};
use utoipa::ToSchema;

use crate::ApiState;
use crate::problem::{ErrorCode, Problem};

impl From<OpenIdKeyError> for Problem {
    fn from(error: OpenIdKeyError) -> Self {
        match error {
            OpenIdKeyError::Store(error) => error.into(),
            error => Self::internal(error),
        }
    }
}

fn no_provider() -> Problem {
    let detail = "the service is no OpenID Connect provider: it has no client (POST /oidc/clients, oidc.clients)";
    Problem::new(ErrorCode::OidcNotConfigured, detail)
}

/// The provider, while it has a client.
pub(super) fn provider(state: &ApiState) -> Result<Arc<dyn OpenIdControl>, Problem> {
    control(state).and_then(|control| if control.is_on() { Ok(control) } else { Err(no_provider()) })
}

/// The provider, also without a client.
pub(super) fn control(state: &ApiState) -> Result<Arc<dyn OpenIdControl>, Problem> {
    state.openid.clone().ok_or_else(no_provider)
}

/// The keys that sign ID tokens.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OidcKeys)]
pub(crate) struct Keys {
    /// The keys, the newest first.
    keys: Vec<Key>,
}

impl From<Vec<OpenIdKey>> for Keys {
    fn from(keys: Vec<OpenIdKey>) -> Self {
        Self { keys: keys.into_iter().map(Key::from).collect() }
    }
}

/// A key that signs ID tokens.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OidcKey, example = json!({
    "kid": "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
    "algorithm": "RS256",
    "status": "current",
    "created_at": 1732137600,
    "retired_at": null,
}))]
pub(crate) struct Key {
    /// Its id: the `kid` of the ID tokens that it has signed, and in `/oauth/jwks`.
    kid: String,
    /// `RS256` or `ES256`.
    #[schema(pattern = "^(RS256|ES256)$")]
    algorithm: &'static str,
    /// `current`: it signs. `retired`: it signs no more, and is published for a day after `retired_at`.
    #[schema(pattern = "^(current|retired)$")]
    status: &'static str,
    /// When it was made, in Unix seconds.
    created_at: u64,
    /// When another key took its place, in Unix seconds.
    #[schema(required = true)]
    retired_at: Option<u64>,
}

impl From<OpenIdKey> for Key {
    fn from(key: OpenIdKey) -> Self {
        Self {
            kid: key.kid,
            algorithm: key.algorithm,
            status: if key.retired_at.is_some() { "retired" } else { "current" },
            created_at: key.made_at.secs(),
            retired_at: key.retired_at.map(usher_engine::UnixMillis::secs),
        }
    }
}
