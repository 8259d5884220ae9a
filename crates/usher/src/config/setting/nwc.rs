//! The address of a Lightning wallet by Nostr Wallet Connect.

use url::Url;
use usher_protocol::keys::{parse_public_key, parse_secret_key};
use usher_protocol::relay_url::is_relay_url;

use super::secret::secret_setting;
use super::unfit;

/// Longest address accepted, in bytes: far more than one with [`MAX_RELAYS`] needs.
const MAX_BYTES: usize = 8192;
/// Most relays, all of which are used; wallets name a few.
const MAX_RELAYS: usize = 8;

secret_setting!(
    /// A Nostr Wallet Connect address (NIP-47); anybody who has it can spend money.
    NwcUrl, "a nostr+walletconnect:// URL with the wallet's key, a relay and a secret",
    "\"nostr+walletconnect://<key>?relay=wss%3A%2F%2Frelay.example.com&secret=<secret>\"",
    |text| check(text).map_err(|problem| format!("{}; {problem}", unfit::<NwcUrl>()))
);

/// Validates an address; errors never contain parts of it.
fn check(text: &str) -> Result<(), &'static str> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_BYTES).ok_or("it is not a URL")?;
    if url.scheme() != "nostr+walletconnect" {
        return Err("its scheme is different");
    }
    let plain = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    // Some wallets omit the slashes.
    let (key, rest) = url.host_str().map_or((url.path(), ""), |host| (host, url.path()));
    if !plain || !matches!(rest, "" | "/") || url.fragment().is_some() {
        return Err("nothing may stand between the key and the ?, and no # is allowed");
    }
    if parse_public_key(key).is_err() {
        return Err("the wallet's key is not a public key of 64 hex characters");
    }
    let (mut relays, mut secrets) = (Vec::new(), 0);
    for (name, value) in url.query_pairs() {
        match &*name {
            "relay" if !is_relay_url(&value) => return Err("a relay is not a ws:// or wss:// URL"),
            "relay" if relays.contains(&value) => {}
            "relay" => relays.push(value),
            "secret" if parse_secret_key(&value).is_err() => {
                return Err("the secret is not a private key of 64 hex characters");
            }
            "secret" => secrets += 1,
            // `lud16` is for profiles; others are unknown.
            _ => {}
        }
    }
    match (relays.len(), secrets) {
        (0, _) => Err("it has no relay"),
        (1..=MAX_RELAYS, 1) => Ok(()),
        (1..=MAX_RELAYS, 0) => Err("it has no secret"),
        (1..=MAX_RELAYS, _) => Err("it has two secrets"),
        _ => Err("it has more than 8 relays"),
    }
}
