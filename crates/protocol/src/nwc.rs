//! Nostr Wallet Connect (NIP-47), as a service's Lightning wallet and its clients speak it: event kinds and encryptions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nostr::nips::nip04;
use nostr::nips::nip44::v2::{self, ConversationKey};
use nostr::{PublicKey, SecretKey};

/// The announcement of what a wallet supports.
pub const INFO: u16 = 13_194;
/// Request, client to wallet.
pub const REQUEST: u16 = 23_194;
/// Response, wallet to client.
pub const RESPONSE: u16 = 23_195;
/// Notification, wallet to client, encrypted with NIP-04.
pub const NOTIFICATION_NIP04: u16 = 23_196;
/// Notification, wallet to client, encrypted with NIP-44.
pub const NOTIFICATION: u16 = 23_197;

/// Longest content decrypted, in bytes; the requested responses have a few hundred.
const MAX_CONTENT_BYTES: usize = 64 * 1024;

crate::words! {
    /// How a message is encrypted, by its name in an `encryption` tag.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Scheme {
        /// NIP-04, for old wallets and clients.
        Nip04 = "nip04",
        /// NIP-44 version 2.
        Nip44 = "nip44_v2",
    }
}

impl Scheme {
    /// How this content is encrypted, by its form.
    pub fn of(content: &str) -> Self {
        if content.contains("?iv=") { Self::Nip04 } else { Self::Nip44 }
    }
}

/// A message could not be encrypted or decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Encrypts and decrypts between one key and another.
pub struct Cipher {
    ours: SecretKey,
    theirs: PublicKey,
    conversation: ConversationKey,
}

crate::debug_shows!(Cipher { theirs });

impl Cipher {
    /// A cipher between our secret key and their public key.
    ///
    /// # Errors
    /// [`Unreadable`] when the keys cannot be combined.
    pub fn new(ours: &SecretKey, theirs: PublicKey) -> Result<Self, Unreadable> {
        let conversation = ConversationKey::derive(ours, &theirs).map_err(|_| Unreadable)?;
        Ok(Self { ours: ours.clone(), theirs, conversation })
    }

    /// Encrypts a text.
    ///
    /// # Errors
    /// [`Unreadable`] when it is too long.
    pub fn seal(&self, scheme: Scheme, text: &str) -> Result<String, Unreadable> {
        match scheme {
            Scheme::Nip04 => nip04::encrypt(&self.ours, &self.theirs, text).map_err(|_| Unreadable),
            Scheme::Nip44 => {
                let bytes = v2::encrypt_to_bytes(&self.conversation, text.as_bytes()).map_err(|_| Unreadable)?;
                Ok(STANDARD.encode(bytes))
            }
        }
    }

    /// Decrypts a content of either scheme; NIP-04 is recognised by its form.
    ///
    /// # Errors
    /// [`Unreadable`], also when it is too long.
    pub fn open(&self, content: &str) -> Result<String, Unreadable> {
        if content.len() > MAX_CONTENT_BYTES {
            return Err(Unreadable);
        }
        if Scheme::of(content) == Scheme::Nip04 {
            return nip04::decrypt(&self.ours, &self.theirs, content).map_err(|_| Unreadable);
        }
        let payload = STANDARD.decode(content).map_err(|_| Unreadable)?;
        if payload.first() != Some(&2) {
            return Err(Unreadable);
        }
        let bytes = v2::decrypt_to_bytes(&self.conversation, &payload).map_err(|_| Unreadable)?;
        String::from_utf8(bytes).map_err(|_| Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use nostr::Keys;

    use super::*;

    #[test]
    fn both_schemes_round_trip() {
        let (app, wallet) = (Keys::generate(), Keys::generate());
        let ours = Cipher::new(app.secret_key(), wallet.public_key()).unwrap();
        let theirs = Cipher::new(wallet.secret_key(), app.public_key()).unwrap();
        for scheme in [Scheme::Nip04, Scheme::Nip44] {
            let sealed = ours.seal(scheme, "{\"méthode\":1}").unwrap();
            assert_eq!(theirs.open(&sealed).unwrap(), "{\"méthode\":1}");
            let cut = theirs.open(&sealed[1..]);
            // NIP-04 cannot detect alterations; there the event's signature protects the content.
            assert!(scheme == Scheme::Nip04 || cut == Err(Unreadable), "{cut:?}");
        }
        for content in ["", "?iv=", "AA==", "AgAA", "x?iv=y", "é"] {
            assert_eq!(ours.open(content), Err(Unreadable), "{content}");
        }
    }
}
