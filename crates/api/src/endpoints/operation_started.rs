//! Endpoints that start an operation: what they do, and their response.

use std::sync::Arc;

use axum::{Extension, Json};
use serde::Serialize;
use usher_engine::event_data::RateData;
use usher_engine::{Engine, IdempotentRequest, PricedOperation, StartError, StreamId};
use utoipa::ToSchema;

use crate::ApiState;
use crate::idempotency::IdempotencyContext;
use crate::problem::Problem;
use crate::request_log;

/// An operation that has started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StreamStarted)]
pub(crate) struct Started {
    /// Where to read its events: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
}

impl Started {
    fn on(stream: &StreamId) -> Self {
        Self { stream_id: stream.to_string() }
    }
}

/// An operation that has started, with its price.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PricedStreamStarted)]
pub(crate) struct PricedStarted {
    /// Where to read its events: `GET /events/{stream_id}`.
    #[schema(format = "uuid", example = "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11")]
    stream_id: String,
    /// If requested in another currency than millisats: the amount, in its unit (sats, or the minor unit).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 1250)]
    amount: Option<u64>,
    /// If requested in another currency than millisats: the currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "EUR")]
    currency: Option<String>,
    /// If requested in another currency than millisats: what it came to now, in millisats.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = 20000000)]
    amount_millisats: Option<u64>,
    /// If requested in another currency than millisats and sats: at which rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate: Option<RateData>,
}

impl PricedStarted {
    fn on(started: &PricedOperation) -> Self {
        let price = started.price.as_ref();
        Self {
            stream_id: started.stream_id.to_string(),
            amount: price.map(|price| price.amount),
            currency: price.map(|price| price.currency.to_string()),
            amount_millisats: price.map(|price| price.amount_millisats),
            rate: price.and_then(|price| price.rate.as_ref()).map(Into::into),
        }
    }
}

/// As [`start_operation`], for an operation whose request has an amount in a currency.
pub(crate) async fn start_priced_operation<F>(
    state: &ApiState,
    idempotency: Option<Extension<IdempotencyContext>>,
    start: impl FnOnce(Arc<Engine>, Option<IdempotentRequest<PricedOperation>>) -> F,
) -> Result<Json<PricedStarted>, Problem>
where
    F: Future<Output = Result<PricedOperation, StartError>>,
{
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(PricedStarted::on));
    let started = start(Arc::clone(&state.engine), once).await?;
    request_log::record_stream_id(&started.stream_id);
    Ok(Json(PricedStarted::on(&started)))
}

/// Starts an operation by calling `start`, and responds with its stream.
pub(crate) async fn start_operation<F>(
    state: &ApiState,
    idempotency: Option<Extension<IdempotencyContext>>,
    start: impl FnOnce(Arc<Engine>, Option<IdempotentRequest<StreamId>>) -> F,
) -> Result<Json<Started>, Problem>
where
    F: Future<Output = Result<StreamId, StartError>>,
{
    let once = idempotency.map(|Extension(idempotency)| idempotency.request(Started::on));
    let stream = start(Arc::clone(&state.engine), once).await?;
    request_log::record_stream_id(&stream);
    Ok(Json(Started::on(&stream)))
}
