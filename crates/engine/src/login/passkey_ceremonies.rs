//! What passkeys need between two requests of a page: the challenge that a login got last, and limits.

use std::time::Duration;

use hmac::{Hmac, Mac as _};
use lru::LruCache;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use usher_passkey::{AssertionCeremony, PasskeyError, RegistrationCeremony, RelyingParty};
use usher_places::bounded;
use usher_protocol::login_proof::LoginProofError;
use usher_protocol::{Keys, PublicKey, SecretKey};
use usher_token_bucket::Rate;

use super::page_view::LoginPageError;
use crate::kernel::network_rates::NetworkRates;
use crate::kernel::request_errors::ModifyError;
use crate::ports::StoreError;
use crate::{ClientNetwork, StreamId};

/// Pending challenges, each about 200 bytes.
const MAX_CEREMONIES: usize = 20_000;

/// How long a challenge is valid: browsers offer passkeys in a field while the page is open.
const CEREMONY_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// New passkeys that one network may register.
const RATE: Rate = Rate::every(60, Duration::from_secs(30));

/// The state of passkeys between two requests of a page.
pub(crate) struct Passkeys {
    relying_party: Option<RelyingParty>,
    /// Keys that anybody can compute.
    pub(super) keys_of_nothing: Vec<PublicKey>,
    /// With their start times.
    ceremonies: Mutex<LruCache<StreamId, (Ceremony, Duration)>>,
    rates: Mutex<NetworkRates>,
    /// Held from the check of a new passkey's id to the commit that stores it: of two users who register the same
    /// passkey at once, one is refused. The value is the time of the next allowed cleanup.
    pub(super) registering: tokio::sync::Mutex<Duration>,
}

pub(super) enum Ceremony {
    Registration(RegistrationCeremony),
    Assertion(AssertionCeremony),
}

/// What the user does with a passkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PasskeyUse {
    /// They make one.
    Create,
    /// They use one.
    Get,
}

/// Why a passkey approves no login.
#[derive(Debug, thiserror::Error)]
pub enum PasskeyLoginError {
    /// This browser cannot change the login.
    #[error(transparent)]
    Page(#[from] LoginPageError),
    /// The service offers no passkeys.
    #[error("passkeys are not offered")]
    NotOffered,
    /// Not a request of the page's script.
    #[error("not a passkey's proof: {0}")]
    Malformed(&'static str),
    /// The service does not know this passkey.
    #[error("the passkey is not known")]
    Unknown,
    /// A passkey with this id already exists.
    #[error("the passkey is known already")]
    Known,
    /// No challenge is pending for this response: it was used, or the service has restarted.
    #[error("no challenge waits for an answer")]
    NoChallenge,
    /// The authenticator's response is invalid.
    #[error(transparent)]
    Passkey(#[from] PasskeyError),
    /// The signed event is not a proof.
    #[error(transparent)]
    Proof(#[from] LoginProofError),
    /// The event was signed with another key than the passkey's.
    #[error("the event was signed with another key than that of the passkey")]
    OtherKey,
    /// The key is derived from a missing PRF result, so that everybody has it.
    #[error("the key is made of nothing, and everybody can compute it")]
    KeyOfNothing,
    /// Too many logins at this reusable login, or too many new passkeys from this network.
    #[error("too many logins, or too many new passkeys")]
    TooOften,
    /// This key, or the service, has the maximum of passkeys.
    #[error("there is no room for another passkey")]
    TooMany,
}

impl ModifyError for PasskeyLoginError {}

impl From<StoreError> for PasskeyLoginError {
    fn from(error: StoreError) -> Self {
        Self::Page(error.into())
    }
}

impl Passkeys {
    pub(crate) fn new(relying_party: Option<RelyingParty>) -> Self {
        let keys_of_nothing = relying_party.as_ref().map(|party| keys_of_nothing(party.rp_id())).unwrap_or_default();
        Self {
            relying_party,
            keys_of_nothing,
            ceremonies: Mutex::new(bounded(MAX_CEREMONIES)),
            rates: Mutex::new(NetworkRates::new(RATE)),
            registering: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn rp_id(&self) -> Option<&str> {
        self.relying_party.as_ref().map(RelyingParty::rp_id)
    }

    pub(super) fn relying_party(&self) -> Result<&RelyingParty, PasskeyLoginError> {
        self.relying_party.as_ref().ok_or(PasskeyLoginError::NotOffered)
    }

    /// Begins a ceremony in this login, replacing a pending one. Returns the options for the browser.
    pub(super) fn begin(&self, login: StreamId, wanted: PasskeyUse, now: Duration) -> Result<Value, PasskeyLoginError> {
        let party = self.relying_party()?;
        let unusable = |_| StoreError::Unexpected("an authenticator cannot be asked");
        let (ceremony, options) = match wanted {
            PasskeyUse::Create => {
                let (ceremony, options) = party.begin_registration().map_err(unusable)?;
                (Ceremony::Registration(ceremony), options)
            }
            PasskeyUse::Get => {
                let (ceremony, options) = party.begin_assertion().map_err(unusable)?;
                (Ceremony::Assertion(ceremony), options)
            }
        };
        self.ceremonies.lock().put(login, (ceremony, now));
        Ok(options)
    }

    /// Takes the ceremony of this login, which can be used once.
    pub(super) fn take(&self, login: StreamId, now: Duration) -> Result<Ceremony, PasskeyLoginError> {
        let (ceremony, begun) = self.ceremonies.lock().pop(&login).ok_or(PasskeyLoginError::NoChallenge)?;
        let is_alive = now.saturating_sub(begun) < CEREMONY_LIFETIME;
        is_alive.then_some(ceremony).ok_or(PasskeyLoginError::NoChallenge)
    }

    pub(super) fn take_registration(&self, network: ClientNetwork, now: Duration) -> Result<(), PasskeyLoginError> {
        self.rates.lock().take(network, now).map_err(|_| PasskeyLoginError::TooOften)
    }
}

/// The public keys that a page derives, for this RP id, from PRF results that anybody can know (ADR 6): empty or zeros,
/// into which JavaScript converts a text, an object or a number; ones; the returned input.
fn keys_of_nothing(rp_id: &str) -> Vec<PublicKey> {
    const MOST_ZEROS: usize = 64;
    let hmac = |key: &[u8], data: &[&[u8]]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        data.iter().for_each(|part| mac.update(part));
        Some(mac.finalize().into_bytes())
    };
    // HKDF (RFC 5869) of one block.
    let secret = |prf: &[u8]| {
        let extracted = hmac(b"usher passkey v1", &[prf])?;
        let expanded = hmac(&extracted, &[b"nostr key\0", rp_id.as_bytes(), b"\x000\x01"])?;
        SecretKey::from_slice(&expanded).ok()
    };
    let zeros = [0; MOST_ZEROS];
    let input = Sha256::digest("usher passkey prf v1");
    // The browser's conversion of the input for the authenticator (WebAuthn, section 10.1.4).
    let salt = Sha256::digest([b"WebAuthn PRF\0".as_slice(), input.as_slice()].concat());
    let others = [input.as_slice(), salt.as_slice(), &[0xff; 32]].map(secret);
    let all = (0..=MOST_ZEROS).filter_map(|length| secret(zeros.get(..length)?)).chain(others.into_iter().flatten());
    all.map(|secret| Keys::new(secret).public_key()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixtures::{network, stream as login};

    const SECOND: Duration = Duration::from_secs(1);

    fn passkeys() -> Passkeys {
        Passkeys::new(Some(RelyingParty::new("shop.example", "https://shop.example", "Shop").unwrap()))
    }

    #[test]
    fn network_registers_a_burst_and_then_one_at_a_time() {
        let passkeys = passkeys();
        let registered = |network, at| (0..100).filter(|_| passkeys.take_registration(network, at).is_ok()).count();
        assert_eq!(registered(network(1), SECOND), 60);
        assert_eq!(registered(network(1), SECOND * 61), 2);
        assert_eq!(registered(network(2), SECOND), 60, "another network");
        assert_eq!(registered(ClientNetwork::Loopback, SECOND), 100);
    }

    #[test]
    fn challenge_is_answered_once_in_time_and_only_the_last_one_counts() {
        let passkeys = passkeys();
        let begin = |wanted| passkeys.begin(login(1), wanted, SECOND).unwrap();
        let take = |number, now| passkeys.take(login(number), now);
        assert!(matches!(take(1, SECOND), Err(PasskeyLoginError::NoChallenge)));
        begin(PasskeyUse::Create);
        let last = begin(PasskeyUse::Get);
        assert!(matches!(take(2, SECOND), Err(PasskeyLoginError::NoChallenge)));
        let taken = take(1, SECOND * 600).unwrap();
        assert!(matches!(taken, Ceremony::Assertion(ceremony) if last["challenge"] == ceremony.challenge()));
        assert!(matches!(take(1, SECOND), Err(PasskeyLoginError::NoChallenge)));
        begin(PasskeyUse::Get);
        assert!(matches!(take(1, SECOND * 601), Err(PasskeyLoginError::NoChallenge)), "too late");
        let refused = Passkeys::new(None).begin(login(1), PasskeyUse::Get, SECOND);
        assert!(matches!(refused, Err(PasskeyLoginError::NotOffered)));
    }

    /// The script derives the same keys: `passkey-script/test/vectors.json`.
    #[test]
    fn keys_of_nothing_are_known() {
        let vectors = include_str!("../../../pages/passkey-script/test/vectors.json");
        let vectors: Value = serde_json::from_str(vectors).unwrap();
        let vectors = vectors["of_nothing"].as_array().unwrap();
        assert_eq!(vectors.len(), 6);
        for vector in vectors {
            let keys = keys_of_nothing(vector["rp_id"].as_str().unwrap());
            assert!(keys.iter().any(|key| vector["main_key"] == key.to_hex()), "{vector}");
        }
    }
}
