//! The envelope: a signed Nostr event whose content is a NIP-44 v2 ciphertext (wallet-protocol.md section 1).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use nostr::nips::nip44::v2::{self, ConversationKey};
use nostr::{Event, EventBuilder, EventId, Keys, Kind, PublicKey, Tag, Timestamp};

/// Largest `content` of an inbound event that is looked at, in bytes.
///
/// Relays commonly cap a whole event at 64 KiB; base64 of the largest NIP-44 v2 payload (65,603 bytes) is 87,472.
pub const MAX_CONTENT_BYTES: usize = 88 * 1024;

/// Longest plaintext that can be sealed, in bytes: the most that NIP-44 v2's padding and two-byte length can hold.
pub const MAX_PLAINTEXT_BYTES: usize = 65_408;

/// Why an event could not be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// The event's id or signature is wrong.
    #[error("the event's id or signature is wrong")]
    Forged,
    /// The content is longer than [`MAX_CONTENT_BYTES`].
    #[error("the content is longer than {MAX_CONTENT_BYTES} bytes")]
    TooLong,
    /// The content is not NIP-44 v2, or not encrypted to this key.
    #[error("the content cannot be decrypted with this key")]
    Undecryptable,
    /// The plaintext is not UTF-8.
    #[error("the plaintext is not UTF-8")]
    NotText,
    /// The message is too long for one event.
    #[error("the message cannot be encrypted: it is empty or too long")]
    Unencryptable,
    /// The event could not be signed.
    #[error("the event cannot be signed")]
    Unsignable,
}

/// Makes the event that carries `plaintext` from `sender` to `recipient`.
///
/// `participants` are all keys of the far side (main key and known subkeys): each becomes a `p` tag, the same on every
/// copy. `replies_to` becomes an `e` tag (only subkey proofs use it). `created_at` is Unix seconds.
///
/// # Errors
/// [`EnvelopeError::Unencryptable`] when the plaintext is empty or over [`MAX_PLAINTEXT_BYTES`].
pub fn seal(
    sender: &Keys,
    conversation: &ConversationKey,
    participants: &[PublicKey],
    replies_to: Option<EventId>,
    kind: u16,
    plaintext: &str,
    created_at: u64,
) -> Result<Event, EnvelopeError> {
    let payload = v2::encrypt_to_bytes(conversation, plaintext.as_bytes()).map_err(|_| EnvelopeError::Unencryptable)?;
    let tags = participants.iter().map(|key| Tag::public_key(*key)).chain(replies_to.map(Tag::event));
    EventBuilder::new(Kind::from_u16(kind), BASE64.encode(payload))
        .tags(tags)
        .allow_self_tagging()
        .custom_created_at(Timestamp::from_secs(created_at))
        .sign_with_keys(sender)
        .map_err(|_| EnvelopeError::Unsignable)
}

/// The NIP-44 conversation key between `ours` and `theirs`; deriving it costs an ECDH (about 35 µs), so cache it.
///
/// # Errors
/// [`EnvelopeError::Undecryptable`] when `theirs` is not a point on the curve.
pub fn conversation_key(ours: &Keys, theirs: &PublicKey) -> Result<ConversationKey, EnvelopeError> {
    ConversationKey::derive(ours.secret_key(), theirs).map_err(|_| EnvelopeError::Undecryptable)
}

/// Checks an event's id and signature (about 30 µs).
///
/// # Errors
/// [`EnvelopeError::Forged`].
pub fn verify(event: &Event) -> Result<(), EnvelopeError> {
    event.verify().map_err(|_| EnvelopeError::Forged)
}

/// Decrypts the content of an event already [verified](verify).
///
/// # Errors
/// [`EnvelopeError::TooLong`], [`EnvelopeError::Undecryptable`], [`EnvelopeError::NotText`].
pub fn open(conversation: &ConversationKey, event: &Event) -> Result<String, EnvelopeError> {
    if event.content.len() > MAX_CONTENT_BYTES {
        return Err(EnvelopeError::TooLong);
    }
    let payload = BASE64.decode(&event.content).map_err(|_| EnvelopeError::Undecryptable)?;
    if payload.first() != Some(&2) {
        return Err(EnvelopeError::Undecryptable);
    }
    let plain = v2::decrypt_to_bytes(conversation, &payload).map_err(|_| EnvelopeError::Undecryptable)?;
    String::from_utf8(plain).map_err(|_| EnvelopeError::NotText)
}

/// The event that `event` refers to: its first `e` tag that holds an event id.
///
/// Looks at the first 64 tags: our own events have a handful, and a stranger's can have thousands.
pub fn replies_to(event: &Event) -> Option<EventId> {
    event.tags.iter().take(64).find_map(|tag| match tag.as_slice() {
        [name, id, ..] if name == "e" => EventId::from_hex(id).ok(),
        _ => None,
    })
}
