//! `GET /rates/{currency}`

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use usher_engine::ports::{CurrencyCode, RateUnavailable};
use usher_engine::{FieldError, StartError};
use utoipa::ToSchema;

use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;

/// Why there is no rate to return.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the currency is not configured")]
    Currency(String),
    #[error(transparent)]
    Unavailable(#[from] RateUnavailable),
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        match self {
            Self::Currency(detail) => Problem::invalid(vec![FieldError { pointer: "/currency".to_owned(), detail }]),
            Self::Unavailable(error) => StartError::from(error).into(),
        }
        .into_response()
    }
}

/// The price of one bitcoin.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CurrentRate)]
pub(crate) struct CurrentRate {
    /// The code of the currency (ISO 4217).
    #[schema(example = "EUR")]
    currency: String,
    /// The price of one bitcoin in the currency's major unit: a decimal number as text, so that nothing rounds it.
    #[schema(pattern = "^[0-9]+(\\.[0-9]+)?$", example = "64123.1")]
    value: String,
    /// Where it comes from.
    #[schema(example = "median of kraken, coinbase, bitstamp")]
    source: String,
    /// When it was read there, in Unix seconds; the oldest time of several.
    #[schema(example = 1732137600)]
    at: u64,
}

/// Returns the exchange rate of a currency.
///
/// It is the rate at which a request that comes now is priced: the median of the configured sources (`rates.sources`), without
/// those that are more than 2 % away from it.
#[utoipa::path(
    get,
    path = "/rates/{currency}",
    params(("currency" = String, Path, format = "currency-code", pattern = "^[A-Za-z]{3}$",
        description = "One of `rates.currencies`, in either case.")),
    responses(
        (status = 200, description = "The rate.", body = CurrentRate),
        (status = 422, description = "`invalid_request`: It is none of `rates.currencies`."),
        (status = 503, description = "`rate_unavailable`: The sources disagree, or none has had a price within ten minutes."),
    ),
)]
pub(crate) async fn get_rate(
    State(state): State<ApiState>,
    PathParameter(text): PathParameter,
) -> Result<Json<CurrentRate>, Error> {
    let currency = text.as_deref().and_then(CurrencyCode::parse);
    let rates = state.engine.exchange_rates();
    let configured = currency.zip(rates).filter(|(currency, rates)| rates.currencies().contains(currency));
    let Some((currency, rates)) = configured else {
        return Err(Error::Currency(state.engine.checks().currencies_with_rates()));
    };
    let rate = rates.rate(currency)?;
    Ok(Json(CurrentRate {
        currency: currency.to_string(),
        value: rate.value.to_string(),
        source: rate.source,
        at: rate.at.secs(),
    }))
}
