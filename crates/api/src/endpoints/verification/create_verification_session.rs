//! `POST /verification/sessions`

use axum::Json;
use serde::Serialize;
use usher_engine::{VerificationSessionRequest, VerificationSessionStarted};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::problem::Problem;
use crate::request_log;

/// An age verification session that is open.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VerificationSession)]
pub(crate) struct Session {
    /// Its id, for `POST /verification/sessions/{session_id}/decision`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    session_id: String,
    /// Redirect the user to this page. Anybody who has the URL can act in the user's place: do not log it.
    #[schema(example = "https://usher.example/verify/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/Yh3kq9…")]
    session_url: String,
    /// The session's own Nostr key (NIP-19), which replies with the result.
    #[schema(example = "npub1…")]
    ephemeral_npub: String,
    /// Unix seconds until which the session can be decided.
    #[schema(example = 1_732_137_600)]
    expires_at: u64,
    /// Where to read the result: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
}

impl Session {
    fn of(started: &VerificationSessionStarted) -> Self {
        Self {
            session_id: started.session_id.to_string(),
            session_url: started.session_url.clone(),
            ephemeral_npub: started.ephemeral_npub.clone(),
            expires_at: started.expires_at.secs(),
            stream_id: started.session_id.to_string(),
        }
    }
}

/// Opens an age verification session.
///
/// Redirect the user to `session_url`. The stream gets one event: `CashuResponse` with `status` `success` and the proof as
/// `token`, `rejected` with a `reason`, or `insufficient_funds` when the user has passed but no proof could be issued (`passed`
/// is true or false in each); or `StatusUpdate` `{status: "timeout"}` when nobody decides before `expires_at`. Redeem the proof at once with
/// `POST /cashu/burn`, so that nobody can use it again.
///
/// With `return_url` the page leads the user's browser back to your app at the end. It only says that the user is back: read the
/// result from the stream.
///
/// Who decides is configured as `verification.provider`. The service keeps nothing about the user but the result.
#[utoipa::path(
    post,
    path = "/verification/sessions",
    request_body(content = Option<VerificationSessionRequest>, description = "An empty body means `{}`."),
    responses(
        (status = 200, description = "The session is stored and open.", body = Session),
        (status = 503, description = "`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn create_verification_session(
    change: Change,
    body::OptionalJson(request): body::OptionalJson<VerificationSessionRequest>,
) -> Result<Json<Session>, Problem> {
    let once = change.once(Session::of);
    let started = change.state.engine.verification().start(&change.requester, request, once).await?;
    request_log::record_stream_id(&started.session_id);
    Ok(Json(Session::of(&started)))
}
