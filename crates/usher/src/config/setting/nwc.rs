//! The address of a Lightning wallet by Nostr Wallet Connect.

use secrecy::SecretString;
use url::Url;
use usher_protocol::keys::{parse_public_key, parse_secret_key};
use usher_protocol::relay_url::is_relay_url;
use usher_protocol::{Keys, PublicKey};

use super::{Given, SET, Setting, text, unfit};

/// Longest address that is looked at, in bytes: far more than one with [`MAX_RELAYS`] takes.
const MAX_BYTES: usize = 8192;
/// The most relays; wallets give out one or a few.
const MAX_RELAYS: usize = 16;

/// A Nostr Wallet Connect address (NIP-47); whoever has it can spend.
#[derive(Clone, Debug)]
pub struct NwcUrl {
    whole: SecretString,
    wallet: PublicKey,
    relays: Vec<String>,
    keys: Keys,
}

impl NwcUrl {
    /// The whole address.
    pub const fn secret(&self) -> &SecretString {
        &self.whole
    }

    /// The wallet's key.
    pub const fn wallet(&self) -> PublicKey {
        self.wallet
    }

    /// The relays at which the wallet listens, none twice, as the address has them; at least one.
    pub fn relays(&self) -> &[String] {
        &self.relays
    }

    /// The keys with which this service speaks to the wallet.
    pub const fn keys(&self) -> &Keys {
        &self.keys
    }
}

impl Setting for NwcUrl {
    fn shape() -> String {
        "a nostr+walletconnect:// address with the wallet's key, a relay and a secret".to_owned()
    }
    const EXAMPLE: &'static str = "\"nostr+walletconnect://<key>?relay=wss%3A%2F%2Frelay.example.com&secret=<secret>\"";
    const SECRET: bool = true;

    fn read(given: &Given) -> Result<Self, String> {
        parse(text::<Self>(given)?).map_err(|problem| format!("{}; {problem}", unfit::<Self>()))
    }

    fn show(&self) -> String {
        SET.to_owned()
    }
}

/// Reads an address; what is wrong with one never repeats a part of it.
fn parse(text: &str) -> Result<NwcUrl, String> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= MAX_BYTES).ok_or("it is not a URL")?;
    if url.scheme() != "nostr+walletconnect" {
        return Err("its scheme is another".to_owned());
    }
    let plain = url.username().is_empty() && url.password().is_none() && url.port().is_none();
    if !plain || !matches!(url.path(), "" | "/") || url.fragment().is_some() {
        return Err("between the key and the ? there must be nothing, and no # after it".to_owned());
    }
    let wallet = url.host_str().and_then(|key| parse_public_key(key).ok());
    let wallet = wallet.ok_or("the wallet's key is not a public key of 64 hex characters")?;

    let (mut relays, mut secret) = (Vec::new(), None);
    for (name, value) in url.query_pairs() {
        match &*name {
            "relay" if !is_relay_url(&value) => return Err("a relay is not a ws:// or wss:// address".to_owned()),
            "relay" if !relays.iter().any(|known| *known == value) => relays.push(value.into_owned()),
            "secret" if secret.is_some() => return Err("there are two secrets".to_owned()),
            "secret" => {
                let key =
                    parse_secret_key(&value).map_err(|_| "the secret is not a private key of 64 hex characters")?;
                secret = Some(Keys::new(key));
            }
            // `lud16` is for people's profiles; anything else is for others.
            _ => {}
        }
    }
    if relays.is_empty() {
        return Err("it names no relay".to_owned());
    }
    if relays.len() > MAX_RELAYS {
        return Err(format!("it names more than {MAX_RELAYS} relays"));
    }
    let keys = secret.ok_or("it has no secret")?;
    Ok(NwcUrl { whole: text.into(), wallet, relays, keys })
}
