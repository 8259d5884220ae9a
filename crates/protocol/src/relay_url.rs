//! URLs of relays: untrusted input.

use url::Url;

/// Longest relay address accepted, in bytes.
pub const MAX_RELAY_URL_BYTES: usize = 512;

/// Whether `text` is an address of a relay: a `ws` or `wss` URL with a host, without credentials, spaces or control
/// characters, of at most [`MAX_RELAY_URL_BYTES`]. The code that connects must check the network address.
pub fn is_relay_url(text: &str) -> bool {
    if text.len() > MAX_RELAY_URL_BYTES || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return false;
    }
    Url::parse(text).is_ok_and(|url| {
        matches!(url.scheme(), "ws" | "wss") && url.has_host() && url.username().is_empty() && url.password().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::is_relay_url;

    #[test]
    fn valid_and_invalid_relay_urls() {
        for good in ["wss://relay.example.com", "ws://127.0.0.1:7777/", "wss://[::1]/x?y=z", "WSS://RELAY.EXAMPLE"] {
            assert!(is_relay_url(good), "{good}");
        }
        let long = format!("wss://relay.example/{}", "x".repeat(500));
        for bad in ["", "relay.example.com", "https://relay.example.com", "wss://", "javascript:alert(1)", &long] {
            assert!(!is_relay_url(bad), "{bad}");
        }
        for bad in ["wss://user:word@relay.example", "wss://relay.example/ x", " wss://a.example", "wss://a.example\n"]
        {
            assert!(!is_relay_url(bad), "{bad}");
        }
    }
}
