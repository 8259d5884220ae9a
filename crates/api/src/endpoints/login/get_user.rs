//! `GET /users/{main_key}`

use axum::Json;
use axum::extract::{RawQuery, State};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use usher_engine::{ErasurePosition, UserView};
use usher_protocol::PublicKey;
use utoipa::ToSchema;

use super::erase_user;
use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};

/// Most ids of one list.
const MOST: usize = 100;

/// What is kept of a user. A list has at most 100 ids.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User, example = json!({
    "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "first_seen": 1732137600, "last_seen": 1732223999,
    "logins": ["0193b2f1-5c1e-7d3a-9f24-1f0a8b6c7d5e"], "logins_total": 1,
    "payments": [], "payments_total": 0,
    "subscriptions": ["0b9c8a53-2d5f-4c5e-9d1c-0f3f9a8d2f10"], "subscriptions_total": 1,
    "passkeys": ["AQIDBA"], "passkeys_total": 1,
    "signers": [], "signers_total": 0,
    "consents": ["gitea"], "consents_total": 1,
    "next": null,
}))]
pub(crate) struct User {
    /// The user.
    main_key: String,
    /// The first time in what is kept, in Unix seconds; `null` if what is kept has no time.
    first_seen: Option<u64>,
    /// The last time in what is kept.
    last_seen: Option<u64>,
    /// The streams of their logins, key handshakes and authentications, newest first.
    logins: Vec<String>,
    /// How many there are.
    logins_total: usize,
    /// The streams of payments that they were asked for, and of refunds to them, newest first.
    payments: Vec<String>,
    /// How many there are.
    payments_total: usize,
    /// The ids of their subscriptions, newest first.
    subscriptions: Vec<String>,
    /// How many there are.
    subscriptions_total: usize,
    /// The credential ids of their passkeys, in base64url.
    passkeys: Vec<String>,
    /// How many there are.
    passkeys_total: usize,
    /// Their key, if the session with their remote signer is kept: `DELETE /remote-signers/{main_key}` takes it.
    signers: Vec<String>,
    /// How many there are: 0 or 1.
    signers_total: usize,
    /// The apps to which they agreed (OpenID Connect): the `client_id` of each.
    consents: Vec<String>,
    /// How many there are.
    consents_total: usize,
    /// The `after` with which to continue; `null` if everything was searched.
    next: Option<String>,
}

impl User {
    fn new(main_key: &PublicKey, user: UserView) -> Self {
        let newest = |ids: &mut dyn DoubleEndedIterator<Item = String>| ids.rev().take(MOST).collect::<Vec<_>>();
        let UserView { seen, logins, payments, subscriptions, records, next } = user;
        let signers: Vec<_> = records.signer.then(|| main_key.to_hex()).into_iter().collect();
        Self {
            main_key: main_key.to_hex(),
            first_seen: seen.map(|(first, _)| first.secs()),
            last_seen: seen.map(|(_, last)| last.secs()),
            logins_total: logins.len(),
            logins: newest(&mut logins.iter().map(ToString::to_string)),
            payments_total: payments.len(),
            payments: newest(&mut payments.iter().map(ToString::to_string)),
            subscriptions_total: subscriptions.len(),
            subscriptions: newest(&mut subscriptions.into_values()),
            passkeys_total: records.passkeys.len(),
            passkeys: newest(&mut records.passkeys.iter().map(|passkey| URL_SAFE_NO_PAD.encode(&passkey.id))),
            signers_total: signers.len(),
            signers,
            consents_total: records.consents.len(),
            consents: records.consents.into_iter().take(MOST).map(|consent| consent.client_id).collect(),
            next: next.map(|after| erase_user::write_position(ErasurePosition { after, has_open: false })),
        }
    }

    fn is_empty(&self) -> bool {
        self.first_seen.is_none() && self.next.is_none()
    }
}

/// Shows what is kept of a user.
///
/// A request searches for about half a second. While `next` is not `null`, continue with it as `after`: lists and totals of
/// streams and subscriptions are of what each request has searched.
#[utoipa::path(
    get,
    path = "/users/{main_key}",
    params(
        ("main_key" = String, Path, format = "nostr-public-key", pattern = "^[0-9a-fA-F]{64}$", description = "The user's key: 64 hex characters."),
        (
            "after" = Option<String>, Query,
            pattern = "^(streams|responses):(0|1)(:[0-9a-f-]+)?$",
            description = "Continues after this: the `next` of the last response.",
        ),
    ),
    responses(
        (status = 200, description = "What is kept.", body = User),
        (status = 404, description = "`user_not_found`: Nothing is kept of this user."),
        (status = 422, description = "`invalid_request`: `main_key` is not a valid key, or `after` is not a `next`."),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn get_user(
    State(state): State<ApiState>,
    PathParameter(text): PathParameter,
    RawQuery(query): RawQuery,
) -> Result<Json<User>, Problem> {
    let (main_key, position) = erase_user::read(text.as_deref(), query.as_deref()).map_err(Problem::invalid)?;
    let after = position.map(|position| position.after);
    let user = User::new(&main_key, state.engine.user(&main_key, after).await?);
    if user.is_empty() && after.is_none() {
        return Err(Problem::new(ErrorCode::UserNotFound, "nothing is kept of this user"));
    }
    Ok(Json(user))
}
