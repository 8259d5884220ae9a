//! `POST /payments/{stream_id}/refund`

use axum::Json;
use serde::Serialize;
use usher_engine::access::Role;
use usher_engine::{Engine, RefundError, RefundRequest, Requester, StreamId};
use utoipa::ToSchema;

use crate::body;
use crate::endpoints::change::Change;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};
use crate::request_log;

impl From<RefundError> for Problem {
    fn from(error: RefundError) -> Self {
        match error {
            RefundError::NoPayment => Self::new(ErrorCode::StreamNotFound, "no payment to the service has this stream"),
            RefundError::NotPaid => Self::new(ErrorCode::PaymentNotPaid, "the payment is not paid"),
            RefundError::NothingLeft => {
                Self::new(ErrorCode::PaymentRefunded, "all of the payment is refunded, or is being refunded")
            }
            RefundError::Start(error) => error.into(),
        }
    }
}

/// A refund that has started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RefundStarted)]
pub(crate) struct Started {
    /// Where to read its events: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// A page for the payer's browser, on which they name an invoice. Anybody who has it can have the money paid to themselves.
    #[schema(example = "https://login.example/refund/01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11/5b0c…")]
    page_url: String,
}

impl Started {
    fn on(engine: &Engine, stream: StreamId) -> Self {
        Self { stream_id: stream.to_string(), page_url: engine.payments().refund_page_url(stream) }
    }
}

/// Pays a payment back, in full or in part.
///
/// The money goes to an invoice of the payer's. The wallet that was asked to pay is asked for one, and the payer can name one on
/// `page_url`: send them there if they paid with another wallet. Give the address to nobody else. The service's Lightning backend
/// pays the first invoice that fits, within `wallet.daily_budget_millisats`; the refund takes its share of the budget when it
/// starts. All refunds of a payment together never exceed what was paid for it. Above `wallet.approval_above_millisats` the stream
/// first gets `{status: "approval_required"}`, and the payer is asked when somebody else approves (`POST /approvals/{stream_id}`).
///
/// The stream gets `StatusUpdate` events: `{status: "user_failed", reason}` for an invoice that cannot be used, or that is proven not
/// to have been paid, after which another is asked for; `{status: "user_approved"}` when there is one; and finally one of `{status: "paid", preimage}`, `{status: "timeout", reason}` and
/// `{status: "error", reason, outcome}`, as for a payment by the Lightning backend. After `timeout`, and after `error` with the
/// outcome `not_paid`, the payment can be refunded again.
#[utoipa::path(
    post,
    path = "/payments/{stream_id}/refund",
    params(("stream_id" = String, Path, description = "The stream of the payment: of `POST /payments/single`, or as `GET /payments` lists it.")),
    request_body = RefundRequest,
    responses(
        (status = 200, description = "The refund is stored and has started.", body = Started),
        (status = 404, description = "`stream_not_found`: No payment to the service has this stream, or it was removed after \
            `payments.records_days`."),
        (status = 409, description = "`payment_not_paid`\n\n`payment_refunded`: All of it is refunded, or is being refunded."),
        (status = 429, description = "`budget_exhausted`: Too little is left of `wallet.daily_budget_millisats`."),
        (status = 503, description = "`wallet_not_configured`\n\n`storage_unavailable`\n\n`overloaded`"),
    ),
)]
pub(crate) async fn refund_payment(
    change: Change,
    PathParameter(payment): PathParameter<StreamId>,
    body::OptionalJson(request): body::OptionalJson<RefundRequest>,
) -> Result<Json<Started>, Problem> {
    // Text that is not a stream id names no stream.
    let payment = payment.ok_or(RefundError::NoPayment)?;
    let is_support = matches!(&change.requester, Requester::Key { terms, .. } if terms.role == Some(Role::Support));
    if is_support && !change.state.engine.payments().has_approval_limit() {
        let detail = "set wallet.approval_above_millisats: without it, nothing limits what the role support refunds";
        return Err(Problem::new(ErrorCode::RoleNotAllowed, detail));
    }
    let engine = change.state.engine.clone();
    let once = change.once(move |stream: &StreamId| Started::on(&engine, *stream));
    let stream = change.state.engine.payments().refund(&change.requester, payment, request, once).await?;
    request_log::record_stream_id(&stream);
    Ok(Json(Started::on(&change.state.engine, stream)))
}
