//! `GET /logins`

use std::fmt;
use std::str::FromStr;

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::ports::{EndedLogin, LoginFilter, LoginPosition, LoginRecordStatus, LoginSubject};
use usher_engine::{FieldErrors, Requester, StreamId, UnixMillis};
use usher_protocol::keys::parse_public_key;
use utoipa::ToSchema;
use utoipa::openapi::{ObjectBuilder, Type};

use crate::ApiState;
use crate::paging::{Cursor, PageQuery, page};
use crate::problem::Problem;
use crate::query::{LATEST, Parameters, Query, ReadQuery};

/// The end of the last login of a page, and its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastLogin(LoginPosition);

impl FromStr for LastLogin {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, operation) = text.split_once(':').ok_or(())?;
        let at = crate::query::integer(at, &(0..=LATEST * 1000 + 999)).ok_or(())?;
        Ok(Self((UnixMillis(at), operation.parse().map_err(|_| ())?)))
    }
}

impl fmt::Display for LastLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (UnixMillis(at), operation) = self.0;
        write!(f, "{at}:{operation}")
    }
}

impl Cursor for LastLogin {
    fn schema() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[0-9]{1,15}:[0-9a-f-]{36}$"))
    }
}

/// Which logins.
#[derive(Debug)]
pub(crate) struct LoginQuery {
    filter: LoginFilter,
    status: Option<LoginRecordStatus>,
}

impl ReadQuery for LoginQuery {
    fn read(query: &Query<'_>, errors: &mut FieldErrors) -> Self {
        let from = query.integer("from", 0..=LATEST, errors).map(UnixMillis::from_secs);
        let to = query.integer("to", 0..=LATEST, errors).map(UnixMillis::from_secs);
        let status = query.text("status", errors).and_then(|word| {
            let words = "must be `approved`, `declined`, `timeout` or `error`";
            LoginRecordStatus::parse(&word).or_else(|| errors.reject("/status", words))
        });
        let of = query.text("q", errors).and_then(|text| {
            let user = parse_public_key(&text).ok().map(LoginSubject::User);
            let stream = || text.parse::<StreamId>().ok().map(LoginSubject::Stream);
            user.or_else(stream)
                .or_else(|| errors.reject("/q", "must be a main key (64 hex characters) or a stream id"))
        });
        Self { filter: LoginFilter { from, to, of }, status }
    }
}

/// A login that has ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EndedLogin)]
pub(crate) struct Login {
    /// The stream with its events; of a login at a reusable login, that one's. A login at the OpenID Connect provider has no events.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// When it ended, in Unix seconds.
    #[schema(example = 1_732_137_642)]
    at: u64,
    /// How it ended.
    #[schema(pattern = "^(approved|declined|timeout|error)$", example = "approved")]
    status: &'static str,
    /// What the user has proven the key with, or was asked with: `wallet`, `extension` (NIP-07), `signer` (NIP-46) or `passkey`
    /// (WebAuthn).
    #[schema(pattern = "^(wallet|extension|signer|passkey)$", example = "passkey")]
    method: Option<String>,
    /// The app that the user logged in to by OpenID Connect.
    #[schema(example = "Gitea")]
    app: Option<String>,
    /// The user, if a key was named.
    #[schema(pattern = "^[0-9a-f]{64}$", example = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e")]
    main_key: Option<String>,
    /// Why it failed; with `declined` possibly in the user's words.
    #[schema(example = json!(null))]
    reason: Option<String>,
}

impl From<EndedLogin> for Login {
    fn from(EndedLogin { position: (at, _), stream_id, record, .. }: EndedLogin) -> Self {
        Self {
            stream_id: stream_id.to_string(),
            at: at.secs(),
            status: record.status.as_str(),
            method: record.method,
            app: record.app,
            main_key: record.main_key.map(|key| key.to_hex()),
            reason: record.reason,
        }
    }
}

page! {
    /// Logins that have ended.
    LoginList sparse {
        /// The logins, the last first.
        logins: Login,
    }
}

/// Lists the logins that have ended, the last first.
///
/// They stay as long as finished streams (`streams.retention_days`), or until their user is erased, and have neither an address nor
/// a browser. A login that nobody has begun at the OpenID Connect provider or at a reusable login is not in the list.
#[utoipa::path(
    get,
    path = "/logins",
    params(
        ("from" = inline(Option<u64>), Query, maximum = 253_402_300_799_i64,
            description = "Only those that ended at this time or later, in Unix seconds."),
        ("to" = inline(Option<u64>), Query, maximum = 253_402_300_799_i64,
            description = "Only those that ended before this time, in Unix seconds."),
        ("status" = inline(Option<String>), Query, pattern = "^(approved|declined|timeout|error)$",
            description = "Only those that ended so: `approved`, `declined`, `timeout` or `error`."),
        ("q" = inline(Option<String>), Query, description = "Only those of this user (`main_key`), or on this stream (`stream_id`). A \
            request searches 1,000,000 logins: continue while `next` is not `null`."),
        PageQuery<LastLogin>,
    ),
    responses(
        (status = 200, description = "The logins.", body = List),
        (status = 503, description = "`storage_unavailable`"),
    ),
)]
pub(crate) async fn list_logins(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Parameters(query): Parameters<(LoginQuery, PageQuery<LastLogin>)>,
) -> Result<Json<List>, Problem> {
    let (LoginQuery { filter, status }, PageQuery { after, limit }) = query;
    let after = after.map(|LastLogin(position)| position);
    let page = state.engine.logins().list(&requester, filter, status, after, limit).await?;
    Ok(List::page(page.items, page.next.map(LastLogin)))
}
