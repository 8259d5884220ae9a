//! The stored form of a session.

use serde::{Deserialize, Serialize};
use url::Url;
use usher_engine::ports::{Randomness, RemoteSignerError, SignerStage};
use usher_nostr_connection::address_guard::AddressSource;
use usher_protocol::{Keys, PublicKey, SecretKey};

use crate::bunker_url::BunkerUrl;
use crate::relay_url;

/// Consecutive refusals after which a session is discarded: most signers refuse with the same words whether their user
/// declines or they no longer know us.
const MAX_REFUSALS: u32 = 3;

/// Refusals of signers that do not know us, in lower case.
const UNKNOWN: [&str; 3] = ["unknown client", "unknown app", "not connected"];

/// Most relays of a signer used beside those with which the session began.
const MAX_SIGNER_RELAYS: usize = 3;

#[derive(Serialize, Deserialize)]
pub(crate) struct Session {
    /// Our key in hex.
    client_key: String,
    /// What the signer returns when the user has opened our address, or what we send to a signer whose address was
    /// pasted; may be empty for the latter.
    pub(crate) secret: String,
    relays: Vec<Url>,
    /// Whether a user named these relays.
    from_user: bool,
    /// Relays to which the signer has moved.
    #[serde(default)]
    signer_relays: Vec<Url>,
    pub(crate) signer: Option<PublicKey>,
    #[serde(default)]
    pub(crate) connected: bool,
    /// The user whose key the signer holds, as claimed by the signer.
    #[serde(default)]
    pub(crate) user: Option<PublicKey>,
    /// Refusals since its last signature.
    #[serde(default)]
    refusals: u32,
}

impl Session {
    /// A session with a signer that will open our address.
    pub(crate) fn invited(relays: Vec<Url>, randomness: &dyn Randomness) -> Self {
        Self::new(relays, false, random_text(randomness), None, randomness)
    }

    pub(crate) fn with(bunker: BunkerUrl, randomness: &dyn Randomness) -> Self {
        Self::new(bunker.relays, true, bunker.secret, Some(bunker.signer), randomness)
    }

    fn new(
        relays: Vec<Url>,
        from_user: bool,
        secret: String,
        signer: Option<PublicKey>,
        randomness: &dyn Randomness,
    ) -> Self {
        let client_key = new_keys(randomness).secret_key().to_secret_hex();
        let (signer_relays, connected, user, refusals) = (Vec::new(), false, None, 0);
        Self { client_key, secret, relays, from_user, signer_relays, signer, connected, user, refusals }
    }

    pub(crate) const fn signed(&mut self) {
        self.refusals = 0;
    }

    /// Records a refusal to sign; returns whether the session can be used again.
    pub(crate) fn refused(&mut self, reason: &str) -> bool {
        self.refusals = self.refusals.saturating_add(1);
        let reason = reason.to_lowercase();
        self.refusals < MAX_REFUSALS && !UNKNOWN.iter().any(|unknown| reason.contains(unknown))
    }

    pub(crate) fn keys(&self) -> Result<Keys, RemoteSignerError> {
        SecretKey::parse(&self.client_key).map(Keys::new).map_err(|_| RemoteSignerError::Unusable)
    }

    pub(crate) const fn stage(&self) -> SignerStage {
        match (self.connected, self.from_user) {
            (true, _) => SignerStage::Connected,
            (false, true) => SignerStage::AwaitingBunker,
            (false, false) => SignerStage::AwaitingScan,
        }
    }

    pub(crate) fn invitation_relays(&self) -> &[Url] {
        &self.relays
    }

    /// Every relay over which the signer may be reached, with its restrictions.
    pub(crate) fn relays(&self, user_source: AddressSource) -> impl Iterator<Item = (&Url, AddressSource)> {
        let first = if self.from_user { user_source } else { AddressSource::Operator };
        let began = self.relays.iter().map(move |url| (url, first));
        began.chain(self.signer_relays.iter().map(move |url| (url, user_source)))
    }

    /// Records that the signer has moved to these relays. It may still reply on the others. Returns whether any is new.
    pub(crate) fn move_to(&mut self, relays: &[String], user_source: AddressSource) -> bool {
        let relays = relays.iter().filter_map(|relay| relay_url::parse(relay, user_source));
        let mut found: Vec<Url> = Vec::new();
        for relay in relays.filter(|relay| !self.relays.contains(relay)) {
            if found.len() < MAX_SIGNER_RELAYS && !found.contains(&relay) {
                found.push(relay);
            }
        }
        let has_new = !found.is_empty() && found != self.signer_relays;
        if has_new {
            self.signer_relays = found;
        }
        has_new
    }
}

pub(crate) fn new_keys(randomness: &dyn Randomness) -> Keys {
    let mut bytes = [0; 32];
    loop {
        randomness.fill(&mut bytes);
        // An invalid key (zero, or not below the order of the curve) is practically impossible; the loop retries.
        if let Ok(secret) = SecretKey::from_slice(&bytes) {
            return Keys::new(secret);
        }
    }
}

/// A secret or request id: 128 random bits.
pub(crate) fn random_text(randomness: &dyn Randomness) -> String {
    let mut bytes = [0; 16];
    randomness.fill(&mut bytes);
    hex::encode(bytes)
}

#[cfg(test)]
mod tests {
    use usher_engine::ports::OsRandomness;

    use super::*;

    #[test]
    fn session_ends_with_the_third_refusal_in_a_row_or_when_the_signer_does_not_know_it() {
        let mut session = Session::invited(Vec::new(), &OsRandomness);
        assert!(session.refused("Not authorized") && session.refused("Not authorized"));
        session.signed();
        assert!(session.refused("user rejected") && session.refused("user rejected"));
        let stored = serde_json::to_string(&session).unwrap();
        let mut read: Session = serde_json::from_str(&stored).unwrap();
        assert!(!read.refused("user rejected"));
        for reason in ["Unknown client", "error: app is not connected"] {
            assert!(!Session::invited(Vec::new(), &OsRandomness).refused(reason), "{reason}");
        }
    }
}
