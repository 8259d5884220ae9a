//! `DELETE /payment-links/{stream_id}`

use axum::extract::State;
use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::{CloseLinkError, Requester, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::{ErrorCode, Problem};
use crate::request_log;

impl From<CloseLinkError> for Problem {
    fn from(error: CloseLinkError) -> Self {
        match error {
            CloseLinkError::NotFound => {
                Self::new(ErrorCode::StreamNotFound, "there is no payment link with this stream")
            }
            CloseLinkError::Store(error) => error.into(),
        }
    }
}

/// A closed payment link.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PaymentLinkClosed)]
pub(crate) struct Closed {
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// `closed`.
    #[schema(pattern = "^closed$", example = "closed")]
    status: &'static str,
}

/// Closes a payment link.
///
/// It gives out no more invoices, and its stream is done; there is no event for this. An invoice that was given out before can still
/// be paid, and the payment is an event as any other. A link that is already closed gets the same response.
#[utoipa::path(
    delete,
    path = "/payment-links/{stream_id}",
    params(("stream_id" = String, Path, description = "The `stream_id` of `POST /payment-links`.")),
    responses(
        (status = 200, description = "The link is closed.", body = Closed),
        (status = 404, description = "`stream_not_found`: There is no payment link with this stream, or it was removed \
            after `streams.retention_days`."),
    ),
)]
pub(crate) async fn close_payment_link(
    State(state): State<ApiState>,
    Extension(requester): Extension<Requester>,
    PathParameter(stream): PathParameter<StreamId>,
) -> Result<Json<Closed>, Problem> {
    // Text that is not a stream id names no stream.
    let stream = stream.ok_or(CloseLinkError::NotFound)?;
    request_log::record_stream_id(&stream);
    state.engine.payment_links().close(&requester, stream).await?;
    Ok(Json(Closed { stream_id: stream.to_string(), status: "closed" }))
}
