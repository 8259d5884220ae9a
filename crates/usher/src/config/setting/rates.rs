//! Sources and currencies of exchange rates.

use serde_json::Value;
use usher_engine::ports::CurrencyCode;
use usher_rates::{RateSource, preset_names};

use super::lists::{are_different, list_setting};
use super::{RawValue, SET, Setting, read_each, text, unfit};

const MAX_SOURCES: usize = 16;

const MAX_CURRENCIES: usize = 16;

/// Sources of exchange rates with unique names, at least one. Their addresses may be secrets.
#[derive(Clone, Debug)]
pub struct RateSources(Vec<RateSource>);

impl RateSources {
    /// The sources.
    pub fn sources(&self) -> &[RateSource] {
        &self.0
    }
}

impl Setting for RateSources {
    fn expected() -> String {
        let names: Vec<_> = preset_names().collect();
        format!(
            "a list of 1 to {MAX_SOURCES} sources, each {} or a table with `url` and `pointer`; in a variable or a file of its own, \
             words separated by commas, or JSON",
            names.join(", ")
        )
    }

    const EXAMPLE: &'static str = "[\"kraken\", \"coinbase\", \"bitstamp\"]";
    const SECRET: bool = true;

    fn read(given: &RawValue) -> Result<Self, String> {
        let given: Vec<Value> = match given {
            RawValue::List(words) => words.iter().map(|word| Value::from(word.as_str())).collect(),
            RawValue::Text(json) | RawValue::Tables(json) if json.trim_start().starts_with('[') => {
                serde_json::from_str::<Vec<Value>>(json).map_err(|_| unfit::<Self>())?
            }
            RawValue::Text(words) => words.split(',').map(|word| Value::from(word.trim())).collect(),
            _ => return Err(unfit::<Self>()),
        };
        if given.is_empty() || given.len() > MAX_SOURCES {
            return Err(unfit::<Self>());
        }
        let twice = "another entry has the same host, and two prices of one source are no second opinion";
        read_each(&given, source, |one, other| one.name() == other.name(), twice).map(Self)
    }

    fn show(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(RateSource::name).collect();
        format!("{SET} ({})", names.join(", "))
    }
}

fn source(entry: &Value) -> Result<RateSource, String> {
    match entry {
        Value::String(word) => RateSource::preset(word).ok_or_else(|| {
            let names: Vec<_> = preset_names().collect();
            format!("it must be one of {}, or a table with `url` and `pointer`", names.join(", "))
        }),
        Value::Object(table) => {
            let text = |key| table.get(key).and_then(Value::as_str);
            let (Some(url), Some(pointer), 2) = (text("url"), text("pointer"), table.len()) else {
                return Err("it must have the texts `url` and `pointer`, and nothing else".to_owned());
            };
            RateSource::new(url, pointer).map_err(|error| error.to_string())
        }
        _ => Err("it must be a word or a table".to_owned()),
    }
}

impl Setting for CurrencyCode {
    fn expected() -> String {
        "a currency code of ISO 4217, such as EUR".to_owned()
    }

    fn read(given: &RawValue) -> Result<Self, String> {
        Self::parse(text::<Self>(given)?).ok_or_else(unfit::<Self>)
    }

    fn show(&self) -> String {
        toml::Value::from(self.as_str()).to_string()
    }
}

list_setting!(
    /// Currencies without duplicates.
    Currencies(CurrencyCode), codes,
    format!("a list of at most {MAX_CURRENCIES} currency codes of ISO 4217, each at most once, separated by commas"),
    "[\"EUR\"]",
    CurrencyCode::parse, |codes| codes.len() <= MAX_CURRENCIES && are_different(codes), CurrencyCode::as_str
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::toml_value::default_value;

    fn names(given: &RawValue) -> Result<Vec<String>, String> {
        RateSources::read(given).map(|read| read.sources().iter().map(|source| source.name().to_owned()).collect())
    }

    #[test]
    fn words_tables_and_json_are_read_alike() {
        let text = |text: &str| RawValue::Text(text.to_owned());
        let table = "{ url = \"https://r.example/{currency}?key=s3cret\", pointer = \"/last\" }";
        let json = "[\"kraken\", {\"url\":\"https://r.example/{currency}?key=s3cret\",\"pointer\":\"/last\"}]";
        for (given, expected) in [
            (default_value(RateSources::EXAMPLE), &["kraken", "coinbase", "bitstamp"][..]),
            (text("kraken, mempool"), &["kraken", "mempool"]),
            (default_value(&format!("[{table}]")), &["r.example"]),
            (default_value(&format!("[\"kraken\", {table}]")), &["kraken", "r.example"]),
            (text(json), &["kraken", "r.example"]),
        ] {
            assert_eq!(names(&given).unwrap(), expected);
        }
        let read = RateSources::read(&text(json)).unwrap();
        assert_eq!(read.show(), "set (kraken, r.example)");
        assert!(!format!("{read:?}").contains("s3cret"));
    }

    #[test]
    fn errors_name_the_entry_and_no_value() {
        for (given, problem) in [
            ("[]", "must be a list of 1 to 16 sources"),
            ("[1]", "must be a list of 1 to 16 sources"),
            ("[\"kraken\", \"s3cret\"]", "entry 2: it must be one of kraken, coinbase"),
            ("[\"kraken\", \"kraken\"]", "entry 2: another entry has the same host"),
            ("[{ url = \"https://s3cret.example/\" }]", "entry 1: it must have the texts `url` and `pointer`"),
            ("[{ url = \"s3cret\", pointer = \"/a\" }]", "entry 1: `url` must be an http(s) URL"),
            ("[{ url = \"https://s3cret.example/\", pointer = \"a\" }]", "entry 1: `pointer` must be a JSON Pointer"),
            ("[{ url = \"https://s3cret.example/{a}\", pointer = \"/a\" }]", "{currency} and {CURRENCY}"),
        ] {
            let error = names(&default_value(given)).unwrap_err();
            assert!(error.contains(problem) && !error.contains("s3cret"), "{given}: {error}");
        }
    }

    #[test]
    fn currencies_are_codes() {
        let read = |text: &str| Currencies::read(&RawValue::Text(text.to_owned()));
        assert_eq!(read("").unwrap().show(), "[]");
        assert_eq!(read("eur, USD").unwrap().show(), r#"["EUR", "USD"]"#);
        for wrong in ["EUR,EUR", "euro", "XAU", "EUR,"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
