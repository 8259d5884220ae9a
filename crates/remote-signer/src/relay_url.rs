//! Addresses of relays.

use std::net::IpAddr;

use url::{Host, Url};
use usher_nostr_connection::address_guard::{AddressSource, is_public};
use usher_protocol::relay_url::is_relay_url;

/// Longest relay address of a user or signer, in bytes.
const MAX_USER_RELAY_BYTES: usize = 256;

/// The relay's address, if it may be connected to. Names of users' relays are checked again when resolved.
pub(crate) fn parse(text: &str, source: AddressSource) -> Option<Url> {
    let mut url = Url::parse(text).ok().filter(|_| is_relay_url(text))?;
    url.set_fragment(None);
    if source == AddressSource::Operator {
        return Some(url);
    }
    let ip = match url.host()? {
        Host::Ipv4(ip) => Some(IpAddr::V4(ip)),
        Host::Ipv6(ip) => Some(IpAddr::V6(ip)),
        Host::Domain(_) => None,
    };
    // Other services listen on the other low ports.
    let port_allowed = matches!(url.port_or_known_default(), Some(80 | 443 | 1024..));
    (text.len() <= MAX_USER_RELAY_BYTES && port_allowed && ip.is_none_or(is_public)).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_relays_must_be_public() {
        for public in ["wss://relay.example", "ws://relay.example:7777/x", "wss://8.8.8.8"] {
            assert!(parse(public, AddressSource::User).is_some(), "{public}");
        }
        let long = format!("wss://relay.example/{}", "x".repeat(300));
        for refused in
            ["ws://127.0.0.1", "ws://[::1]:7777", "ws://10.0.0.1", "wss://relay.example:22", "https://x.y", &long]
        {
            assert!(parse(refused, AddressSource::User).is_none(), "{refused}");
        }
        assert!(parse("ws://127.0.0.1:22", AddressSource::Operator).is_some());
    }
}
