//! The OpenID Connect provider as its operator manages it: what several endpoints share.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use serde::Serialize;
use usher_engine::ports::{OpenIdControl, OpenIdKey, OpenIdKeyError, StoreError};
use utoipa::ToSchema;

use crate::ApiState;
use crate::problem::{ErrorCode, Problem};

/// Why a request for the provider failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the service is no OpenID Connect provider")]
    NoProvider,
    #[error("there is no such consent")]
    NoConsent,
    #[error("there is no such key")]
    NoKey,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Keys(#[from] OpenIdKeyError),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NoProvider => Self::new(
                ErrorCode::OidcNotConfigured,
                "the service is no OpenID Connect provider: it has no client (POST /oidc/clients, oidc.clients)",
            ),
            Error::NoConsent => {
                Self::new(ErrorCode::ConsentNotFound, "this user has not agreed to give this client anything")
            }
            Error::NoKey => Self::new(ErrorCode::SigningKeyNotFound, "no signing key has this id"),
            Error::Store(error) | Error::Keys(OpenIdKeyError::Store(error)) => error.into(),
            Error::Keys(error) => Self::internal(error),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        Problem::from(self).into_response()
    }
}

/// The provider, while it has a client.
pub(super) fn provider(state: &ApiState) -> Result<Arc<dyn OpenIdControl>, Error> {
    control(state).and_then(|control| if control.is_on() { Ok(control) } else { Err(Error::NoProvider) })
}

/// The provider, also without a client.
pub(super) fn control(state: &ApiState) -> Result<Arc<dyn OpenIdControl>, Error> {
    state.openid.clone().ok_or(Error::NoProvider)
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
