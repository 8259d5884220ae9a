//! Amounts as LNURL servers write them: `1000`, `1000.0`, `1e11`, or any of these as a string.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected};
use serde_json::Value;

pub(crate) fn rounded_up<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    read(deserializer, f64::ceil)
}

pub(crate) fn rounded_down<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    read(deserializer, f64::floor)
}

/// Saturates at `u64::MAX`.
fn read<'de, D: Deserializer<'de>>(deserializer: D, round: fn(f64) -> f64) -> Result<u64, D::Error> {
    let text = match Value::deserialize(deserializer)? {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return Err(D::Error::invalid_type(Unexpected::Other("no number"), &"a number")),
    };
    if let Ok(whole) = text.parse() {
        return Ok(whole);
    }
    let number = text.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
    let rounded = round(number.ok_or_else(|| D::Error::invalid_value(Unexpected::Other("no amount"), &"an amount"))?);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative, and capped")]
    Ok(rounded as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::{Deserializer, from_str};

    use super::*;

    #[test]
    fn numbers_are_read_however_they_are_written() {
        for (written, up, down) in [
            ("1000", 1_000, 1_000),
            ("1000.0", 1_000, 1_000),
            ("1e11", 100_000_000_000, 100_000_000_000),
            ("1E+3", 1_000, 1_000),
            ("\"1000\"", 1_000, 1_000),
            ("\" 1000.0 \"", 1_000, 1_000),
            ("\"1e11\"", 100_000_000_000, 100_000_000_000),
            ("999.5", 1_000, 999),
            ("0", 0, 0),
            ("-0", 0, 0),
            ("18446744073709551615", u64::MAX, u64::MAX),
            ("18446744073709551616", u64::MAX, u64::MAX),
            ("1e40", u64::MAX, u64::MAX),
        ] {
            assert_eq!(rounded_up(&mut Deserializer::from_str(written)).unwrap(), up, "{written}");
            assert_eq!(rounded_down(&mut Deserializer::from_str(written)).unwrap(), down, "{written}");
        }
        for wrong in
            ["-1", "\"-1\"", "null", "true", "[1]", "\"\"", "\"x\"", "\"inf\"", "\"NaN\"", "\"1e999\"", "\"1,000\""]
        {
            assert!(from_str::<Value>(wrong).is_ok());
            assert!(rounded_up(&mut Deserializer::from_str(wrong)).is_err(), "{wrong}");
        }
    }
}
