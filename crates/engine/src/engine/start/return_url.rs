//! Where a page leads to at the end.

use url::Url;

use crate::StreamId;
use crate::engine::StartError;

/// Longest return URL, in bytes.
const MAX_BYTES: usize = 2_048;

/// How users' browsers reach the pages, and where those may lead to.
#[derive(Clone, Debug)]
pub struct PageRules {
    /// Without a trailing slash (`pages.public_url`).
    pub url: String,
    /// Where pages may lead to at the end (`pages.return_urls`): a return URL must have the same origin as one of these, and
    /// its path must be the same or below it.
    pub return_urls: Vec<Url>,
}

impl Default for PageRules {
    /// Pages on this machine that lead nowhere.
    fn default() -> Self {
        Self { url: "http://127.0.0.1:3000".to_owned(), return_urls: Vec::new() }
    }
}

impl PageRules {
    /// The field `return_url` of a request: where the page leads to, with `stream_id` in its query.
    pub(super) fn return_url(&self, given: Option<&str>, stream_id: StreamId) -> Result<Option<String>, StartError> {
        let Some(given) = given else { return Ok(None) };
        let refused = |detail: &str| StartError::invalid("/return_url", detail);
        if given.len() > MAX_BYTES {
            return Err(refused("must have at most 2048 bytes"));
        }
        let Ok(mut url) = Url::parse(given) else { return Err(refused("must be an absolute http(s) URL")) };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("must have no user name and no password"));
        }
        if !self.return_urls.iter().any(|allowed| is_under(&url, allowed)) {
            return Err(refused("must be under one of pages.return_urls (same origin, and the same path or below it)"));
        }
        url.query_pairs_mut().append_pair("stream_id", &stream_id.to_string());
        Ok(Some(url.into()))
    }
}

fn is_under(url: &Url, allowed: &Url) -> bool {
    let prefix = allowed.path();
    let is_below = url.path().strip_prefix(prefix).is_some_and(|rest| {
        // `/login` allows `/login/done`, not `/login-of-somebody-else`.
        rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/')
    });
    // Origins without a host (`data:`, `javascript:`) equal none.
    url.origin() == allowed.origin() && is_below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(given: &str) -> Option<String> {
        let allowed = ["https://app.example/login", "http://localhost:8080/", "https://other.example/a/"];
        let return_urls = allowed.iter().map(|url| url.parse().unwrap()).collect();
        let rules = PageRules { return_urls, ..PageRules::default() };
        rules.return_url(Some(given), StreamId::from_parts(0, [1; 10])).ok().flatten()
    }

    #[test]
    fn urls_under_an_allowed_one_get_the_stream() {
        let stream = StreamId::from_parts(0, [1; 10]);
        for (given, expected) in [
            ("https://app.example/login", format!("https://app.example/login?stream_id={stream}")),
            (
                "https://app.example:443/login/done?a=b%26c",
                format!("https://app.example/login/done?a=b%26c&stream_id={stream}"),
            ),
            ("HTTPS://APP.example/login?#x", format!("https://app.example/login?stream_id={stream}#x")),
            ("http://localhost:8080", format!("http://localhost:8080/?stream_id={stream}")),
            ("https://other.example/a/b", format!("https://other.example/a/b?stream_id={stream}")),
        ] {
            assert_eq!(returned(given), Some(expected), "{given}");
        }
        assert_eq!(PageRules::default().return_url(None, stream).unwrap(), None);
    }

    #[test]
    fn all_others_are_refused() {
        for given in [
            "",
            "/login",
            "//app.example/login",
            "javascript:alert(1)",
            "data:text/html,x",
            "http://app.example/login",
            "https://app.example:444/login",
            "https://app.example/",
            "https://app.example/loginx",
            "https://app.example/login/../admin",
            "https://app.example/login/%2e%2e/admin",
            "https://app.example\\@evil.example/login",
            "https://app.example.evil.example/login",
            "https://app.example@evil.example/login",
            "https://user@app.example/login",
            "https://user:password@app.example/login",
            "https://other.example/a",
            "http://localhost:8081/",
            &format!("https://app.example/login?{}", "x".repeat(MAX_BYTES)),
        ] {
            assert_eq!(returned(given), None, "{given}");
        }
    }
}
