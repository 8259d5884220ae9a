//! The browser that a page belongs to, by a cookie.

use http::HeaderMap;
use http::header::COOKIE;
use usher_engine::StreamId;

/// The cookie of a login's page as a `Set-Cookie` header, for the page itself. It lives an hour longer than the login, for the
/// page that shows the outcome.
///
/// `public_url` is `pages.public_url`.
pub fn login_cookie(public_url: &str, login: StreamId, browser: &str, lifetime: std::time::Duration) -> String {
    let path = url::Url::parse(public_url).map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
    let secure = if public_url.starts_with("https://") { "; Secure" } else { "" };
    let (name, max_age) = (login_cookie_name(login), lifetime.as_secs() + 3600);
    format!("{name}={browser}; Path={path}/login/{login}; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}")
}

/// A cookie of each login's own: several can be open in one browser.
pub fn login_cookie_name(login: StreamId) -> String {
    format!("usher_login_{login}")
}

/// The value of a cookie.
pub fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// Whether a browser loads a page that its user may never open.
pub(crate) fn is_prefetch(headers: &HeaderMap) -> bool {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    [named("sec-purpose"), named("purpose")].iter().any(|purpose| purpose.contains("prefetch"))
}
