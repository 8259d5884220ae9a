//! Connection strings.

use std::str::FromStr;

use nostr::{Keys, SecretKey};
use url::Url;
use usher_protocol::PublicKey;

/// Most relays of a connection string used.
const MAX_RELAYS: usize = 8;

/// A connection string: `nostr+walletconnect://<backend's key>?relay=<url>&relay=<url>&secret=<our key>`. Anybody who
/// has it can spend money, so `Debug` hides it.
#[derive(Clone)]
pub struct ConnectionUri {
    pub(crate) backend: PublicKey,
    /// Our key, which identifies us to the backend.
    pub(crate) keys: Keys,
    /// The relays over which the backend is reached.
    pub(crate) relays: Vec<Url>,
}

/// A text is not a connection string. Does not contain the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a connection string of Nostr Wallet Connect: nostr+walletconnect://<key>?relay=<url>&secret=<key>")]
pub struct InvalidConnectionUri;

usher_protocol::debug_shows!(ConnectionUri(..));

impl FromStr for ConnectionUri {
    type Err = InvalidConnectionUri;

    fn from_str(text: &str) -> Result<Self, InvalidConnectionUri> {
        let url = Url::parse(text.trim()).map_err(|_| InvalidConnectionUri)?;
        if !matches!(url.scheme(), "nostr+walletconnect" | "nostrwalletconnect") {
            return Err(InvalidConnectionUri);
        }
        // Some backends omit the slashes.
        let key = url.host_str().unwrap_or_else(|| url.path());
        let backend = PublicKey::from_hex(key).map_err(|_| InvalidConnectionUri)?;
        let mut relays = Vec::new();
        let mut secret = None;
        for (name, value) in url.query_pairs() {
            match name.as_ref() {
                "relay" => {
                    let relay = Url::parse(&value).map_err(|_| InvalidConnectionUri)?;
                    if !matches!(relay.scheme(), "ws" | "wss") || relay.host_str().is_none() {
                        return Err(InvalidConnectionUri);
                    }
                    if relays.len() < MAX_RELAYS && !relays.contains(&relay) {
                        relays.push(relay);
                    }
                }
                "secret" => secret = SecretKey::from_hex(&value).ok(),
                _ => {}
            }
        }
        match secret {
            Some(secret) if !relays.is_empty() => Ok(Self { backend, keys: Keys::new(secret), relays }),
            _ => Err(InvalidConnectionUri),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "b889ff5b1513b641e2a139f661a661364979c5beee91842f8f0ef42ab558e9d4";
    const SECRET: &str = "71a8c14c1407c113601079c4302dab36460f0ccd0ad506f1f2dc73b5100e4f3c";

    #[test]
    fn all_relays_are_kept() {
        let text = format!(
            "nostr+walletconnect://{KEY}?relay=wss%3A%2F%2Frelay.one&relay=ws://127.0.0.1:7000/x&secret={SECRET}&lud16=me%40x.y"
        );
        let url: ConnectionUri = text.parse().unwrap();
        let relays: Vec<_> = url.relays.iter().map(Url::as_str).collect();
        assert_eq!(relays, ["wss://relay.one/", "ws://127.0.0.1:7000/x"]);
        assert_eq!(url.backend.to_hex(), KEY);
        assert_eq!(url.keys.secret_key().to_secret_hex(), SECRET);
    }

    #[test]
    fn invalid_texts_are_refused_and_secrets_are_not_shown() {
        for text in [
            String::new(),
            format!("nostr+walletconnect://{KEY}?secret={SECRET}"),
            format!("nostr+walletconnect://{KEY}?relay=wss://relay.one"),
            format!("nostr+walletconnect://{KEY}?relay=https://relay.one&secret={SECRET}"),
            format!("nostr+walletconnect://{}?relay=wss://relay.one&secret={SECRET}", &KEY[1..]),
            format!("nostr+walletconnect://{KEY}?relay=wss://relay.one&secret=0"),
            format!("https://{KEY}?relay=wss://relay.one&secret={SECRET}"),
        ] {
            assert!(text.parse::<ConnectionUri>().is_err(), "{text}");
        }
        let good = format!("nostr+walletconnect:{KEY}?relay=wss://relay.one&secret={SECRET}");
        assert_eq!(format!("{:?}", good.parse::<ConnectionUri>().unwrap()), "ConnectionUri(…)");
    }
}
