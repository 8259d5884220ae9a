//! Settings of the service on Nostr.

use usher_protocol::handshake_url::MAX_RELAYS;
use usher_protocol::keys::{KeyError, parse_secret_key};
use usher_protocol::subkey::SubkeyProof;
use usher_protocol::{Keys, PublicKey};
use usher_relays::RelayAddress;

use super::lists::{are_different, list_setting};
use super::{RawValue, SET, Setting, empty, text, unfit};

/// The service's private key. `Debug` shows the public key only.
#[derive(Clone, Debug)]
pub struct PrivateKey(Keys);

impl PrivateKey {
    /// The public key.
    pub fn public(&self) -> PublicKey {
        self.0.public_key()
    }

    /// The key pair.
    pub const fn keys(&self) -> &Keys {
        &self.0
    }
}

impl Setting for PrivateKey {
    fn expected() -> String {
        "64 hex characters".to_owned()
    }
    const SECRET: bool = true;

    fn read(given: &RawValue) -> Result<Self, String> {
        let text = text::<Self>(given)?;
        if text.trim_start().get(..4).is_some_and(|start| start.eq_ignore_ascii_case("nsec")) {
            return Err("is an nsec; convert it to hex with `usher key from-nsec`".to_owned());
        }
        let key = parse_secret_key(text).map_err(|error| match error {
            KeyError::NotAScalar => "is out of range for a private key".to_owned(),
            _ => unfit::<Self>(),
        })?;
        Ok(Self(Keys::new(key)))
    }

    fn show(&self) -> String {
        format!("{SET} (public key {})", self.public().to_hex())
    }
}

/// Addresses of relays: at least one, without duplicates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relays(Vec<RelayAddress>);

impl Relays {
    /// The addresses.
    pub fn addresses(&self) -> &[RelayAddress] {
        &self.0
    }
}

impl Setting for Relays {
    fn expected() -> String {
        "a list of ws:// or wss:// URLs, separated by commas".to_owned()
    }

    fn read(given: &RawValue) -> Result<Self, String> {
        let list: Vec<&str> = match given {
            RawValue::Text(text) if text.trim().is_empty() => return Err(empty::<Self>()),
            RawValue::Text(text) => text.split(',').collect(),
            RawValue::List(list) if list.is_empty() => return Err(empty::<Self>()),
            RawValue::List(list) => list.iter().map(String::as_str).collect(),
            _ => return Err(unfit::<Self>()),
        };
        let (mut addresses, mut wrong, all) = (Vec::new(), String::new(), list.len());
        for (position, text) in (1..).zip(list) {
            match RelayAddress::parse(text) {
                Ok(address) if addresses.contains(&address) => {}
                Ok(address) => addresses.push(address),
                Err(error) => wrong.push_str(&format!("; number {position} of {all}: {error}")),
            }
        }
        if !wrong.is_empty() {
            return Err(format!("must be {}{wrong}", Self::expected()));
        }
        if addresses.len() > MAX_RELAYS {
            return Err(format!("must be at most {MAX_RELAYS} URLs"));
        }
        Ok(Self(addresses))
    }

    fn show(&self) -> String {
        let addresses: Vec<&str> = self.0.iter().map(RelayAddress::as_str).collect();
        toml::Value::from(addresses).to_string()
    }
}

const MAX_SCHEMES: usize = 4;

list_setting!(
    /// Schemes of URLs (RFC 3986 section 3.1): at least one, without duplicates.
    UrlSchemes(String), all,
    format!(
        "a list of at most {MAX_SCHEMES} schemes of URLs, such as nostr+walletconnect or portal, without ://, separated by commas"
    ),
    "[\"portal\"]",
    scheme, |schemes| (1..=MAX_SCHEMES).contains(&schemes.len()) && are_different(schemes), String::as_str
);

impl UrlSchemes {
    /// The first, without `://`.
    pub fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    /// The others, without `://`.
    pub fn others(&self) -> &[String] {
        self.0.get(1..).unwrap_or_default()
    }
}

fn scheme(text: &str) -> Option<String> {
    is_scheme(text).then(|| text.to_owned())
}

/// Whether it is a scheme, other than those that run scripts.
fn is_scheme(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.'))
        && !matches!(text, "javascript" | "data" | "vbscript")
}

impl Setting for SubkeyProof {
    fn expected() -> String {
        "the JSON text of a subkey proof".to_owned()
    }
    const EXAMPLE: &'static str = "'{\"main_key\": \"…\", \"metadata\": {…}}'";

    fn read(given: &RawValue) -> Result<Self, String> {
        Self::parse(text::<Self>(given)?).map_err(|error| format!("is {error}"))
    }

    fn show(&self) -> String {
        format!("a proof for the main key {}", self.main_key.to_hex())
    }
}
