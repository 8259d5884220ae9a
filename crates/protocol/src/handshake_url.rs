//! The handshake URL, which a user scans (docs/protocol.md, Key handshake).
//!
//! ```text
//! <scheme>://<npub>?relays=<url>,<url>&token=<token>[&subkey=<npub>][&no_request=true]
//! ```
//!
//! **Encoding.** Each value is percent-encoded: every byte but `A–Z a–z 0–9 - . _ ~` becomes `%XX`. The addresses in
//! `relays` are encoded separately and joined by plain commas; commas in an address are first replaced by `%2C`.
//!
//! **Parsing** also accepts any scheme, a hexadecimal key, encoded commas between addresses and a `/` after the key; it
//! ignores unknown parameters and a fragment, and refuses repeated parameters. `+` is a plus sign.

use std::fmt;
use std::str::FromStr;

use nostr::PublicKey;
use nostr::nips::nip19::FromBech32;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::keys::{npub, parse_public_key};
use crate::relay_url::is_relay_url;
use crate::serde_helpers::MAX_ID_BYTES;

/// Longest URL parsed, in bytes: more than the largest QR code holds (4,296 alphanumerics).
pub const MAX_URL_BYTES: usize = 4608;

/// Most relays a URL may name.
pub const MAX_RELAYS: usize = 16;

const MAX_SCHEME_BYTES: usize = 64;

/// All but RFC 3986's unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A handshake URL. `Debug` omits the token: anybody who has it can reply in the user's place.
#[derive(Clone, PartialEq, Eq)]
pub struct HandshakeUrl {
    /// The scheme, without `://`.
    pub scheme: String,
    /// The service's main key.
    pub main_key: PublicKey,
    /// Addresses of relays at which the service listens; `Display` writes the first [`MAX_RELAYS`], readers refuse more.
    pub relays: Vec<String>,
    /// The token that the reply must contain.
    pub token: String,
    /// The key of the service if it runs on a subkey: replies go to it.
    pub subkey: Option<PublicKey>,
    /// No authentication challenge will follow.
    pub no_request: bool,
}

/// Why a text is not a handshake URL. Never repeats the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeUrlError {
    /// Longer than [`MAX_URL_BYTES`].
    #[error("the handshake URL is longer than {MAX_URL_BYTES} bytes")]
    TooLong,
    /// Not of the form `scheme://key?…`.
    #[error("not a handshake URL (scheme://key?relays=…&token=…)")]
    NotAUrl,
    /// The key is neither `npub` nor hexadecimal, or not a point on the curve.
    #[error("the handshake URL's key is not a public key")]
    BadKey,
    /// The subkey is neither `npub` nor hexadecimal, or not a point on the curve.
    #[error("the handshake URL's subkey is not a public key")]
    BadSubkey,
    /// An address is not that of a relay.
    #[error("the handshake URL names something that is not the address of a relay")]
    BadRelay,
    /// More than [`MAX_RELAYS`].
    #[error("the handshake URL names more than {MAX_RELAYS} relays")]
    TooManyRelays,
    /// The token is missing, empty, too long, or has control characters.
    #[error("the handshake URL has no usable token")]
    BadToken,
    /// A parameter is repeated.
    #[error("the handshake URL gives a parameter twice")]
    Repeated,
    /// A value is not percent-encoded UTF-8.
    #[error("the handshake URL is not UTF-8")]
    NotText,
}

impl HandshakeUrl {
    /// The percent-encoded token of the URL: some wallets send it without decoding it.
    pub fn encoded_token(&self) -> String {
        utf8_percent_encode(&self.token, ENCODED).to_string()
    }

    /// Writes the URL with `npub`s of its keys, which take longer to encode than everything else.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl fmt::Write, main_key: &str, subkey: Option<&str>) -> fmt::Result {
        write!(out, "{}://{main_key}?relays=", self.scheme)?;
        for (position, relay) in self.relays.iter().take(MAX_RELAYS).enumerate() {
            let comma = if position == 0 { "" } else { "," };
            write!(out, "{comma}{}", utf8_percent_encode(&relay.replace(',', "%2C"), ENCODED))?;
        }
        write!(out, "&token={}", utf8_percent_encode(&self.token, ENCODED))?;
        if let Some(subkey) = subkey {
            write!(out, "&subkey={subkey}")?;
        }
        if self.no_request {
            out.write_str("&no_request=true")?;
        }
        Ok(())
    }

    /// The key to which the reply is encrypted.
    pub fn recipient(&self) -> PublicKey {
        self.subkey.unwrap_or(self.main_key)
    }
}

impl fmt::Display for HandshakeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &npub(&self.main_key), self.subkey.as_ref().map(npub).as_deref())
    }
}

crate::debug_shows!(HandshakeUrl { scheme, main_key, relays, subkey, no_request });

impl FromStr for HandshakeUrl {
    type Err = HandshakeUrlError;

    fn from_str(text: &str) -> Result<Self, HandshakeUrlError> {
        if text.len() > MAX_URL_BYTES {
            return Err(HandshakeUrlError::TooLong);
        }
        let text = text.split('#').next().unwrap_or_default();
        let (scheme, rest) = text.split_once("://").ok_or(HandshakeUrlError::NotAUrl)?;
        if !is_scheme(scheme) {
            return Err(HandshakeUrlError::NotAUrl);
        }
        let (key, query) = rest.split_once('?').ok_or(HandshakeUrlError::NotAUrl)?;
        let main_key = parse_key(key.strip_suffix('/').unwrap_or(key)).ok_or(HandshakeUrlError::BadKey)?;

        let mut parameters = Parameters::default();
        for parameter in query.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            parameters.take(name, value)?;
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            main_key,
            relays: parameters.relays.map(parse_relays).transpose()?.unwrap_or_default(),
            token: parse_token(parameters.token.ok_or(HandshakeUrlError::BadToken)?)?,
            subkey: match parameters.subkey {
                Some(subkey) => Some(parse_key(&decode(subkey)?).ok_or(HandshakeUrlError::BadSubkey)?),
                None => None,
            },
            no_request: parameters.no_request.map(decode).transpose()?.as_deref() == Some("true"),
        })
    }
}

#[derive(Default)]
struct Parameters<'a> {
    relays: Option<&'a str>,
    token: Option<&'a str>,
    subkey: Option<&'a str>,
    no_request: Option<&'a str>,
}

impl<'a> Parameters<'a> {
    fn take(&mut self, name: &str, value: &'a str) -> Result<(), HandshakeUrlError> {
        let known = match name {
            "relays" => &mut self.relays,
            "token" => &mut self.token,
            "subkey" => &mut self.subkey,
            "no_request" => &mut self.no_request,
            _ => return Ok(()),
        };
        match known.replace(value) {
            Some(_) => Err(HandshakeUrlError::Repeated),
            None => Ok(()),
        }
    }
}

/// Whether `text` is a scheme (RFC 3986) of reasonable length.
pub fn is_scheme(text: &str) -> bool {
    text.len() <= MAX_SCHEME_BYTES
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

fn parse_key(text: &str) -> Option<PublicKey> {
    let key = match PublicKey::from_bech32(text) {
        Ok(key) => key,
        Err(_) => return parse_public_key(text).ok(),
    };
    key.xonly().is_ok().then_some(key)
}

fn parse_relays(value: &str) -> Result<Vec<String>, HandshakeUrlError> {
    let mut relays = Vec::new();
    for part in value.split(',') {
        let part = decode(part)?;
        for relay in part.split(',').filter(|relay| !relay.is_empty()) {
            if relays.len() == MAX_RELAYS {
                return Err(HandshakeUrlError::TooManyRelays);
            }
            if !is_relay_url(relay) {
                return Err(HandshakeUrlError::BadRelay);
            }
            relays.push(relay.to_owned());
        }
    }
    Ok(relays)
}

fn parse_token(value: &str) -> Result<String, HandshakeUrlError> {
    let token = decode(value)?;
    if token.is_empty() || token.len() > MAX_ID_BYTES || token.chars().any(char::is_control) {
        return Err(HandshakeUrlError::BadToken);
    }
    Ok(token)
}

fn decode(value: &str) -> Result<String, HandshakeUrlError> {
    percent_decode_str(value).decode_utf8().map(String::from).map_err(|_| HandshakeUrlError::NotText)
}

/// Decodes a token that was sent percent-encoded, as deployed wallets do (docs/protocol.md, Key handshake), with digits
/// in either case and unnecessary encoding. `None` if nothing in it is encoded, or the result is not text.
pub fn decode_token(sent: &str) -> Option<String> {
    decode(sent).ok().filter(|token| token != sent)
}
