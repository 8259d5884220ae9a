//! URLs.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use url::Url;
use usher_store::PostgresOptions;

use super::secret::secret_setting;
use super::{RawValue, SET, Setting, quoted, text, unfit};

/// The address of a web page or service, without credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl(Url);

impl WebUrl {
    /// The address.
    pub const fn url(&self) -> &Url {
        &self.0
    }
}

impl Setting for WebUrl {
    fn expected() -> String {
        "an http(s) URL without user name and password".to_owned()
    }
    const EXAMPLE: &'static str = "\"https://example.com/\"";

    fn read(given: &RawValue) -> Result<Self, String> {
        let url = web(text::<Self>(given)?).ok_or_else(unfit::<Self>)?;
        if url.username().is_empty() && url.password().is_none() { Ok(Self(url)) } else { Err(unfit::<Self>()) }
    }

    fn show(&self) -> String {
        quoted(self.0.as_str())
    }
}

/// Whether requests to `url` cross a network unencrypted.
pub fn crosses_network_in_clear(url: &Url) -> bool {
    url.scheme() == "http" && !is_on_this_machine(url)
}

/// Whether a URL's host is a loopback name or address.
pub fn is_on_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// The URL of the webhook. It often contains a secret, so only the host is shown.
#[derive(Clone)]
pub struct WebhookUrl(SecretString, String);

impl WebhookUrl {
    /// The whole address.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The printable part: scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.1
    }
}

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookUrl({}/…)", self.1)
    }
}

impl Setting for WebhookUrl {
    fn expected() -> String {
        "an http(s) URL".to_owned()
    }
    const EXAMPLE: &'static str = "\"https://example.com/usher-events\"";
    const SECRET: bool = true;

    fn read(given: &RawValue) -> Result<Self, String> {
        let url = web(text::<Self>(given)?).ok_or_else(unfit::<Self>)?;
        let origin = url.origin().ascii_serialization();
        Ok(Self(String::from(url).into(), origin))
    }

    fn show(&self) -> String {
        format!("{SET} ({})", self.1)
    }
}

secret_setting!(
    /// The address of a PostgreSQL database, which may contain a password.
    DatabaseUrl, "the URL of a PostgreSQL database", "\"postgres://user:password@localhost/usher\"",
    |url| PostgresOptions::check_url(url).map_err(|reason| format!("{}: {reason}", unfit::<DatabaseUrl>()))
);

fn web(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}
