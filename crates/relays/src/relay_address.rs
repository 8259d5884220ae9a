//! Addresses of relays.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};
use usher_nostr_connection::address_guard::is_public;
use usher_nostr_connection::{site, url_simplicity};

/// Longest address of a relay in bytes; real ones have 20 to 60. Keeps handshake URLs scannable and bounds what a user
/// can make us store.
pub const MAX_ADDRESS_BYTES: usize = 256;

/// The normalised address of a relay; equal addresses name the same relay.
///
/// Scheme and host in lower case, no default port, no fragment, no trailing slash if the path is empty (as wallets
/// write it and NIP-42 compares it).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelayAddress {
    text: String,
    url: Url,
}

/// Why a text is not a valid relay address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Longer than [`MAX_ADDRESS_BYTES`].
    #[error("a relay address has at most {MAX_ADDRESS_BYTES} bytes")]
    TooLong,
    /// Not a URL with a host.
    #[error("not a URL")]
    NotAUrl,
    /// Not `ws://` or `wss://`.
    #[error("a relay address begins with wss:// or ws://")]
    Scheme,
    /// User name or password in the URL.
    #[error("a relay address has no user name or password")]
    Credentials,
    /// Port 0.
    #[error("a relay address has no port 0")]
    Port,
    /// The host is an IP address in a range that is not the public Internet.
    #[error("the address is not on the public Internet")]
    NotPublic,
    /// A port below 1024 other than the web's: other services listen there.
    #[error("a user's relay has port 80, 443 or one from 1024")]
    PrivilegedPort,
}

impl RelayAddress {
    /// Parses and normalises an address that the operator supplied.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if text.len() > MAX_ADDRESS_BYTES {
            return Err(AddressError::TooLong);
        }
        // The URL parser silently drops tabs and line breaks.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(AddressError::NotAUrl);
        }
        let mut url = Url::parse(text).map_err(|_| AddressError::NotAUrl)?;
        if !matches!(url.scheme(), "ws" | "wss") {
            return Err(AddressError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::Credentials);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(AddressError::NotAUrl);
        }
        if url.port() == Some(0) {
            return Err(AddressError::Port);
        }
        url.set_fragment(None);
        let mut normal = url.as_str().to_owned();
        if url.path() == "/" && url.query().is_none() {
            normal.pop();
        }
        // Percent-encoding can make it longer.
        if normal.len() > MAX_ADDRESS_BYTES {
            return Err(AddressError::TooLong);
        }
        Ok(Self { text: normal, url })
    }

    /// Parses an address that a user supplied. In addition to the rules of [`parse`](Self::parse), it must not name a
    /// non-public IP address or a port of other services. Names are checked when they are
    /// [resolved](usher_nostr_connection::address_guard::resolve).
    pub fn parse_from_user(text: &str) -> Result<Self, AddressError> {
        let address = Self::parse(text)?;
        let port = address.port();
        if !matches!(port, 80 | 443 | 1024..) {
            return Err(AddressError::PrivilegedPort);
        }
        let ip = match address.url.host() {
            Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
            Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
            Some(Host::Domain(_)) | None => None,
        };
        if ip.is_some_and(|ip| !is_public(ip)) {
            return Err(AddressError::NotPublic);
        }
        Ok(address)
    }

    /// The normalised text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) const fn url(&self) -> &Url {
        &self.url
    }

    /// The host, without the rest of the address, which may be a secret.
    pub fn host(&self) -> Host<&str> {
        self.url.host().unwrap_or(Host::Domain(""))
    }

    /// Who runs the relay: see [`site`].
    pub(crate) fn site(&self) -> String {
        site(&self.url)
    }

    pub(crate) fn url_simplicity(&self) -> u8 {
        url_simplicity(&self.url)
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }
}

impl FromStr for RelayAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::parse(text)
    }
}

impl fmt::Display for RelayAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for RelayAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> String {
        let normal = RelayAddress::parse(text).unwrap();
        assert_eq!(RelayAddress::parse(normal.as_str()).as_ref(), Ok(&normal));
        normal.to_string()
    }

    #[test]
    fn equivalent_addresses_are_equal() {
        for same in [
            "wss://relay.example.com",
            "wss://relay.example.com/",
            "wss://relay.example.com:443",
            "WSS://Relay.Example.COM/",
            " wss://relay.example.com/#top\n",
        ] {
            assert_eq!(normal(same), "wss://relay.example.com");
        }
        assert_eq!(normal("ws://127.0.0.1:7777/"), "ws://127.0.0.1:7777");
        assert_eq!(normal("wss://r.example/path/"), "wss://r.example/path/");
        assert_eq!(normal("wss://r.example/?a=b"), "wss://r.example/?a=b");
        assert_eq!(normal("wss://bücher.example"), "wss://xn--bcher-kva.example");
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for (text, why) in [
            ("", AddressError::NotAUrl),
            ("relay.example.com", AddressError::NotAUrl),
            ("https://relay.example.com", AddressError::Scheme),
            ("wss://", AddressError::NotAUrl),
            ("wss://user@relay.example.com", AddressError::Credentials),
            ("wss://relay.example.com:0", AddressError::Port),
            ("wss://relay.example.com:65536", AddressError::NotAUrl),
            ("wss://relay.exa\nmple.com", AddressError::NotAUrl),
            ("wss://relay.example.com/\r\nHost:x", AddressError::NotAUrl),
        ] {
            assert_eq!(RelayAddress::parse(text).unwrap_err(), why, "{text}");
        }
        let long = format!("wss://r.example/{}", "a".repeat(MAX_ADDRESS_BYTES));
        assert_eq!(RelayAddress::parse(&long).unwrap_err(), AddressError::TooLong);
        let grows = format!("wss://r.example/{}", "ü".repeat(100));
        assert_eq!(RelayAddress::parse(&grows).unwrap_err(), AddressError::TooLong);
    }

    #[test]
    fn private_addresses_and_privileged_ports_of_users_are_refused() {
        for text in ["127.0.0.1", "2130706433", "0x7f.0.0.1:8080", "[::1]:8080", "169.254.169.254", "example.com:22"] {
            let text = format!("ws://{text}");
            let port = text.ends_with(":22");
            let why = if port { AddressError::PrivilegedPort } else { AddressError::NotPublic };
            assert_eq!(RelayAddress::parse_from_user(&text).unwrap_err(), why, "{text}");
            assert!(RelayAddress::parse(&text).is_ok(), "{text}: the operator may");
        }
        for fine in ["wss://relay.example.com", "ws://relay.example.com", "wss://r.example:7777", "wss://8.8.8.8"] {
            assert!(RelayAddress::parse_from_user(fine).is_ok(), "{fine}");
        }
    }

    #[test]
    fn site_is_the_registrable_domain_or_ip() {
        for (text, site) in [
            ("wss://relay.example.com/path?a=b", "example.com"),
            ("wss://a.b.c.example.com:4848", "example.com"),
            ("ws://example.com", "example.com"),
            ("wss://relay.example.co.uk", "example.co.uk"),
            ("wss://a.nos.lol", "nos.lol"),
            ("wss://x.ab.io", "ab.io"),
            ("ws://localhost", "localhost"),
            ("ws://co.uk", "co.uk"),
            ("wss://relay.example.com.", "example.com"),
            ("ws://8.8.8.8:7777", "8.8.8.8"),
            ("ws://[2001:4860::1]/x", "2001:4860::"),
            ("ws://[::ffff:8.8.8.8]", "8.8.8.8"),
        ] {
            assert_eq!(RelayAddress::parse(text).unwrap().site(), site);
        }
        let url_simplicity = |text: &str| RelayAddress::parse(text).unwrap().url_simplicity();
        assert_eq!(url_simplicity("wss://r.example/"), 2);
        assert_eq!(url_simplicity("wss://r.example:443"), 2);
        assert_eq!(url_simplicity("wss://r.example:8443"), 1);
        assert_eq!((url_simplicity("wss://r.example/x"), url_simplicity("wss://r.example/?x")), (0, 0));
    }
}
