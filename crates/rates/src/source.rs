use std::fmt;

use url::Url;
use usher_engine::ports::CurrencyCode;

use crate::presets::{PRESETS, Preset};

/// A source of prices: a JSON document per currency, and the position of the price in it.
#[derive(Clone, PartialEq, Eq)]
pub struct RateSource {
    name: String,
    url: String,
    pointer: String,
    currencies: Option<&'static [&'static str]>,
}

/// Why a source is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSource {
    /// The URL is invalid.
    #[error("`url` must be an http(s) URL without user name and password")]
    Url,
    /// A text in braces is not a placeholder.
    #[error("`url` must have nothing in braces but {{currency}} and {{CURRENCY}}")]
    Placeholder,
    /// The host differs between currencies.
    #[error("`url` must have no placeholder in its host")]
    Host,
    /// The pointer is invalid.
    #[error("`pointer` must be a JSON Pointer, such as `/data/amount`")]
    Pointer,
}

impl RateSource {
    /// The source of this preset.
    pub fn preset(name: &str) -> Option<Self> {
        let Preset { name, url, pointer, currencies } = PRESETS.iter().find(|preset| preset.name == name)?;
        Some(Self {
            name: (*name).to_owned(),
            url: (*url).to_owned(),
            pointer: (*pointer).to_owned(),
            currencies: *currencies,
        })
    }

    /// A custom source. In URL and JSON Pointer (RFC 6901), `{CURRENCY}` stands for the currency's code in upper case
    /// and `{currency}` in lower case.
    ///
    /// # Errors
    /// If the URL or the pointer is invalid.
    pub fn new(url: &str, pointer: &str) -> Result<Self, InvalidSource> {
        if !(pointer.is_empty() || pointer.starts_with('/')) {
            return Err(InvalidSource::Pointer);
        }
        let filled = ["EUR", "USD"].map(|code| fill(url, code));
        if filled.iter().any(|url| url.contains(['{', '}'])) {
            return Err(InvalidSource::Placeholder);
        }
        let [one, other] = filled.map(|url| plain_url(&url));
        let (one, other) = one.zip(other).ok_or(InvalidSource::Url)?;
        if one.origin() != other.origin() {
            return Err(InvalidSource::Host);
        }
        let host = one.host_str().unwrap_or_default();
        let name = one.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Self { name, url: url.to_owned(), pointer: pointer.to_owned(), currencies: None })
    }

    /// The preset's name, or the host, with the port unless it is the default.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may have a price in this currency.
    pub fn offers(&self, currency: CurrencyCode) -> bool {
        self.currencies.is_none_or(|currencies| currencies.contains(&currency.as_str()))
    }

    /// The document's URL for this currency, which may contain a secret.
    pub fn url(&self, currency: CurrencyCode) -> String {
        fill(&self.url, currency.as_str())
    }

    pub(crate) fn pointer(&self, currency: CurrencyCode) -> String {
        fill(&self.pointer, currency.as_str())
    }
}

impl fmt::Debug for RateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RateSource").field(&self.name).finish()
    }
}

fn fill(template: &str, code: &str) -> String {
    template.replace("{CURRENCY}", code).replace("{currency}", &code.to_ascii_lowercase())
}

fn plain_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none();
    is_plain.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn euro() -> CurrencyCode {
        CurrencyCode::parse("EUR").unwrap()
    }

    #[test]
    fn placeholders_are_filled() {
        let source = RateSource::new("https://r.example:8443/{currency}?in={CURRENCY}&key=s3cret", "/{CURRENCY}/0");
        let source = source.unwrap();
        assert_eq!(source.name(), "r.example:8443");
        assert_eq!(source.url(euro()), "https://r.example:8443/eur?in=EUR&key=s3cret");
        assert_eq!(source.pointer(euro()), "/EUR/0");
        assert!(!format!("{source:?}").contains("s3cret"));
    }

    #[test]
    fn other_urls_and_pointers_are_refused() {
        for (url, pointer, error) in [
            ("r.example", "/a", InvalidSource::Url),
            ("ftp://r.example/", "/a", InvalidSource::Url),
            ("https://me:s3cret@r.example/", "/a", InvalidSource::Url),
            ("https://r.example/{code}", "/a", InvalidSource::Placeholder),
            ("https://r.example/{Currency}", "/a", InvalidSource::Placeholder),
            ("https://{currency}.r.example/", "/a", InvalidSource::Host),
            ("https://r.example/", "a", InvalidSource::Pointer),
        ] {
            assert_eq!(RateSource::new(url, pointer), Err(error), "{url} {pointer}");
        }
    }
}
