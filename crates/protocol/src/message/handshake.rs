//! Key handshake (docs/protocol.md, Key handshake).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::sensitive::Hidden;
use crate::relay_url::is_relay_url;
use crate::{serde_helpers, text};

/// Most relays kept of a user's handshake.
pub const MAX_PREFERRED_RELAYS: usize = 16;

/// Longest token accepted in a handshake, in bytes: an identifier (256 bytes) with every byte percent-encoded.
pub const MAX_SENT_TOKEN_BYTES: usize = 3 * serde_helpers::MAX_ID_BYTES;

/// Kind 27010: a user scanned the handshake URL; the event's author is the user's main key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHandshake {
    /// The token; some wallets send it percent-encoded ([`decode_token`](crate::handshake_url::decode_token)).
    #[serde(deserialize_with = "serde_helpers::longer_id::<_, MAX_SENT_TOKEN_BYTES>")]
    pub token: String,
    /// The user's wallet. Unreadable values are omitted, so that a login does not fail for them.
    #[serde(default, deserialize_with = "serde_helpers::if_readable")]
    pub client_info: Option<ClientInfo>,
    /// Where the user can be reached: the first [`MAX_PREFERRED_RELAYS`] [relay URLs](is_relay_url). Untrusted.
    #[serde(default, deserialize_with = "relays")]
    pub preferred_relays: Vec<String>,
}

/// The name and version of a wallet, for display; at most [`text::MAX_LABEL_CHARS`] each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientInfo {
    /// Its name.
    #[serde(default, deserialize_with = "label")]
    pub name: String,
    /// Its version.
    #[serde(default, deserialize_with = "label")]
    pub version: String,
}

fn relays<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    serde_helpers::some_of(deserializer, MAX_PREFERRED_RELAYS, is_relay_url)
}

fn label<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(serde_helpers::optional_words::<D, { text::MAX_LABEL_CHARS }>(deserializer)?.unwrap_or_default())
}

impl fmt::Debug for KeyHandshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyHandshake")
            .field("token", &Hidden)
            .field("client_info", &self.client_info)
            .field("preferred_relays", &self.preferred_relays)
            .finish()
    }
}
