//! Allowed targets of redirects from pages.

use url::Url;

use super::{RawValue, Setting, entries, unfit};

/// The most entries of a list.
const MAX_ENTRIES: usize = 32;

/// Addresses under which pages may redirect a browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnUrls(Vec<Url>);

impl ReturnUrls {
    /// The addresses.
    pub fn urls(&self) -> &[Url] {
        &self.0
    }
}

impl Setting for ReturnUrls {
    fn expected() -> String {
        format!(
            "a list of at most {MAX_ENTRIES} http(s) URLs without user name, query and fragment, separated by commas"
        )
    }

    const EXAMPLE: &'static str = "[\"https://app.example/login\"]";

    /// An empty list is valid: no page redirects then.
    fn read(given: &RawValue) -> Result<Self, String> {
        let urls: Option<Vec<Url>> = entries::<Self>(given)?.into_iter().map(plain_url).collect();
        urls.filter(|urls| urls.len() <= MAX_ENTRIES).map(Self).ok_or_else(unfit::<Self>)
    }

    fn show(&self) -> String {
        let urls: Vec<&str> = self.0.iter().map(Url::as_str).collect();
        toml::Value::from(urls).to_string()
    }
}

fn plain_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_plain.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_shown() {
        let read = |text: &str| ReturnUrls::read(&RawValue::Text(text.to_owned()));
        assert_eq!(read("").unwrap().show(), "[]");
        let two = read("https://app.example/login, http://127.0.0.1:8080").unwrap();
        assert_eq!(two.show(), r#"["https://app.example/login", "http://127.0.0.1:8080/"]"#);
        for wrong in [
            "app.example",
            "ftp://app.example/",
            "https://user@app.example/",
            "https://app.example/?a",
            "https://app.example/#a",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
