//! The two ways in which NIP-47 messages are encrypted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use nostr::nips::nip04;
use nostr::nips::nip44::v2::{self, ConversationKey};
use nostr::{Event, SecretKey};
use usher_protocol::PublicKey;
use usher_protocol::envelope::{EnvelopeError, MAX_CONTENT_BYTES, open};

/// How a message is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Nip04,
    Nip44,
}

impl Scheme {
    /// Its name in an `encryption` tag.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Nip04 => "nip04",
            Self::Nip44 => "nip44_v2",
        }
    }

    /// That of a request: without a tag it is the old one. `None` when nobody here knows it.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let tag = event.tags.iter().find(|tag| tag.as_slice().first().is_some_and(|name| name == "encryption"));
        match tag.and_then(|tag| tag.content()) {
            None | Some("nip04") => Some(Self::Nip04),
            Some("nip44_v2") => Some(Self::Nip44),
            Some(_) => None,
        }
    }
}

/// Encrypts and decrypts between one key and another.
pub(super) struct Cipher {
    ours: SecretKey,
    theirs: PublicKey,
    conversation: ConversationKey,
}

usher_protocol::debug_shows!(Cipher { theirs });

impl Cipher {
    /// A cipher between our secret key and their public key.
    ///
    /// # Errors
    /// [`EnvelopeError`] when the keys cannot be combined.
    pub(super) fn new(ours: &SecretKey, theirs: PublicKey) -> Result<Self, EnvelopeError> {
        let conversation = ConversationKey::derive(ours, &theirs).map_err(|_| EnvelopeError::Undecryptable)?;
        Ok(Self { ours: ours.clone(), theirs, conversation })
    }

    /// Encrypts a text.
    ///
    /// # Errors
    /// [`EnvelopeError`] when the text is too long.
    pub(super) fn seal(&self, scheme: Scheme, text: &str) -> Result<String, EnvelopeError> {
        match scheme {
            Scheme::Nip04 => nip04::encrypt(&self.ours, &self.theirs, text).map_err(|_| EnvelopeError::Unencryptable),
            Scheme::Nip44 => {
                let bytes = v2::encrypt_to_bytes(&self.conversation, text.as_bytes());
                Ok(BASE64.encode(bytes.map_err(|_| EnvelopeError::Unencryptable)?))
            }
        }
    }

    /// Decrypts the content of an event.
    pub(super) fn open(&self, scheme: Scheme, event: &Event) -> Result<String, EnvelopeError> {
        match scheme {
            Scheme::Nip44 => open(&self.conversation, event),
            Scheme::Nip04 if event.content.len() > MAX_CONTENT_BYTES => Err(EnvelopeError::TooLong),
            Scheme::Nip04 => {
                nip04::decrypt(&self.ours, &self.theirs, &event.content).map_err(|_| EnvelopeError::Undecryptable)
            }
        }
    }
}
