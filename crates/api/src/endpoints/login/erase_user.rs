//! `DELETE /users/{main_key}`

use axum::extract::{RawQuery, State};
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::ports::IdempotencyKey;
use usher_engine::{Engine, ErasedUser, ErasurePosition, FieldError, FieldErrors, KeptOfUser, SearchedUntil, StreamId};
use usher_protocol::PublicKey;
use usher_protocol::keys::parse_public_key;
use utoipa::ToSchema;

use crate::ApiState;
use crate::audit;
use crate::middleware::DeadlineExtension;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;
use crate::query::Query;

/// What was erased of a user, and what was kept.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserErasure, example = json!({
    "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
    "erased": {
        "streams": 12, "passkeys": 1, "logins": 5, "remote_signers": 0, "relays": 0, "oidc_consents": 1, "oidc_records": 3,
    },
    "kept": [
        {
            "reason": "late_payment", "kind": "single_payment",
            "stream_id": "0193b2f1-5c1e-7d3a-9f24-1f0a8b6c7d5e", "until": 1732223999,
        },
        { "reason": "relays", "kind": null, "stream_id": null, "until": null },
    ],
    "next": null,
}))]
pub(crate) struct Erasure {
    /// The user.
    main_key: String,
    /// What was removed by this request.
    erased: Erased,
    /// What still names the user, and why; at most about 2,000 entries.
    kept: Vec<Kept>,
    /// The `after` with which to continue; `null` if everything was searched.
    next: Option<String>,
}

/// What was removed of a user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ErasedOfUser)]
struct Erased {
    /// Finished streams, with their events and deliveries.
    streams: usize,
    /// Passkeys.
    passkeys: usize,
    /// Entries of the list of logins.
    logins: usize,
    /// Sessions with remote signers: 0 or 1.
    remote_signers: usize,
    /// The user's relays: 1 if they were known.
    relays: usize,
    /// Apps that the user had agreed to give something (OpenID Connect).
    oidc_consents: usize,
    /// Sessions, codes and tokens (OpenID Connect).
    oidc_records: usize,
}

/// Something that names the user and was kept.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeptOfUser)]
struct Kept {
    /// Why. `open`: the stream is open; erase the user again after it has ended. `late_payment`: it has ended, and money may
    /// still arrive. `pending_delivery`: events of the stream are still to be posted to the webhook. `shared_stream`: the stream
    /// has events of others too. `mentioned`: the stream is not about the user, but the key is in it: in a text of the app, or as
    /// another user's subkey. `damaged`: the stream's row has the key and cannot be read. `stored_response`: the response to a
    /// request with an `Idempotency-Key` has the key. `relays`: the user's relays, because a stream of theirs is open.
    #[schema(
        pattern = "^(open|late_payment|pending_delivery|shared_stream|mentioned|damaged|stored_response|relays)$",
        example = "open"
    )]
    reason: &'static str,
    /// What the stream is of, as in the metrics; `subscriptions` is the stream of that name.
    #[schema(example = "single_payment")]
    kind: Option<&'static str>,
    /// The stream.
    #[schema(format = "uuid", example = "0193b2f1-5c1e-7d3a-9f24-1f0a8b6c7d5e")]
    stream_id: Option<String>,
    /// Until when it is kept, in Unix seconds, if that is known: then it is removed without another request, within the hour. The
    /// newest event of a stream that does not end stays until there is another.
    #[schema(example = 1_732_223_999)]
    until: Option<u64>,
}

impl From<KeptOfUser> for Kept {
    fn from(kept: KeptOfUser) -> Self {
        Self {
            reason: kept.reason.as_str(),
            kind: kept.operation.and_then(|(_, kind)| kind).map(|kind| kind.as_str()),
            stream_id: kept.operation.map(|(stream, _)| stream.to_string()),
            until: kept.until.map(|until| until.secs()),
        }
    }
}

impl Erasure {
    fn new(main_key: &PublicKey, user: ErasedUser) -> Self {
        Self {
            main_key: main_key.to_hex(),
            erased: Erased {
                streams: user.operations,
                passkeys: user.records.passkeys,
                logins: user.records.logins,
                remote_signers: usize::from(user.records.signer),
                relays: usize::from(user.relays),
                oidc_consents: user.records.consents,
                oidc_records: user.records.openid_records,
            },
            kept: user.kept.into_iter().map(Kept::from).collect(),
            next: user.next.map(write_position),
        }
    }
}

/// `streams` or `responses`, whether an open stream was found, and what was searched last, if anything.
pub(super) fn write_position(position: ErasurePosition) -> String {
    let (table, last) = match position.after {
        SearchedUntil::Stream(last) => ("streams", last.map(|stream| stream.to_string())),
        SearchedUntil::Record(last) => ("responses", last.map(IdempotencyKey::to_hex)),
    };
    let open = u8::from(position.has_open);
    last.map_or_else(|| format!("{table}:{open}"), |last| format!("{table}:{open}:{last}"))
}

fn read_position(text: &str) -> Option<ErasurePosition> {
    let mut parts = text.splitn(3, ':');
    let (table, open, last) = (parts.next()?, parts.next()?, parts.next());
    let has_open = match open {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    let after = match (table, last) {
        ("streams", last) => SearchedUntil::Stream(last.map(str::parse::<StreamId>).transpose().ok()?),
        ("responses", None) => SearchedUntil::Record(None),
        // 32 bytes in hex, as a key has.
        ("responses", Some(last)) => SearchedUntil::Record(Some(IdempotencyKey::from_hex(last)?)),
        _ => return None,
    };
    Some(ErasurePosition { after, has_open })
}

/// Erases a user.
///
/// Removes what Usher keeps of a user: the session with their remote signer, their passkeys, the list of their logins, the relays at which they are
/// reached,
/// what they agreed to give apps with all sessions and tokens (OpenID Connect), and the finished streams that are about them, with
/// their events and deliveries: these streams then respond with 404, as after their retention. What has to stay is listed in `kept`,
/// with the reason: nothing that money depends on is removed. The books name no user.
///
/// A request searches for about 10 seconds. While `next` is not `null`, continue with it as `after`. A request that is repeated
/// removes what is left, so an interrupted one can be repeated. After the erasure, a login of the same key is that of a new user.
#[utoipa::path(
    delete,
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
        (status = 200, description = "What was removed, and what was kept.", body = Erasure),
        (status = 422, description = "`invalid_request`: `main_key` is not a valid key, or `after` is not a `next`."),
        (status = 503, description = "`storage_unavailable`: The database is unavailable. Repeat the request."),
    ),
)]
pub(crate) async fn erase_user(
    State(state): State<ApiState>,
    PathParameter(text): PathParameter,
    RawQuery(query): RawQuery,
    Extension(deadline): Extension<DeadlineExtension>,
) -> Result<Json<Erasure>, Problem> {
    let (main_key, position) = read(text.as_deref(), query.as_deref()).map_err(Problem::invalid)?;
    deadline.extend(Engine::ERASURE_TIME);
    state.directory.forget_profile(&main_key);
    audit::begin(&state).await?;
    Ok(Json(Erasure::new(&main_key, state.engine.erase_user(&main_key, position).await?)))
}

pub(super) fn read(
    key: Option<&str>,
    query: Option<&str>,
) -> Result<(PublicKey, Option<ErasurePosition>), Vec<FieldError>> {
    let mut errors = FieldErrors::default();
    let main_key = match key.map(parse_public_key) {
        Some(Ok(key)) => Some(key),
        Some(Err(error)) => errors.reject("/main_key", error.to_string()),
        None => errors.reject("/main_key", "is not UTF-8"),
    };
    let after = Query::new(query).text("after", &mut errors);
    let position = after.and_then(|text| {
        read_position(&text).or_else(|| errors.reject("/after", "must be the `next` of an earlier response"))
    });
    errors.finish(main_key.map(|key| (key, position)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_written_and_nothing_else_is() {
        let stream = StreamId::from_bytes([7; 16]);
        for after in [
            SearchedUntil::Stream(None),
            SearchedUntil::Stream(Some(stream)),
            SearchedUntil::Record(None),
            SearchedUntil::Record(Some(IdempotencyKey([0xA5; 32]))),
        ] {
            for has_open in [false, true] {
                let position = ErasurePosition { after, has_open };
                assert_eq!(read_position(&write_position(position)), Some(position));
            }
        }
        for wrong in ["", "streams", "streams:2", "streams:0:", "streams:0:x", "responses:1:é", "users:0"] {
            assert_eq!(read_position(wrong), None, "{wrong}");
        }
    }
}
