//! Reads the price in a document without floating-point conversion.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde_json::value::RawValue;

/// Highest plausible price of a bitcoin, in any currency.
const MAX_PRICE: u64 = 1_000_000_000_000_000;

/// Decimal places of a price; further ones are rounded.
const DECIMALS: u32 = 8;

/// Longest text of a number: more than [`Decimal`] holds.
const MAX_CHARS: usize = 48;

/// The largest exponent of ten of a JSON number.
const MAX_EXPONENT: u32 = 20;

/// Why a document has no price. Contains nothing of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// It is not JSON.
    #[error("its response is not JSON")]
    NotJson,
    /// The pointer does not match.
    #[error("its response has no value at the pointer")]
    Missing,
    /// It is neither a number nor a string of decimal digits.
    #[error("the value at the pointer is not a number")]
    NotANumber,
    /// It has more digits, or a larger exponent, than any price.
    #[error("the value at the pointer has more digits than any price")]
    TooManyDigits,
    /// It is zero or negative.
    #[error("the value at the pointer is not more than zero")]
    NotPositive,
    /// It is larger than any price.
    #[error("the value at the pointer is larger than any price")]
    TooLarge,
}

/// The price at this JSON Pointer: a JSON number, or a string of decimal digits.
pub(crate) fn read(document: &[u8], pointer: &str) -> Result<Decimal, PriceError> {
    let text = std::str::from_utf8(document).map_err(|_| PriceError::NotJson)?;
    let mut value: &RawValue = serde_json::from_str(text).map_err(|_| PriceError::NotJson)?;
    for token in pointer.split('/').skip(1) {
        value = member(value.get(), &token.replace("~1", "/").replace("~0", "~")).ok_or(PriceError::Missing)?;
    }
    price(value.get())
}

/// The member of an object with this name, or the element of an array with this index.
fn member<'a>(value: &'a str, token: &str) -> Option<&'a RawValue> {
    if value.starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(value).ok()?;
        elements.get(token.parse::<usize>().ok()?).copied()
    } else {
        // Other values have no members.
        let mut members: BTreeMap<String, &RawValue> = serde_json::from_str(value).ok()?;
        members.remove(token)
    }
}

fn price(json: &str) -> Result<Decimal, PriceError> {
    let number = if json.starts_with('"') {
        let text: String = serde_json::from_str(json).map_err(|_| PriceError::NotANumber)?;
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let mut parts = digits.splitn(2, '.');
        if !parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())) {
            return Err(PriceError::NotANumber);
        }
        decimal(&text)?
    } else if json.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        decimal(json)?
    } else {
        return Err(PriceError::NotANumber);
    };
    if number > Decimal::from(MAX_PRICE) {
        return Err(PriceError::TooLarge);
    }
    let rounded = number.round_dp(DECIMALS).normalize();
    if rounded > Decimal::ZERO { Ok(rounded) } else { Err(PriceError::NotPositive) }
}

/// Parses a well-formed number.
fn decimal(text: &str) -> Result<Decimal, PriceError> {
    if text.len() > MAX_CHARS {
        return Err(PriceError::TooManyDigits);
    }
    let exact = |text: &str| Decimal::from_str_exact(text).map_err(|_| PriceError::TooManyDigits);
    let Some((digits, exponent)) = text.split_once(['e', 'E']) else { return exact(text) };
    let number = exact(digits)?;
    let exponent: i32 = exponent.parse().map_err(|_| PriceError::TooManyDigits)?;
    if exponent.unsigned_abs() > MAX_EXPONENT {
        return Err(PriceError::TooManyDigits);
    }
    let power = Decimal::from(10_u128.pow(exponent.unsigned_abs()));
    let scaled = if exponent < 0 { number.checked_div(power) } else { number.checked_mul(power) };
    scaled.ok_or(PriceError::TooManyDigits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(document: &str, pointer: &str) -> Result<String, PriceError> {
        read(document.as_bytes(), pointer).map(|price| price.to_string())
    }

    #[test]
    fn numbers_and_strings_of_digits_are_read_exactly() {
        for (document, pointer, price) in [
            ("64123.1", "", "64123.1"),
            (r#"{"last":"64123.10000"}"#, "/last", "64123.1"),
            (r#"{"result":{"XXBTZEUR":{"c":["64000.1","0.01"]}}}"#, "/result/XXBTZEUR/c/0", "64000.1"),
            ("[1,2,3,4,5,6,64000,8]", "/6", "64000"),
            (r#"{"a/b":{"~":[{"":1}]}}"#, "/a~1b/~0/0/", "1"),
            ("6.4E4", "", "64000"),
            ("6412310e-2", "", "64123.1"),
            ("0.00000001", "", "0.00000001"),
            ("64123.123456785", "", "64123.12345678"),
            ("1000000000000000", "", "1000000000000000"),
            // Numbers that floating-point conversion would round.
            ("900719925474099.3", "", "900719925474099.3"),
        ] {
            assert_eq!(at(document, pointer).as_deref(), Ok(price), "{document}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        use PriceError::{Missing, NotANumber, NotJson, NotPositive, TooLarge, TooManyDigits};
        for (document, pointer, error) in [
            ("", "", NotJson),
            ("<html>", "", NotJson),
            ("{\"a\":1", "/a", NotJson),
            ("\u{feff}1", "", NotJson),
            ("NaN", "", NotJson),
            ("01", "", NotJson),
            ("{}", "/a", Missing),
            ("[1]", "/1", Missing),
            ("[1]", "/-1", Missing),
            ("1", "/a", Missing),
            ("\"text\"", "/0", Missing),
            ("{}", "", NotANumber),
            ("[]", "", NotANumber),
            ("null", "", NotANumber),
            ("true", "", NotANumber),
            ("\"\"", "", NotANumber),
            ("\".\"", "", NotANumber),
            ("\"1.2.3\"", "", NotANumber),
            ("\"NaN\"", "", NotANumber),
            ("\"Infinity\"", "", NotANumber),
            ("\"64,000.10\"", "", NotANumber),
            ("\"6_4\"", "", NotANumber),
            ("\"6e4\"", "", NotANumber),
            ("\"+64000\"", "", NotANumber),
            ("\"٦٤\"", "", NotANumber),
            ("0", "", NotPositive),
            ("-0", "", NotPositive),
            ("0e5", "", NotPositive),
            ("\"0.00\"", "", NotPositive),
            ("-64000", "", NotPositive),
            ("\"-64000\"", "", NotPositive),
            ("0.000000001", "", NotPositive),
            ("1000000000000001", "", TooLarge),
            ("9e20", "", TooLarge),
            ("1e999999999", "", TooManyDigits),
            ("1e-999999999", "", TooManyDigits),
            ("1e99999999999999999999", "", TooManyDigits),
            ("123456789012345678901234567890", "", TooManyDigits),
            ("1.23456789012345678901234567890", "", TooManyDigits),
            ("111111111111111111111111111111111111111111111111111", "", TooManyDigits),
        ] {
            assert_eq!(at(document, pointer), Err(error), "{document}");
        }
    }

    #[test]
    fn deep_documents_end() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(at(&deep, &"/0".repeat(50)), Err(PriceError::NotANumber));
    }
}
