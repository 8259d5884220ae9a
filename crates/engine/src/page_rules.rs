//! Redirects of pages, and the secrets in their addresses.

use sha2::{Digest as _, Sha256};
use url::{Host, Url};
use usher_passkey::RelyingParty;

use crate::StreamId;
use crate::kernel::request_errors::StartError;
use crate::ports::CurrencyCode;

const MAX_BYTES: usize = 2_048;

/// The URLs of pages, and their allowed redirects.
#[derive(Clone)]
pub struct PageRules {
    /// The base URL, without a trailing slash (`pages.public_url`).
    pub url: String,
    /// Allowed redirects (`pages.return_urls`): the same origin, and the same path or one below it.
    pub return_urls: Vec<Url>,
    /// The relying party for passkeys; without it, pages offer none.
    pub passkeys: Option<RelyingParty>,
    /// The currency in which pages also show amounts in sats (`pages.show_currency`).
    pub show_currency: Option<CurrencyCode>,
    /// The key that derives the secrets in pages' addresses: the service's secret, constant across restarts.
    pub key: [u8; 32],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyedPage {
    Payment,
    Refund,
    Handshake,
    /// A payment link.
    Link,
    /// A payment link for wallets (LNURL-pay).
    Lnurl,
}

impl KeyedPage {
    const fn path(self) -> &'static str {
        match self {
            Self::Payment => "pay",
            Self::Refund => "refund",
            Self::Handshake => "handshake",
            Self::Link => "link",
            Self::Lnurl => "lnurlp",
        }
    }
}

usher_protocol::debug_shows!(PageRules { url });

impl Default for PageRules {
    fn default() -> Self {
        Self {
            url: "http://127.0.0.1:3000".to_owned(),
            return_urls: Vec::new(),
            passkeys: None,
            show_currency: None,
            key: [0; 32],
        }
    }
}

impl PageRules {
    pub(crate) fn page_url(&self, page: KeyedPage, stream_id: StreamId) -> String {
        format!("{}/{}/{stream_id}/{}", self.url, page.path(), self.page_secret(page, stream_id))
    }

    pub(crate) fn page_secret(&self, page: KeyedPage, stream_id: StreamId) -> String {
        self.secret(page.path(), stream_id)
    }

    pub(crate) fn is_secret(&self, page: KeyedPage, stream_id: StreamId, given: &str) -> bool {
        is_same(&self.secret(page.path(), stream_id), given)
    }

    /// The code that the page of an approved login gives to the app. Not stored.
    pub(crate) fn login_code(&self, login: StreamId) -> String {
        self.secret("login-code", login)
    }

    pub(crate) fn is_login_code(&self, login: StreamId, given: &str) -> bool {
        is_same(&self.login_code(login), given)
    }

    /// 128 bits that cannot be guessed without the key, different for each purpose.
    fn secret(&self, purpose: &str, stream_id: StreamId) -> String {
        let digest =
            Sha256::new().chain_update(self.key).chain_update(purpose).chain_update(stream_id.to_string()).finalize();
        hex::encode(digest.get(..16).unwrap_or_default())
    }

    /// Validates the field `return_url` of a request, and adds `stream_id` to its query.
    pub(crate) fn return_url(&self, given: Option<&str>, stream_id: StreamId) -> Result<Option<String>, StartError> {
        self.with_stream_id(given, stream_id, &["stream_id"])
    }

    /// The same for a payment, whose page also adds `canceled`.
    pub(crate) fn payment_return_url(
        &self,
        given: Option<&str>,
        stream_id: StreamId,
    ) -> Result<Option<String>, StartError> {
        self.with_stream_id(given, stream_id, &["stream_id", "canceled"])
    }

    /// The same for a payment link, to which each of its payments adds `payment_id`.
    pub(crate) fn link_return_url(
        &self,
        given: Option<&str>,
        stream_id: StreamId,
    ) -> Result<Option<String>, StartError> {
        self.with_stream_id(given, stream_id, &["stream_id", "payment_id", "canceled"])
    }

    /// The same for a login, whose page also adds `code`.
    pub(crate) fn login_return_url(
        &self,
        given: Option<&str>,
        stream_id: StreamId,
    ) -> Result<Option<String>, StartError> {
        self.with_stream_id(given, stream_id, &["stream_id", "code"])
    }

    /// `added` are the parameters that the page adds, which the URL must not have.
    fn with_stream_id(
        &self,
        given: Option<&str>,
        stream_id: StreamId,
        added: &[&str],
    ) -> Result<Option<String>, StartError> {
        let Some(given) = given else { return Ok(None) };
        let refused = |detail: &str| StartError::invalid("/return_url", detail);
        if given.len() > MAX_BYTES {
            return Err(refused("must have at most 2048 bytes"));
        }
        if given.contains(|character: char| character.is_whitespace() || character.is_control()) {
            // The parser would remove some of them.
            return Err(refused("must contain no spaces, line breaks and control characters"));
        }
        let Ok(mut url) = Url::parse(given) else { return Err(refused("must be an absolute http(s) URL")) };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("must have no user name and no password"));
        }
        if url.fragment().is_some() {
            return Err(refused("must have no fragment (#)"));
        }
        if is_ambiguous(url.path()) {
            return Err(refused(
                "must have no `%2f`, `%5c` and `..;` in its path: servers disagree about what they mean",
            ));
        }
        if let Some((name, _)) = url.query_pairs().find(|(name, _)| added.contains(&name.as_ref())) {
            return Err(refused(&format!("must have no `{name}` in its query: the page adds it")));
        }
        if !self.return_urls.iter().any(|allowed| is_under(&url, allowed)) {
            let detail = if self.return_urls.is_empty() {
                "must be under one of pages.return_urls, which is empty: add the address of your app to this setting"
            } else {
                "must be under one of pages.return_urls (same origin, and the same path or below it)"
            };
            return Err(refused(detail));
        }
        url.query_pairs_mut().append_pair("stream_id", &stream_id.to_string());
        Ok(Some(url.into()))
    }
}

/// Whether some servers interpret this path differently: they decode slashes before `..`, or drop parameters (`;`).
fn is_ambiguous(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    ["%2f", "%5c", "..;", ".%2e;", "%2e.;", "%2e%2e;"].iter().any(|part| path.contains(part))
}

/// Compares digests, so that timing reveals nothing about the secret.
fn is_same(secret: &str, given: &str) -> bool {
    Sha256::digest(secret) == Sha256::digest(given)
}

fn is_under(url: &Url, allowed: &Url) -> bool {
    let prefix = allowed.path();
    let is_below = url.path().strip_prefix(prefix).is_some_and(|rest| {
        // `/login` allows `/login/done`, but not `/login-of-somebody-else`.
        rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/')
    });
    // Origins without a host (`data:`, `javascript:`) equal no other.
    is_below && (url.origin() == allowed.origin() || is_any_loopback_port(allowed) && is_same_host(url, allowed))
}

/// A loopback address without a port allows all ports, as in RFC 8252 section 7.3: apps in development listen on any.
fn is_any_loopback_port(allowed: &Url) -> bool {
    let is_loopback = match allowed.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    allowed.scheme() == "http" && allowed.port().is_none() && is_loopback
}

fn is_same_host(url: &Url, allowed: &Url) -> bool {
    url.scheme() == allowed.scheme() && url.host() == allowed.host()
}

/// Compares digests, so that timing reveals nothing about the secret.
pub(crate) fn is_same_secret(secret: &str, given: &str) -> bool {
    Sha256::digest(secret) == Sha256::digest(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_has_a_secret_of_its_own() {
        let rules = PageRules { key: [7; 32], ..PageRules::default() };
        let [one, other] = [1, 2].map(|n| StreamId::from_parts(0, [n; 10]));
        let secret = rules.secret("pay", one);
        assert_eq!(secret.len(), 32);
        assert_eq!(rules.page_url(KeyedPage::Payment, one), format!("{}/pay/{one}/{secret}", rules.url));
        assert!(rules.is_secret(KeyedPage::Payment, one, &secret));
        assert!(!rules.is_secret(KeyedPage::Payment, other, &secret));
        assert!(!rules.is_secret(KeyedPage::Handshake, one, &secret));
        assert!(!PageRules::default().is_secret(KeyedPage::Payment, one, &secret));
        let code = rules.login_code(one);
        assert!(rules.is_login_code(one, &code) && code.len() == 32 && code != secret);
        for wrong in [&secret, &rules.login_code(other), &code.to_uppercase(), &code[..31], ""] {
            assert!(!rules.is_login_code(one, wrong), "{wrong}");
        }
        assert!(!format!("{rules:?}").contains("7, 7"));
    }

    fn returned(given: &str) -> Option<String> {
        let allowed = ["https://app.example/login", "http://localhost:8080/", "https://other.example/a/"];
        let return_urls = allowed.iter().map(|url| url.parse().unwrap()).collect();
        let rules = PageRules { return_urls, ..PageRules::default() };
        rules.login_return_url(Some(given), StreamId::from_parts(0, [1; 10])).ok().flatten()
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
            ("HTTPS://APP.example/login?", format!("https://app.example/login?stream_id={stream}")),
            ("https://app.example/login/a;b=..", format!("https://app.example/login/a;b=..?stream_id={stream}")),
            ("https://app.example/login?to=%2fa", format!("https://app.example/login?to=%2fa&stream_id={stream}")),
            ("http://localhost:8080", format!("http://localhost:8080/?stream_id={stream}")),
            ("https://other.example/a/b", format!("https://other.example/a/b?stream_id={stream}")),
        ] {
            assert_eq!(returned(given), Some(expected), "{given}");
        }
        assert_eq!(PageRules::default().return_url(None, stream).unwrap(), None);
    }

    #[test]
    fn loopback_without_a_port_allows_each_port() {
        let allowed: Url = "http://localhost/app".parse().unwrap();
        let is_allowed = |given: &str| is_under(&given.parse().unwrap(), &allowed);
        for given in ["http://localhost/app", "http://localhost:8080/app", "http://localhost:1/app/a?b"] {
            assert!(is_allowed(given), "{given}");
        }
        for given in [
            "https://localhost:8080/app",
            "http://localhost:8080/",
            "http://127.0.0.1:8080/app",
            "http://localhost.example:8080/app",
        ] {
            assert!(!is_allowed(given), "{given}");
        }
        let far: Url = "http://app.example/".parse().unwrap();
        assert!(!is_under(&"http://app.example:8080/".parse().unwrap(), &far));
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
            "https://app.example/login/..%2fadmin",
            "https://app.example/login/%2E%2E%2Fadmin",
            "https://app.example/login/..%5cadmin",
            "https://app.example/login/..;/admin",
            "https://app.example/login/%2e%2E;a=b/admin",
            "https://app.example/login\n",
            " https://app.example/login",
            "https://app.example/lo\tgin",
            "https://app.example/login?a b",
            "https://app.example/login#",
            "https://app.example/login?#x",
            "https://app.example/login?stream_id=1",
            "https://app.example/login?a=b&stream%5Fid",
            "https://app.example/login?code=1",
            &format!("https://app.example/login?{}", "x".repeat(MAX_BYTES)),
        ] {
            assert_eq!(returned(given), None, "{given}");
        }
    }
}
