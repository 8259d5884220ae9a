use serde::Serialize;
use utoipa::ToSchema;

use crate::ports::ExchangeRate;

/// The exchange rate at which an amount was fixed.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = AppliedRate)]
pub struct RateData {
    /// The price of one bitcoin in the currency's major unit: a decimal number as text, so that nothing rounds it.
    #[schema(pattern = "^[0-9]+(\\.[0-9]+)?$", example = "64123.1")]
    pub value: String,
    /// Where it comes from.
    #[schema(example = "median of kraken, coinbase, bitstamp")]
    pub source: String,
    /// When it was read there, in Unix seconds; the oldest time of several.
    #[schema(example = 1732137600)]
    pub at: u64,
}

impl From<&ExchangeRate> for RateData {
    fn from(rate: &ExchangeRate) -> Self {
        Self { value: rate.value.to_string(), source: rate.source.clone(), at: rate.at.secs() }
    }
}
