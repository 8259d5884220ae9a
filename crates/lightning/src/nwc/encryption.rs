//! The two encryptions of NIP-47.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nostr::nips::nip04;
use nostr::nips::nip44::v2::{self, ConversationKey};
use nostr::{PublicKey, SecretKey};

/// Longest content decrypted, in bytes; the requested responses have a few hundred.
const MAX_CONTENT_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// NIP-04, for old backends.
    Nip04,
    /// NIP-44 version 2.
    Nip44,
}

/// A message could not be encrypted or decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

pub(crate) struct Cipher {
    ours: SecretKey,
    theirs: PublicKey,
    conversation: ConversationKey,
}

impl Cipher {
    pub(crate) fn new(ours: &SecretKey, theirs: PublicKey) -> Result<Self, Unreadable> {
        let conversation = ConversationKey::derive(ours, &theirs).map_err(|_| Unreadable)?;
        Ok(Self { ours: ours.clone(), theirs, conversation })
    }

    pub(crate) fn seal(&self, scheme: Scheme, text: &str) -> Result<String, Unreadable> {
        match scheme {
            Scheme::Nip04 => nip04::encrypt(&self.ours, &self.theirs, text).map_err(|_| Unreadable),
            Scheme::Nip44 => {
                let bytes = v2::encrypt_to_bytes(&self.conversation, text.as_bytes()).map_err(|_| Unreadable)?;
                Ok(STANDARD.encode(bytes))
            }
        }
    }

    /// Decrypts a content of either scheme; NIP-04 is recognised by its form.
    pub(crate) fn open(&self, content: &str) -> Result<String, Unreadable> {
        if content.len() > MAX_CONTENT_BYTES {
            return Err(Unreadable);
        }
        if content.contains("?iv=") {
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
