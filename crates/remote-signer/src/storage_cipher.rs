//! Encrypts sessions for the caller's storage: anybody who has one can request signatures from the user's signer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use nostr::nips::nip44::v2::{self, ConversationKey};
use sha2::Sha256;
use usher_engine::ports::{RemoteSignerError, SignerSession};
use usher_protocol::SecretKey;

use crate::stored_session::Session;

/// Domain separation: no other key of the service is derived with this text.
const PURPOSE: &[u8] = b"usher: sessions of remote signers";

/// Encrypts with a key derived from the service's, as NIP-44 does with the key of a conversation: ChaCha20, and an
/// HMAC, which detects sessions that were altered or belong to another service.
pub(crate) struct SessionCipher(ConversationKey);

impl SessionCipher {
    pub(crate) fn of(service_key: &SecretKey) -> Option<Self> {
        let mut mac = Hmac::<Sha256>::new_from_slice(service_key.as_secret_bytes()).ok()?;
        mac.update(PURPOSE);
        Some(Self(ConversationKey::new(mac.finalize().into_bytes().into())))
    }

    pub(crate) fn seal(&self, session: &Session) -> Result<SignerSession, RemoteSignerError> {
        let text = serde_json::to_vec(session).map_err(|_| RemoteSignerError::Unusable)?;
        let sealed = v2::encrypt_to_bytes(&self.0, &text).map_err(|_| RemoteSignerError::Unusable)?;
        Ok(SignerSession(BASE64.encode(sealed)))
    }

    pub(crate) fn open(&self, stored: &SignerSession) -> Result<Session, RemoteSignerError> {
        let sealed = BASE64.decode(&stored.0).map_err(|_| RemoteSignerError::Unusable)?;
        let text = v2::decrypt_to_bytes(&self.0, &sealed).map_err(|_| RemoteSignerError::Unusable)?;
        serde_json::from_slice(&text).map_err(|_| RemoteSignerError::Unusable)
    }
}

#[cfg(test)]
mod tests {
    use usher_engine::ports::OsRandomness;

    use super::*;

    #[test]
    fn sessions_are_encrypted_and_only_this_service_reads_them() {
        let cipher = |byte: u8| SessionCipher::of(&SecretKey::from_slice(&[byte; 32]).unwrap()).unwrap();
        let session = Session::invited(vec!["wss://relay.example".parse().unwrap()], &OsRandomness);
        let stored = cipher(1).seal(&session).unwrap();
        let (key, secret) = (session.keys().unwrap(), &session.secret);
        for hidden in [&key.secret_key().to_secret_hex(), secret, "relay.example"] {
            assert!(!stored.0.contains(hidden) && !format!("{stored:?}").contains(hidden));
        }
        assert_eq!(cipher(1).open(&stored).unwrap().keys().unwrap(), key);
        assert!(cipher(2).open(&stored).is_err(), "another service");
        let mut altered = stored.0.clone().into_bytes();
        altered[60] ^= 1;
        assert!(cipher(1).open(&SignerSession(String::from_utf8(altered).unwrap())).is_err());
        for text in ["", "AgAA", "{}", "é"] {
            assert!(cipher(1).open(&SignerSession(text.to_owned())).is_err(), "{text}");
        }
    }
}
