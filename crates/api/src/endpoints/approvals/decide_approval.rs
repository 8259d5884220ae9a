//! `POST /approvals/{stream_id}`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::request_body;
use usher_engine::request_body::ApprovalWord;
use usher_engine::{DecideError, PendingAudit, Requester, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::auth::Authorization;
use crate::body;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};
use crate::request_log;

impl From<DecideError> for Problem {
    fn from(error: DecideError) -> Self {
        match error {
            DecideError::NotFound => Self::new(
                ErrorCode::ApprovalNotFound,
                "no payment waits for an approval under this id: there is none, it is decided, or it has expired",
            ),
            DecideError::OwnRequest => {
                Self::new(ErrorCode::OwnRequest, "you asked for this payment: somebody else has to approve it")
            }
            DecideError::Store(error) => error.into(),
        }
    }
}

request_body! {
    /// Decides about a payment that waits for an approval.
    pub(crate) struct Body, BodyDraft = "ApprovalDecision", example { "decision": "approve" } {
        /// `approve`: the payment begins. `decline`: it ends unpaid.
        decision: ApprovalWord,
    }
}

/// A decision that was taken.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApprovalDecided)]
pub(crate) struct Decided {
    /// The payment's stream.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// `approve` or `decline`.
    #[schema(pattern = "^(approve|decline)$", example = "approve")]
    decision: &'static str,
}

/// Approves or declines a payment by the service that waits for an approval.
///
/// Approved, the payment goes on as if it had been started now; of two decisions at once the first counts. Declined, its stream gets
/// `{status: "error", reason, outcome: "not_paid"}`. Who asked for a payment cannot approve it, but can decline it. A key approves with its
/// current secret only.
#[utoipa::path(
    post,
    path = "/approvals/{stream_id}",
    params(("stream_id" = String, Path, description = "The payment's stream, as `GET /approvals` lists it.")),
    request_body = Body,
    responses(
        (status = 200, description = "The decision is stored.", body = Decided),
        (status = 403, description = "`own_request`: You asked for this payment, and cannot approve it."),
        (status = 404, description = "`approval_not_found`: No payment waits for an approval under this id: there is none, it is \
            decided, or nobody has approved it in time."),
        (status = 422, description = "`invalid_request`: Some fields are wrong, or the key has a newer secret."),
    ),
)]
pub(crate) async fn decide_approval(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    Extension(authorization): Extension<Authorization>,
    PathParameter(payment): PathParameter<StreamId>,
    body::Json(Body { decision }): body::Json<Body>,
) -> Result<Json<Decided>, Problem> {
    // Text that is not a stream id names no stream.
    let payment = payment.ok_or(DecideError::NotFound)?;
    request_log::record_stream_id(&payment);
    PendingAudit::add_detail("decision", decision.as_str());
    state.tokens.require_current(&authorization)?;
    state.keys.require_current(authorization.key())?;
    let by = authorization.origin();
    let is_revoked = |origin| state.keys.is_revoked(origin);
    state.engine.payments().decline_if_revoked(payment, &is_revoked).await?;
    state.engine.payments().decide(&requester, payment, decision, by).await?;
    Ok(Json(Decided { stream_id: payment.to_string(), decision: decision.as_str() }))
}
