//! The cookies that bind pages to a browser.

use std::fmt;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::response::Response;
use http::header::ORIGIN;
use http::request::Parts;
use http::{HeaderMap, Method};
use url::Url;
use usher_engine::operations::LoginMethod;
use usher_engine::{ReusablePage, StreamId};
use usher_page_layout::{cookie, cookie_name, cookies, is_prefetch, set_cookie};

use crate::page;

/// Most login cookies that a browser keeps; the oldest are removed, which bounds the size of requests.
const MAX_LOGINS: usize = 20;

/// The cookie that remembers the browser's last login method.
const LAST_METHOD: &str = "usher_last_method";

/// In seconds.
pub(crate) const YEAR: u64 = 365 * 24 * 60 * 60;

/// Prefix of the names of login cookies.
const LOGIN: &str = "usher_login_";

/// The initiator of a page load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchInitiator {
    /// A navigation by a user.
    User,
    /// A script of this service, which reloads its own page.
    Script,
    /// A browser that sends no metadata (before 2023, or without TLS), or a link checker.
    Unknown,
    /// A prefetch, which is not shown.
    Nobody,
}

/// The initiator of a page load (Fetch Metadata Request Headers, sections 2.1 and 2.3).
pub(crate) fn fetch_initiator(method: &Method, headers: &HeaderMap) -> FetchInitiator {
    if method == Method::HEAD || is_prefetch(headers) {
        return FetchInitiator::Nobody;
    }
    match headers.get("sec-fetch-dest").map(http::HeaderValue::as_bytes) {
        Some(b"document") => FetchInitiator::User,
        Some(b"empty") if headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin") => {
            FetchInitiator::Script
        }
        Some(_) => FetchInitiator::Nobody,
        None => FetchInitiator::Unknown,
    }
}

/// A page load other than a prefetch, which is not shown.
pub(crate) struct Seen;

impl<S: Sync> FromRequestParts<S> for Seen {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        match fetch_initiator(&parts.method, &parts.headers) {
            FetchInitiator::Nobody => Err(page::not_shown()),
            _ => Ok(Self),
        }
    }
}

/// Whether a form comes from a page of this service, as far as the browser reports it (Fetch Metadata Request Headers,
/// sections 2.1 and 2.3). Before 2023, or without TLS, browsers send only its origin.
pub(crate) fn is_own_form(public_url: &str, headers: &HeaderMap) -> bool {
    let named = |name: &str| headers.get(name).map(http::HeaderValue::as_bytes);
    let is_seen = named("sec-fetch-dest").is_none_or(|destination| destination == b"document");
    is_seen
        && match named("sec-fetch-site") {
            Some(site) => matches!(site, b"same-origin" | b"none"),
            None => headers.get(ORIGIN).is_none_or(|origin| {
                Url::parse(public_url).is_ok_and(|url| origin == url.origin().ascii_serialization().as_str())
            }),
        }
}

/// Whether a form certainly comes from a page of this service: at least one of the headers of [`is_own_form`] says so,
/// and none contradicts it.
pub(crate) fn is_certainly_own_form(public_url: &str, headers: &HeaderMap) -> bool {
    let own = Url::parse(public_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    let all = |name: &str, expected: &str| {
        let mut values = headers.get_all(name).iter();
        values.all(|value| value.as_bytes() == expected.as_bytes())
    };
    let is_said = headers.contains_key("sec-fetch-site") || headers.contains_key(ORIGIN);
    is_said && all("sec-fetch-site", "same-origin") && all("sec-fetch-dest", "document") && all(ORIGIN.as_str(), &own)
}

/// The `Set-Cookie` headers that bind a login's page to the browser that sent `headers`. The cookie lives an hour
/// longer than the login, for the page that shows the outcome.
///
/// `public_url` is `pages.public_url`.
pub fn login_cookies(
    public_url: &str,
    login: StreamId,
    browser: &str,
    lifetime: Duration,
    headers: &HeaderMap,
) -> Vec<String> {
    let own = set_cookie(public_url, &login_cookie_name(public_url, login), browser, lifetime.as_secs() + 3600);
    [own].into_iter().chain(surplus_cookies(public_url, login, headers)).collect()
}

/// The `Set-Cookie` headers that remove the oldest login cookies, if a browser has too many beside this one.
pub(crate) fn surplus_cookies(public_url: &str, login: StreamId, headers: &HeaderMap) -> Vec<String> {
    let (prefix, own) = (cookie_name(public_url, LOGIN), login_cookie_name(public_url, login));
    let names = cookies(headers).map(|(name, _)| name);
    let mut others: Vec<&str> = names.filter(|name| name.starts_with(&prefix) && *name != own).collect();
    // Ids sort in the order in which the logins began.
    others.sort_unstable();
    others.dedup();
    let too_many = (others.len() + 1).saturating_sub(MAX_LOGINS);
    others.into_iter().take(too_many).map(|name| set_cookie(public_url, name, "", 0)).collect()
}

pub(crate) struct LoginCookie {
    /// The secret that binds the page to the browser.
    pub(crate) browser: String,
    /// The page of a reusable login on which this login began: a link back after the login is over. Supplied by the
    /// browser, which knows that address anyway.
    pub(crate) begun_at: Option<ReusablePage>,
}

impl LoginCookie {
    pub(crate) fn read(value: &str) -> Self {
        let (browser, rest) = value.split_once('.').unwrap_or((value, ""));
        let begun_at = rest.split_once('.').and_then(|(login, page_secret)| {
            // It becomes part of an address.
            let is_plain = page_secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let login = login.parse().ok().filter(|_| is_plain && !page_secret.is_empty())?;
            Some(ReusablePage { login, page_secret: page_secret.to_owned() })
        });
        Self { browser: browser.to_owned(), begun_at }
    }
}

impl fmt::Display for LoginCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.begun_at {
            None => write!(f, "{}", self.browser),
            Some(ReusablePage { login, page_secret }) => write!(f, "{}.{login}.{page_secret}", self.browser),
        }
    }
}

/// One cookie per login: several can be open in one browser.
pub fn login_cookie_name(public_url: &str, login: StreamId) -> String {
    cookie_name(public_url, &format!("{LOGIN}{login}"))
}

/// The logins whose cookies a browser sends, newest first, with their values.
pub(crate) fn shown_logins(public_url: &str, headers: &HeaderMap) -> Vec<(StreamId, String)> {
    let prefix = cookie_name(public_url, LOGIN);
    let login = |name: &str| name.strip_prefix(&prefix)?.parse::<StreamId>().ok();
    let shown = cookies(headers).filter_map(|(name, value)| Some((login(name)?, LoginCookie::read(value).browser)));
    let mut shown: Vec<_> = shown.collect();
    shown.sort_unstable_by_key(|(login, _)| std::cmp::Reverse(*login));
    shown.truncate(MAX_LOGINS);
    shown
}

pub(crate) fn last_method(public_url: &str, headers: &HeaderMap) -> Option<LoginMethod> {
    LoginMethod::parse(cookie(headers, &cookie_name(public_url, LAST_METHOD))?)
}

pub(crate) fn last_method_cookie(public_url: &str, method: LoginMethod) -> String {
    set_cookie(public_url, &cookie_name(public_url, LAST_METHOD), method.as_str(), YEAR)
}

/// A `Set-Cookie` header with `SameSite=Strict`.
pub(crate) fn set_strict_cookie(public_url: &str, name: &str, value: &str, max_age: u64) -> String {
    set_cookie(public_url, name, value, max_age).replace("; SameSite=Lax", "; SameSite=Strict")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::COOKIE;

    use super::*;

    const URL: &str = "https://login.example";

    fn id(n: u64) -> StreamId {
        StreamId::from_parts(1_800_000_000_000 + n, [0; 10])
    }

    #[test]
    fn only_what_a_user_sees_is_a_visit() {
        let initiator_with = |name: &'static str, value: &'static str| {
            let headers =
                HeaderMap::from_iter([(http::HeaderName::from_static(name), HeaderValue::from_static(value))]);
            (fetch_initiator(&Method::GET, &headers), fetch_initiator(&Method::HEAD, &headers))
        };
        for (name, value, expected) in [
            ("sec-fetch-dest", "document", FetchInitiator::User),
            ("sec-fetch-dest", "iframe", FetchInitiator::Nobody),
            ("sec-fetch-dest", "image", FetchInitiator::Nobody),
            ("sec-fetch-dest", "empty", FetchInitiator::Nobody),
            ("sec-purpose", "prefetch;prerender", FetchInitiator::Nobody),
            ("purpose", "prefetch", FetchInitiator::Nobody),
            ("user-agent", "link preview", FetchInitiator::Unknown),
        ] {
            assert_eq!(initiator_with(name, value), (expected, FetchInitiator::Nobody), "{name}: {value}");
        }
    }

    #[test]
    fn browser_keeps_the_cookies_of_its_newest_logins() {
        let mut sent = Vec::new();
        for n in (0..30).rev() {
            sent.push(format!("{}=x", login_cookie_name(URL, id(n))));
        }
        sent.push("other=1".to_owned());
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::try_from(sent.join("; ")).unwrap())]);
        let set = login_cookies(URL, id(99), "secret", Duration::from_secs(600), &headers);
        let own = format!("__Host-usher_login_{}=secret; Path=/; Max-Age=4200; HttpOnly; SameSite=Lax; Secure", id(99));
        assert_eq!(set[0], own);
        let removed: Vec<_> = set[1..].iter().map(|cookie| cookie.split('=').next().unwrap().to_owned()).collect();
        let oldest: Vec<_> = (0..11).map(|n| login_cookie_name(URL, id(n))).collect();
        assert_eq!(removed, oldest);
        assert!(set[1..].iter().all(|cookie| cookie.contains("=; Path=/; Max-Age=0;")), "{set:?}");
        assert_eq!(login_cookies("http://127.0.0.1:1", id(1), "x", Duration::ZERO, &headers).len(), 1);
        let shown = shown_logins(URL, &headers);
        assert_eq!(shown.len(), MAX_LOGINS);
        assert_eq!((shown[0].clone(), shown[19].0), ((id(29), "x".to_owned()), id(10)));
        assert_eq!(shown_logins("http://127.0.0.1:1", &headers), []);
    }
}
