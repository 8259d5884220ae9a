//! Endpoints that change something, and the response of those that start an operation.

use axum::extract::FromRequestParts;
use axum::extract::rejection::ExtensionRejection;
use axum::{Extension, Json};
use http::request::Parts;
use serde::Serialize;
use usher_engine::event_data::RateData;
use usher_engine::{Engine, IdempotentRequest, PricedOperation, Requester, StartError, StreamId};
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

/// A request that changes something: who asks, and its `Idempotency-Key`.
pub(crate) struct Change {
    pub(crate) state: ApiState,
    pub(crate) requester: Requester,
    idempotency: Option<IdempotencyContext>,
}

impl FromRequestParts<ApiState> for Change {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ExtensionRejection> {
        let Extension(requester) = Extension::from_request_parts(parts, state).await?;
        let idempotency = parts.extensions.get().cloned();
        Ok(Self { state: state.clone(), requester, idempotency })
    }
}

impl Change {
    /// The response that the engine commits with the change, for a repeated request: `body` makes it of the result.
    pub(crate) fn once<T, B: Serialize>(
        &self,
        body: impl Fn(&T) -> B + Send + Sync + 'static,
    ) -> Option<IdempotentRequest<T>> {
        self.idempotency.clone().map(|idempotency| idempotency.request(body))
    }

    /// Starts an operation by calling `start`, and responds with its stream.
    pub(crate) async fn start(
        self,
        start: impl AsyncFnOnce(&Engine, &Requester, Option<IdempotentRequest<StreamId>>) -> Result<StreamId, StartError>,
    ) -> Result<Json<Started>, Problem> {
        let stream = start(&self.state.engine, &self.requester, self.once(Started::on)).await?;
        request_log::record_stream_id(&stream);
        Ok(Json(Started::on(&stream)))
    }

    /// The same for an operation whose request has an amount in a currency.
    pub(crate) async fn start_priced(
        self,
        start: impl AsyncFnOnce(
            &Engine,
            &Requester,
            Option<IdempotentRequest<PricedOperation>>,
        ) -> Result<PricedOperation, StartError>,
    ) -> Result<Json<PricedStarted>, Problem> {
        let started = start(&self.state.engine, &self.requester, self.once(PricedStarted::on)).await?;
        request_log::record_stream_id(&started.stream_id);
        Ok(Json(PricedStarted::on(&started)))
    }
}
