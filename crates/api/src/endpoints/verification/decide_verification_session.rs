//! `POST /verification/sessions/{session_id}/decision`

use axum::Json;
use serde::Serialize;
use usher_engine::operations::AgeDecision;
use usher_engine::request_body;
use usher_engine::request_body::{DecisionWord, Description};
use usher_engine::{DecisionError, StreamId};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;
use crate::request_log;

request_body! {
    /// Decides an age verification session.
    pub(crate) struct Body, BodyDraft = "VerificationDecision", example { "decision": "approve" } {
        /// `approve`: the user is old enough. `reject`: the user is not, or has not shown it.
        decision: DecisionWord,
        /// With `reject`: why, for the app; at most 639 bytes of UTF-8. Do not name the user or the date of birth.
        reason: Option<Description>,
    }
}

/// A session that was decided.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VerificationDecided)]
pub(crate) struct Decided {
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    session_id: String,
    /// `approved` or `rejected`.
    #[schema(pattern = "^(approved|rejected)$", example = "approved")]
    status: &'static str,
}

impl Decided {
    fn by(session: StreamId, decision: &AgeDecision) -> Self {
        let status = match decision {
            AgeDecision::Approved => "approved",
            AgeDecision::Rejected { .. } => "rejected",
        };
        Self { session_id: session.to_string(), status }
    }
}

/// Decides an open age verification session.
///
/// For your staff, with `verification.provider = "manual"`; with another provider, they can decide in its place while the
/// session is open. A session is decided once. Its stream then gets the result.
#[utoipa::path(
    post,
    path = "/verification/sessions/{session_id}/decision",
    params(("session_id" = String, Path, description = "The `session_id` of `POST /verification/sessions`.")),
    request_body = Body,
    responses(
        (status = 200, description = "The decision is stored.", body = Decided),
        (status = 404, description = "`session_not_found`: There is no such session, or it was removed after \
            `streams.retention_days`."),
        (status = 409, description = "`session_decided`: The session is decided already.\n\n\
            `session_expired`: Nobody decided before `expires_at`."),
    ),
)]
pub(crate) async fn decide_verification_session(
    change: Change,
    PathParameter(session): PathParameter<StreamId>,
    body::Json(Body { decision, reason }): body::Json<Body>,
) -> Result<Json<Decided>, Problem> {
    let decision = if decision { AgeDecision::Approved } else { AgeDecision::Rejected { reason } };
    // Text that is not an id names no session.
    let session = session.ok_or(DecisionError::NotFound)?;
    request_log::record_stream_id(&session);
    let once = change.once(move |decision| Decided::by(session, decision));
    change.state.engine.verification().decide(&change.requester, session, &decision, once).await?;
    Ok(Json(Decided::by(session, &decision)))
}
