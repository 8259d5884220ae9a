//! `POST /key-handshake`

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::{KeyHandshakeRequest, KeyHandshakeStarted, StartError};
use utoipa::ToSchema;

use crate::ApiState;
use crate::body::{self, JsonBody};
use crate::field_reader::{self, Fields};
use crate::idempotency::IdempotencyContext;
use crate::problem::Problem;
use crate::request_log;
use crate::tasks::{self, TaskLost};

/// Why a handshake did not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Lost(#[from] TaskLost),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let problem: Problem = match self {
            Self::Start(error) => error.into(),
            Self::Lost(error) => error.into(),
        };
        problem.into_response()
    }
}

/// Asks for a handshake URL. Every field is optional, and so is the body.
#[derive(Debug, ToSchema)]
#[schema(as = KeyHandshakeRequest, example = json!({ "static_token": "table-7" }))]
#[expect(dead_code, reason = "describes the body that `JsonBody for KeyHandshakeRequest` reads")]
pub(crate) struct RequestBody {
    /// Makes the URL reusable: every user who opens it is an event on the same stream, and asking again with the
    /// same token gives the same stream and URL. Whoever knows it can make the URL; choose it as you would a name
    /// on a poster, or at random when only those who see the code shall use it.
    #[schema(min_length = 1, max_length = 128, pattern = "^[!-~]+$")]
    static_token: Option<String>,
    /// Handshake only: tells the wallet that no authentication challenge follows.
    #[schema(default = false)]
    no_request: Option<bool>,
}

impl JsonBody for KeyHandshakeRequest {
    const MAY_BE_EMPTY: bool = true;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        Some(Self {
            static_token: fields.optional("static_token", field_reader::visible_ascii::<128>),
            no_request: fields.optional("no_request", field_reader::boolean),
        })
    }
}

/// A handshake that has started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyHandshakeStarted)]
pub(crate) struct Started {
    /// Where to read who completed it: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// The address to show to the user as a QR code or link. Whoever has it can answer in the user's place.
    #[schema(example = "nostr+walletconnect://npub1…?relays=wss%3A%2F%2Frelay.example&token=Yh3kq9…")]
    url: String,
}

impl Started {
    fn on(started: &KeyHandshakeStarted) -> Self {
        Self { stream_id: started.stream_id.to_string(), url: started.url.clone() }
    }
}

/// Makes a handshake URL, by which a user tells the service who they are.
///
/// The stream gets a `KeyHandshake` event `{main_key, preferred_relays}` when a user completes it. A single-use URL
/// (no `static_token`) is done after the first user, or with a `StatusUpdate` `timeout` after
/// `handshake.ttl_seconds`. A key that was handed over is not yet a login: ask for proof with
/// `POST /authenticate-key`.
#[utoipa::path(
    post,
    path = "/key-handshake",
    request_body(content = Option<RequestBody>, description = "No body is the same as `{}`."),
    responses(
        (status = 200, description = "It is stored and has started.", body = Started),
        (status = 503, description = "`storage_unavailable`: The database is unavailable.\n\n\
            `overloaded`: `limits.max_open_streams` are open."),
    ),
)]
pub(crate) async fn create_key_handshake(
    State(state): State<ApiState>,
    idempotency: Option<Extension<IdempotencyContext>>,
    body::Json(request): body::Json<KeyHandshakeRequest>,
) -> Result<Json<Started>, Error> {
    let engine = state.engine.clone();
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(Started::on));
    let started = tasks::run_detached(&state, async move { engine.start_key_handshake(request, once).await }).await??;
    request_log::record_stream_id(&started.stream_id);
    Ok(Json(Started::on(&started)))
}
