//! The envelope: a signed Nostr event whose content is a NIP-44 v2 ciphertext (docs/protocol.md, Envelope).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use nostr::hashes::{Hash as _, HashEngine as _, Hmac, HmacEngine, sha256};
use nostr::nips::nip44::v2::{self, ConversationKey};
use nostr::secp256k1::rand::rngs::OsRng;
use nostr::secp256k1::rand::{self, CryptoRng, RngCore};
use nostr::{Event, EventBuilder, EventId, Keys, Kind, PublicKey, SECP256K1, Tag, Timestamp};

/// Largest `content` of an inbound event, in bytes: base64 of the largest NIP-44 v2 payload has 87,472.
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

/// The contents of an event, and its participants.
#[derive(Clone, Copy)]
pub struct Contents<'a> {
    /// All keys of the other side (main key and known subkeys): each becomes a `p` tag, the same on every copy.
    pub participants: &'a [PublicKey],
    /// The event's kind.
    pub kind: u16,
    /// The message's text.
    pub plaintext: &'a str,
    /// The event's `created_at`, in Unix seconds.
    pub created_at: u64,
}

/// Creates an event with `plaintext` from `sender` to `recipient`, a different one each time, dated `created_at` (Unix
/// seconds). `participants`, all keys of the other side, become `p` tags. `replies_to` becomes an `e` and a `d` tag.
/// Only subkey proofs use it: their kind is addressable, and some relays refuse such events without a `d` tag.
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
    let contents = Contents { participants, kind, plaintext, created_at };
    seal_with(sender, conversation, &contents, replies_to, &mut OsRng)
}

/// Creates the event of these contents, byte for byte the same each time: wallets recognise repetitions by the event's
/// id. The nonce is derived from the contents and the conversation key.
///
/// # Errors
/// As [`seal`].
pub fn seal_repeatable(
    sender: &Keys,
    conversation: &ConversationKey,
    contents: &Contents<'_>,
) -> Result<Event, EnvelopeError> {
    seal_with(sender, conversation, contents, None, &mut Derived::of(conversation, contents))
}

fn seal_with<R: RngCore + CryptoRng>(
    sender: &Keys,
    conversation: &ConversationKey,
    contents: &Contents<'_>,
    replies_to: Option<EventId>,
    randomness: &mut R,
) -> Result<Event, EnvelopeError> {
    let payload = v2::encrypt_to_bytes_with_rng(randomness, conversation, contents.plaintext.as_bytes())
        .map_err(|_| EnvelopeError::Unencryptable)?;
    let about = replies_to.map(|event| [Tag::event(event), Tag::identifier(event.to_hex())]);
    let tags = contents.participants.iter().map(|key| Tag::public_key(*key)).chain(about.into_iter().flatten());
    EventBuilder::new(Kind::from_u16(contents.kind), BASE64.encode(payload))
        .tags(tags)
        .allow_self_tagging()
        .custom_created_at(Timestamp::from_secs(contents.created_at))
        .build(sender.public_key())
        .sign_with_ctx(SECP256K1, randomness, sender)
        .map_err(|_| EnvelopeError::Unsignable)
}

/// Pseudorandom bytes derived from the contents with the conversation key: HMAC-SHA256 blocks in counter mode.
struct Derived {
    key: HmacEngine<sha256::Hash>,
    block: [u8; 32],
    used: usize,
    counter: u64,
}

impl Derived {
    fn of(conversation: &ConversationKey, contents: &Contents<'_>) -> Self {
        let mut key = HmacEngine::<sha256::Hash>::new(conversation.as_bytes());
        // All fields but the last have a fixed length, so different contents give different inputs. NIP-44 uses the
        // same key for messages of at least 33 bytes that begin with a nonce; a nonce never begins with this text.
        key.input(b"usher: the nonce of a repeatable event");
        key.input(&contents.kind.to_be_bytes());
        key.input(&contents.created_at.to_be_bytes());
        key.input(&(contents.participants.len() as u64).to_be_bytes());
        contents.participants.iter().for_each(|participant| key.input(participant.as_bytes()));
        key.input(sha256::Hash::hash(contents.plaintext.as_bytes()).as_byte_array());
        Self { key, block: [0; 32], used: 32, counter: 0 }
    }
}

impl RngCore for Derived {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.used >= self.block.len() {
                let mut engine = self.key.clone();
                engine.input(&self.counter.to_be_bytes());
                self.block = Hmac::from_engine(engine).to_byte_array();
                (self.counter, self.used) = (self.counter.wrapping_add(1), 0);
            }
            *byte = self.block.get(self.used).copied().unwrap_or_default();
            self.used += 1;
        }
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand::Error> {
        self.fill_bytes(bytes);
        Ok(())
    }
}

impl CryptoRng for Derived {}

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

/// The event that `event` refers to: the first `e` tag with an event id among its first 64 tags.
pub fn replies_to(event: &Event) -> Option<EventId> {
    event.tags.iter().take(64).find_map(|tag| match tag.as_slice() {
        [name, id, ..] if name == "e" => EventId::from_hex(id).ok(),
        _ => None,
    })
}
