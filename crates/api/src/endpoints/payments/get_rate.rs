//! `GET /rates/{currency}`

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use usher_engine::StartError;
use usher_engine::ports::CurrencyCode;
use utoipa::ToSchema;

use crate::ApiState;
use crate::path_parameter::PathParameter;
use crate::problem::Problem;

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
) -> Result<Json<CurrentRate>, Problem> {
    let currency = text.as_deref().and_then(CurrencyCode::parse);
    let rates = state.engine.exchange_rates();
    let configured = currency.zip(rates).filter(|(currency, rates)| rates.currencies().contains(currency));
    let Some((currency, rates)) = configured else {
        return Err(Problem::invalid_field("/currency", state.engine.checks().currencies_with_rates()));
    };
    let rate = rates.rate(currency).map_err(StartError::from)?;
    Ok(Json(CurrentRate {
        currency: currency.to_string(),
        value: rate.value.to_string(),
        source: rate.source,
        at: rate.at.secs(),
    }))
}
