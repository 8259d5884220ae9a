//! The language of a page: the user's choice, or what the browser accepts (RFC 9110 section 12.5.4).

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;

use crate::browser::{self, cookie_name, set_cookie};

/// The query parameter that chooses the language.
pub(crate) const PARAMETER: &str = "language";

/// The cookie that stores the choice.
const COOKIE_NAME: &str = "usher_language";

/// In seconds.
const YEAR: u64 = 365 * 24 * 60 * 60;

include!(concat!(env!("OUT_DIR"), "/language.rs"));

impl Language {
    fn with_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.tag().eq_ignore_ascii_case(tag))
    }
}

/// The language chosen in the address.
pub(crate) fn in_query(query: &str) -> Option<Language> {
    let value = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == PARAMETER)?.1;
    Language::with_tag(&value)
}

/// The language chosen before, or accepted by the browser.
pub(crate) fn of_browser(public_url: &str, headers: &HeaderMap) -> Language {
    let chosen = browser::cookie(headers, &cookie_name(public_url, COOKIE_NAME)).and_then(Language::with_tag);
    chosen
        .unwrap_or_else(|| best(headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default()))
}

/// The `Set-Cookie` header that stores the choice.
pub(crate) fn cookie(public_url: &str, language: Language) -> String {
    set_cookie(public_url, &cookie_name(public_url, COOKIE_NAME), language.tag(), YEAR)
}

/// The language with the highest weight, the first of several; English if there is none.
fn best(accepted: &str) -> Language {
    let mut found = (Language::En, 0.0);
    for range in accepted.split(',') {
        let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
        let weight = parameters.trim().strip_prefix("q=").map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
        let language = Language::with_tag(tag.trim().split('-').next().unwrap_or_default());
        if let Some(language) = language
            && weight > found.1
        {
            found = (language, weight);
        }
    }
    found.0
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::COOKIE;

    use super::*;

    #[test]
    fn best_known_language_is_chosen() {
        for (accepted, expected) in [
            ("de", "de"),
            ("DE-at,en;q=0.5", "de"),
            ("xx, es-419;q=0.8, en;q=0.7", "es"),
            ("en;q=0.1, es;q=0.2, de;q=0.15", "es"),
            ("en-US,en;q=0.9,de;q=0.8", "en"),
            ("xx", "en"),
            ("*", "en"),
            ("de;q=0", "en"),
            ("de;q=nan, es;q=x,,;;", "en"),
            ("", "en"),
        ] {
            assert_eq!(best(accepted).tag(), expected, "{accepted}");
        }
    }

    #[test]
    fn choice_is_remembered() {
        assert_eq!(in_query("a=b&language=DE"), Some(Language::De));
        assert_eq!(in_query("language=xx"), None);
        let set = cookie("https://shop.example", Language::De);
        assert!(set.starts_with("__Host-usher_language=de; Path=/; Max-Age=31536000;") && set.ends_with("; Secure"));
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static("es"));
        assert_eq!(of_browser("https://shop.example", &headers), Language::Es);
        headers.insert(COOKIE, HeaderValue::from_static("a=b; __Host-usher_language=de"));
        assert_eq!(of_browser("https://shop.example", &headers), Language::De);
        assert_eq!(of_browser("http://127.0.0.1", &headers), Language::Es);
    }
}
