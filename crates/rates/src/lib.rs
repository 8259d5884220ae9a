//! Exchange rates of bitcoin from several sources, behind the port [`ExchangeRates`](usher_engine::ports::ExchangeRates).
//!
//! One task reads all sources of all currencies every `rates.refresh_seconds`, and the last price of each source is
//! kept with its time. The rate is the median of the prices that are younger than ten minutes, as `agreement.rs`
//! describes; if the sources disagree, there is none. All arithmetic is decimal.

mod agreement;
mod fetch;
mod median_rates;
mod presets;
mod price_reader;
mod source;

pub use fetch::SourceFailure;
pub use median_rates::{CurrencyStatus, MedianRates, RateOptions, SourceStatus};
pub use presets::preset_names;
pub use price_reader::PriceError;
pub use source::{InvalidSource, RateSource};

#[cfg(test)]
mod tests;
