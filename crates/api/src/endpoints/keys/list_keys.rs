//! `GET /keys`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::key::Key;
use crate::ApiState;

/// The keys, and the tokens.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKeyList)]
pub(crate) struct List {
    /// The keys, the oldest first.
    keys: Vec<Key>,
    /// The tokens of the configuration, which may do everything.
    tokens: Vec<Token>,
}

/// A token of the configuration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConfiguredToken)]
pub(crate) struct Token {
    /// Its setting: `auth.auth_token`, or `auth.previous_token` during a rotation.
    #[schema(example = "auth.auth_token")]
    setting: &'static str,
    /// When it was used last since the service started, in Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1732141200)]
    last_used_at: Option<u64>,
}

/// Lists the API keys, and when each was used last.
///
/// Last uses of keys are stored once a minute.
#[utoipa::path(
    get,
    path = "/keys",
    responses((status = 200, description = "All keys, without their secrets.", body = List)),
)]
pub(crate) async fn list_keys(State(state): State<ApiState>) -> Json<List> {
    let settings = ["auth.auth_token", "auth.previous_token"];
    let tokens = settings.into_iter().zip(state.tokens.last_uses());
    Json(List {
        keys: state.keys.list().into_iter().map(Key::from).collect(),
        tokens: tokens.map(|(setting, at)| Token { setting, last_used_at: at.map(|at| at.secs()) }).collect(),
    })
}
