//! What browsers send: cookies and the purpose of a request.

use http::HeaderMap;
use http::header::COOKIE;

/// The name of a cookie. Browsers accept the prefix `__Host-` only over TLS, and no other host can set such a cookie,
/// not even one below the same domain (RFC 6265bis section 4.1.3.2).
pub fn cookie_name(public_url: &str, name: &str) -> String {
    let prefix = if public_url.starts_with("https://") { "__Host-" } else { "" };
    format!("{prefix}{name}")
}

/// A `Set-Cookie` header. `__Host-` requires the path `/`.
pub fn set_cookie(public_url: &str, name: &str, value: &str, max_age: u64) -> String {
    let secure = if public_url.starts_with("https://") { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}")
}

/// The value of a cookie.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    cookies(headers).find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// The names and values of all cookies.
pub fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='))
}

/// Whether a browser only prefetches a page, which no user sees.
pub fn is_prefetch(headers: &HeaderMap) -> bool {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ["sec-purpose", "purpose"].into_iter().any(|name| named(name).contains("prefetch"))
}
