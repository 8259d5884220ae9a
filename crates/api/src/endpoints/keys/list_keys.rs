//! `GET /keys`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::UnixMillis;
use utoipa::ToSchema;

use super::key::Key;
use crate::ApiState;

/// The keys, and the secrets of the configuration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKeyList)]
pub(crate) struct List {
    /// The keys, the oldest first.
    keys: Vec<Key>,
    /// The tokens, which may do everything, and the secrets that sign webhooks.
    configured: Vec<Configured>,
}

/// A secret of the configuration.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConfiguredSecret)]
pub(crate) struct Configured {
    /// Its setting: `auth.auth_token`, `webhook.secret`, and during a rotation `auth.previous_token`, `webhook.previous_secret`.
    #[schema(example = "auth.auth_token")]
    setting: &'static str,
    /// When it was used last since the service started, in Unix seconds; of a webhook's secret also since it was read anew (`SIGHUP`).
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
    let tokens = ["auth.auth_token", "auth.previous_token"].into_iter().zip(state.tokens.last_uses());
    let webhook = ["webhook.secret", "webhook.previous_secret"].into_iter().zip(state.status.webhook_secret_uses());
    let used = |(setting, at): (_, Option<UnixMillis>)| Configured { setting, last_used_at: at.map(UnixMillis::secs) };
    Json(List {
        keys: state.keys.list().into_iter().map(Key::from).collect(),
        configured: tokens.chain(webhook).map(used).collect(),
    })
}
