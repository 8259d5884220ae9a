//! What the endpoints of keys have in common.

use axum::response::Response;
use secrecy::ExposeSecret as _;
use serde::Serialize;
use usher_engine::access::{KeyError, KeyView, NewSecret, Scope};
use utoipa::ToSchema;

use crate::endpoints::shown_once::{Secret, shown_once};
use crate::problem::{ErrorCode, Problem};

/// An API key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub(crate) struct Key {
    /// Its id.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    id: String,
    /// What you call it.
    #[schema(example = "shop")]
    name: String,
    /// What it may do.
    scopes: Vec<Scope>,
    /// When it was created, in Unix seconds.
    #[schema(example = 1732137600)]
    created_at: u64,
    /// From when on it is not accepted, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1763673600)]
    expires_at: Option<u64>,
    /// That time has come.
    #[schema(example = false)]
    expired: bool,
    /// The networks from which it is accepted; all if there are none.
    #[schema(example = json!(["192.0.2.0/24"]))]
    networks: Vec<String>,
    /// Whether it sees only the streams that it has started.
    #[schema(example = false)]
    own_streams_only: bool,
    /// Most millisats that it may send within 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1_000_000)]
    daily_budget_millisats: Option<u64>,
    /// Most requests per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 10)]
    requests_per_second: Option<u32>,
    /// When its secret was used last, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1732141200)]
    last_used_at: Option<u64>,
    /// After a rotation: the former secret, while it is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    previous: Option<PreviousSecret>,
}

/// The former secret of a key that was rotated.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreviousSecret {
    /// Until when it is accepted, in Unix seconds.
    #[schema(example = 1732224000)]
    accepted_until: u64,
    /// When it was used last, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1732141200)]
    last_used_at: Option<u64>,
}

impl From<KeyView> for Key {
    fn from(view: KeyView) -> Self {
        let KeyView { id, terms, created_at, used_at, previous, is_expired } = view;
        Self {
            id: id.to_string(),
            name: terms.name,
            scopes: terms.scopes.into_iter().collect(),
            created_at: created_at.secs(),
            expires_at: terms.expires_at,
            expired: is_expired,
            networks: terms.networks.iter().map(ToString::to_string).collect(),
            own_streams_only: terms.own_streams_only,
            daily_budget_millisats: terms.daily_budget_millisats,
            requests_per_second: terms.requests_per_second.map(std::num::NonZeroU32::get),
            last_used_at: used_at.map(|at| at.secs()),
            previous: previous.map(|(until, used_at)| PreviousSecret {
                accepted_until: until.secs(),
                last_used_at: used_at.map(|at| at.secs()),
            }),
        }
    }
}

/// A key with its new secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKeyWithSecret)]
pub(crate) struct KeyWithSecret {
    key: Key,
    /// The secret: send it as `Authorization: Bearer`. It is shown this once, and left out of a repeated response
    /// (`Idempotency-Key`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, nullable = false,
        example = "usher_live_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgh123456")]
    secret: Option<Secret>,
}

/// The response with a new secret; a repeated one has none.
pub(super) fn with_secret(new: NewSecret) -> Response {
    let secret = Secret(new.secret.0.expose_secret().to_owned());
    shown_once(KeyWithSecret { key: new.key.into(), secret: None }, Some(secret), |body| &mut body.secret)
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::NotFound => Self::new(ErrorCode::KeyNotFound, "no API key has this id, or it was revoked"),
            KeyError::Refused(errors) => Self::invalid(errors),
            KeyError::Store(error) => error.into(),
        }
    }
}
