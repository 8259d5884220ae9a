//! Clients: the apps that log users in through this service.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use url::Url;

use crate::keys::Algorithm;

/// Shortest secret: long enough that it cannot be guessed.
const MIN_SECRET_CHARS: usize = 32;
/// Longest secret, and longest [`Client::id`].
const MAX_CHARS: usize = 128;
/// Longest redirect URI, in bytes.
const MAX_URI_BYTES: usize = 1024;

/// An app that logs users in through this service.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    /// Its identifier: 1 to 128 characters of `A-Z a-z 0-9 . _ -`.
    pub id: String,
    /// Its secret; `None` for a public client (an app that runs on its users' devices).
    pub secret: Option<ClientSecret>,
    /// The name that users see.
    pub name: String,
    /// Where users may be redirected, compared character by character; a public client may use any port of a loopback
    /// address.
    pub redirect_uris: Vec<String>,
    /// Where users may be redirected after logging out.
    pub post_logout_redirect_uris: Vec<String>,
    /// Whether PKCE is required; it always is for public clients.
    pub require_pkce: bool,
    /// The signature algorithm of its ID tokens.
    pub algorithm: Algorithm,
}

impl Client {
    /// Whether it must use PKCE (RFC 7636).
    pub(crate) const fn needs_pkce(&self) -> bool {
        self.require_pkce || self.secret.is_none()
    }

    /// Whether users may be redirected to `uri`: compared character by character, except for the port of a public
    /// client on loopback, which it cannot know in advance (RFC 8252 section 7.3).
    pub(crate) fn may_redirect_to(&self, uri: &str) -> bool {
        let is_known = self.redirect_uris.iter().any(|known| known == uri);
        is_known
            || self.secret.is_none()
                && without_loopback_port(uri).is_some_and(|asked| {
                    self.redirect_uris.iter().any(|known| without_loopback_port(known) == Some(asked))
                })
    }

    /// Checks everything that does not depend on the other clients.
    ///
    /// # Errors
    /// The first fault found.
    pub fn check(&self) -> Result<(), ClientError> {
        let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if self.id.is_empty() || self.id.len() > MAX_CHARS || !self.id.chars().all(is_id) {
            return Err(ClientError::Id);
        }
        if self.name.is_empty() || self.name.chars().count() > MAX_CHARS || self.name.chars().any(char::is_control) {
            return Err(ClientError::Name);
        }
        if self.redirect_uris.is_empty() {
            return Err(ClientError::NoRedirectUri);
        }
        self.redirect_uris.iter().chain(&self.post_logout_redirect_uris).try_for_each(|uri| check_redirect_uri(uri))
    }
}

/// The SHA-256 of a confidential client's secret: 32 to 128 characters of `A-Z a-z 0-9 _ -`. Libraries encode others differently.
#[derive(Clone, Serialize, Deserialize)]
pub struct ClientSecret([u8; 32]);

impl ClientSecret {
    /// Validates a secret.
    ///
    /// # Errors
    /// [`ClientError::Secret`] if it is too short, too long or has other characters.
    pub fn new(secret: &str) -> Result<Self, ClientError> {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if !(MIN_SECRET_CHARS..=MAX_CHARS).contains(&secret.len()) || !secret.chars().all(is_fit) {
            return Err(ClientError::Secret);
        }
        Ok(Self(Sha256::digest(secret).into()))
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, given: &str) -> bool {
        Sha256::digest(given).as_slice().ct_eq(&self.0).into()
    }
}

usher_protocol::debug_shows!(ClientSecret(..));

/// Checks that a URI is a valid redirect target: absolute, without a fragment; https, http on loopback, or the scheme
/// of an app in reverse domain notation (RFC 8252 section 7.1).
///
/// # Errors
/// [`ClientError::RedirectUri`].
pub fn check_redirect_uri(uri: &str) -> Result<(), ClientError> {
    let is_plain = uri.len() <= MAX_URI_BYTES && uri.bytes().all(|byte| byte.is_ascii_graphic());
    let url = Url::parse(uri).ok().filter(|url| is_plain && url.fragment().is_none() && !uri.contains('#'));
    let url = url.ok_or(ClientError::RedirectUri)?;
    let is_allowed = match url.scheme() {
        "https" => url.username().is_empty() && url.password().is_none(),
        "http" => url.username().is_empty() && url.password().is_none() && is_loopback(&url),
        // No scheme that browsers interpret, such as `javascript:` or `data:`, has a dot.
        scheme => scheme.contains('.'),
    };
    if is_allowed { Ok(()) } else { Err(ClientError::RedirectUri) }
}

/// The parts before and after the port of a loopback address.
fn without_loopback_port(uri: &str) -> Option<(&str, &str)> {
    let (host, rest) =
        ["http://127.0.0.1", "http://[::1]"].into_iter().find_map(|host| Some((host, uri.strip_prefix(host)?)))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (port, rest) = rest.split_at(end);
    let is_port = |port: &str| {
        !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
    };
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some((host, rest))
}

/// Whether a redirect URI leads to the browser's own machine.
pub(crate) fn is_on_loopback(uri: &str) -> bool {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && is_loopback(url);
    check_redirect_uri(uri).is_ok() && Url::parse(uri).is_ok_and(|url| is_web(&url))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Why a client is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// [`Client::id`].
    #[error("`id` must be 1 to 128 characters of A-Z, a-z, 0-9, dot, underscore and hyphen")]
    Id,
    /// [`Client::name`].
    #[error("`name` must be 1 to 128 characters without control characters")]
    Name,
    /// No redirect URI.
    #[error("`redirect_uris` must list at least one address")]
    NoRedirectUri,
    /// A redirect URI.
    #[error(
        "each redirect URI must be an absolute address without a fragment and of at most 1024 bytes: https, http on loopback, \
         or an app's own scheme such as com.example.app:/callback"
    )]
    RedirectUri,
    /// A secret.
    #[error(
        "`secret` must be 32 to 128 characters of A-Z, a-z, 0-9, underscore and hyphen, as `openssl rand -hex 32` makes them"
    )]
    Secret,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uris_lead_to_https_loopback_or_apps() {
        const GOOD: &str = "https://app.example/callback https://app.example:8443/callback?tenant=1 http://[::1]:8080/cb \
            http://127.0.0.1:8080/cb http://localhost:3000/login/generic_oauth com.example.app:/callback";
        for uri in GOOD.split_whitespace() {
            assert_eq!(check_redirect_uri(uri), Ok(()), "{uri}");
        }
        let long = format!("https://app.example/{}", "a".repeat(MAX_URI_BYTES));
        const WRONG: &str = "/callback //app.example/cb http://app.example/cb http://localhost.example/cb app:/callback \
            https://app.example/cb#part https://app.example/cb# https://user@app.example/cb https://app.example/ü \
            javascript:alert(1) data:text/html,hello";
        let spaces = ["", "https://app.example/a b", "https://app.example/\r\nSet-Cookie:a=b", &long];
        for uri in WRONG.split_whitespace().chain(spaces) {
            assert_eq!(check_redirect_uri(uri), Err(ClientError::RedirectUri), "{uri}");
        }
    }

    #[test]
    fn secrets_are_long_plain_and_hidden() {
        let secret = "0123456789abcdefghijABCDEFGHIJ-_";
        let known = ClientSecret::new(secret).unwrap();
        assert!(known.is(secret));
        assert!(!known.is("") && !known.is("0123456789abcdefghijABCDEFGHIJ-x"));
        assert_eq!(format!("{known:?}"), "ClientSecret(…)");
        for unfit in ["", "short", "0123456789abcdefghijABCDEFGHIJ+/", &"a".repeat(129)] {
            assert!(ClientSecret::new(unfit).is_err(), "{unfit}");
        }
    }
}
