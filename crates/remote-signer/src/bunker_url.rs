//! `bunker://` addresses of signers.

use url::Url;
use usher_engine::ports::InvalidSignerAddress;
use usher_nostr_connection::address_guard::AddressSource;
use usher_protocol::PublicKey;

use crate::relay_url;

/// Longest address accepted, in bytes.
const MAX_BYTES: usize = 2_048;

const MAX_SECRET_BYTES: usize = 256;

/// Most relays of an address used.
const MAX_RELAYS: usize = 3;

/// `bunker://<signer's key>?relay=<url>&relay=<url>&secret=<secret>`.
pub(crate) struct BunkerUrl {
    pub(crate) signer: PublicKey,
    pub(crate) relays: Vec<Url>,
    pub(crate) secret: String,
}

impl BunkerUrl {
    /// Parses an address pasted by a user; `source` is that of its relays.
    pub(crate) fn parse(text: &str, source: AddressSource) -> Result<Self, InvalidSignerAddress> {
        let text = text.trim();
        if text.len() > MAX_BYTES {
            return Err(InvalidSignerAddress::Malformed);
        }
        let url = Url::parse(text).map_err(|_| InvalidSignerAddress::Malformed)?;
        let key = url.host_str().filter(|_| url.scheme() == "bunker").ok_or(InvalidSignerAddress::Malformed)?;
        let signer = PublicKey::from_hex(key).map_err(|_| InvalidSignerAddress::Malformed)?;
        // Not every 32 bytes are a valid key.
        signer.xonly().map_err(|_| InvalidSignerAddress::Malformed)?;
        let (mut relays, mut secret) = (Vec::new(), String::new());
        for (name, value) in url.query_pairs() {
            match name.as_ref() {
                "relay" => {
                    let relay = relay_url::parse(&value, source);
                    relays.extend(relay.filter(|relay| relays.len() < MAX_RELAYS && !relays.contains(relay)));
                }
                "secret" => secret = value.into_owned(),
                _ => {}
            }
        }
        if secret.len() > MAX_SECRET_BYTES || secret.chars().any(char::is_control) {
            return Err(InvalidSignerAddress::Malformed);
        }
        if relays.is_empty() {
            return Err(InvalidSignerAddress::NoRelay);
        }
        Ok(Self { signer, relays, secret })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "b889ff5b1513b641e2a139f661a661364979c5beee91842f8f0ef42ab558e9d4";

    #[test]
    fn addresses_of_signers_are_read() {
        let text = format!(" bunker://{KEY}?relay=wss%3A%2F%2Frelay.one&relay=wss://relay.two/x&secret=a%20b&x=y\n");
        let url = BunkerUrl::parse(&text, AddressSource::User).unwrap();
        assert_eq!(url.signer.to_hex(), KEY);
        assert_eq!(url.relays.iter().map(Url::as_str).collect::<Vec<_>>(), ["wss://relay.one/", "wss://relay.two/x"]);
        assert_eq!(url.secret, "a b");
        let without = BunkerUrl::parse(&format!("bunker://{KEY}?relay=wss://relay.one"), AddressSource::User).unwrap();
        assert_eq!(without.secret, "");
        let many: String = (0..9).map(|n| format!("relay=wss://relay{n}.example&")).collect();
        assert_eq!(BunkerUrl::parse(&format!("bunker://{KEY}?{many}"), AddressSource::User).unwrap().relays.len(), 3);
    }

    #[test]
    fn other_texts_are_refused() {
        let long = format!("bunker://{KEY}?relay=wss://relay.one&secret={}", "x".repeat(3_000));
        for text in [
            "",
            "bunker://",
            "user@example.com",
            &format!("nostrconnect://{KEY}?relay=wss://relay.one"),
            &format!("bunker://{}?relay=wss://relay.one", &KEY[1..]),
            &format!("bunker://{}?relay=wss://relay.one", "f".repeat(64)),
            &format!("bunker://{KEY}?relay=wss://relay.one&secret=a%00b"),
            &long,
        ] {
            let refused = BunkerUrl::parse(text, AddressSource::User).err();
            assert_eq!(refused, Some(InvalidSignerAddress::Malformed), "{text}");
        }
        for relay in ["", "relay=ws://127.0.0.1:7777", "relay=https://relay.one", "relay=wss://relay.one:22"] {
            let refused = BunkerUrl::parse(&format!("bunker://{KEY}?{relay}"), AddressSource::User).err();
            assert_eq!(refused, Some(InvalidSignerAddress::NoRelay), "{relay}");
        }
    }
}
