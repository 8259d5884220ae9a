//! Conversion of values from TOML.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use super::setting::RawValue;

/// A value from a configuration file.
pub fn given(value: &Spanned<DeValue<'_>>) -> RawValue {
    match value.get_ref() {
        DeValue::String(text) => RawValue::Text(text.to_string()),
        DeValue::Integer(number) => whole(number).map_or(RawValue::UnsupportedType, RawValue::Integer),
        DeValue::Boolean(flag) => RawValue::Flag(*flag),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect::<Option<_>>();
            let numbers =
                || items.iter().map(|item| item.get_ref().as_integer().and_then(whole)).collect::<Option<_>>();
            let tables = || {
                let is_tables = items.iter().all(|item| item.get_ref().is_table() || item.get_ref().is_str());
                is_tables.then(|| json(value.get_ref()))?.map(|json| json.to_string())
            };
            let list = texts.map(RawValue::List).or_else(|| numbers().map(RawValue::Numbers));
            list.or_else(|| tables().map(RawValue::Tables)).unwrap_or(RawValue::UnsupportedType)
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => RawValue::UnsupportedType,
    }
}

/// A value as JSON; `None` if it contains a fraction or a date.
fn json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => Value::from(i64::try_from(whole(number)?).ok()?),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Array(items) => Value::Array(items.iter().map(|item| json(item.get_ref())).collect::<Option<_>>()?),
        DeValue::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| Some((key.get_ref().to_string(), json(value.get_ref())?)))
                .collect::<Option<_>>()?,
        ),
        DeValue::Float(_) | DeValue::Datetime(_) => return None,
    })
}

fn whole(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A value of the table of keys, parsed as in the file.
pub fn default_value(text: &str) -> RawValue {
    DeValue::parse(text).map_or(RawValue::UnsupportedType, |value| given(&value))
}

/// A shown value as JSON: a text as it is, if it is no TOML.
pub fn shown_value(text: &str) -> Value {
    DeValue::parse(text).ok().and_then(|value| json(value.get_ref())).unwrap_or_else(|| text.into())
}
