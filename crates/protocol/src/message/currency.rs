use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{serde_helpers, text};

const MILLISATS: &str = "Millisats";

/// Longest fiat code, in bytes; ISO 4217 has three letters.
const MAX_FIAT_CODE_BYTES: usize = 16;

/// The unit of an amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Currency {
    /// Thousandths of a satoshi.
    Millisats,
    /// The smallest unit of a fiat currency.
    Fiat(FiatCode),
}

/// The code of a fiat currency: 1 to 16 letters and digits, other than the code for millisats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiatCode(String);

/// A text is not a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a currency")]
pub struct NotACurrency;

impl FiatCode {
    /// The code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Currency {
    type Err = NotACurrency;

    fn from_str(text: &str) -> Result<Self, NotACurrency> {
        if text.eq_ignore_ascii_case(MILLISATS) {
            return Ok(Self::Millisats);
        }
        if !(1..=MAX_FIAT_CODE_BYTES).contains(&text.len()) || !text.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(NotACurrency);
        }
        Ok(Self::Fiat(FiatCode(text.to_owned())))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Millisats => MILLISATS,
            Self::Fiat(code) => code.as_str(),
        })
    }
}

crate::text_in_json!(Currency);

/// The exchange rate of a fiat amount at the time of the request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExchangeRate {
    /// The rate, as given by its source.
    pub rate: f64,
    /// The source of the rate.
    #[serde(deserialize_with = "serde_helpers::words::<_, { text::MAX_LABEL_CHARS }>")]
    pub source: String,
    /// The time of the rate, in Unix seconds.
    #[serde(with = "serde_helpers::timestamp")]
    pub time: u64,
}
