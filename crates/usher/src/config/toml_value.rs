//! Values of settings as TOML has them.

use toml::Spanned;
use toml::de::{DeInteger, DeValue};

use super::setting::Given;

/// A value from a configuration file.
pub fn given(value: &Spanned<DeValue<'_>>) -> Given {
    match value.get_ref() {
        DeValue::String(text) => Given::Text(text.to_string()),
        DeValue::Integer(number) => whole(number).map_or(Given::Unfit, Given::Integer),
        DeValue::Boolean(flag) => Given::Flag(*flag),
        DeValue::Array(items) => {
            let texts = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect::<Option<_>>();
            let numbers =
                || items.iter().map(|item| item.get_ref().as_integer().and_then(whole)).collect::<Option<_>>();
            texts.map(Given::List).or_else(|| numbers().map(Given::Numbers)).unwrap_or(Given::Unfit)
        }
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => Given::Unfit,
    }
}

fn whole(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A value of the table of keys, as it would be given in the file.
pub fn default_value(text: &str) -> Given {
    DeValue::parse(text).map_or(Given::Unfit, |value| given(&value))
}
