//! Passkeys on the page of a login: the browser derives the user's key from one (WebAuthn with the PRF extension),
//! signs the login's proof with it, and sends both. No secret of the user reaches the service.
//!
//! A proof is accepted if the authenticator's response is for this login's last challenge, and the event names the
//! passkey and that challenge. A new passkey is stored in the commit that approves the login, so nothing remains of an
//! abandoned one. Challenges are only in memory: after a restart the user presses the button again.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use lru::LruCache;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use usher_passkey::{
    Assertion, AssertionCeremony, MAX_CREDENTIAL_ID_BYTES, PasskeyError, RegistrationCeremony, RelyingParty,
};
use usher_places::bounded;
use usher_protocol::login_proof::LoginProofError;
use usher_protocol::{Keys, PublicKey, SecretKey};
use usher_token_bucket::Rate;

use super::Logins;
use super::page_view::LoginPageError;
use crate::kernel::commit::ModifyError;
use crate::kernel::network_rates::NetworkRates;
use crate::operations::{Login, LoginOver};
use crate::ports::{Passkey, PasskeyChange, PasskeyCount, StoreError};
use crate::{ClientNetwork, StreamId};

/// Pending challenges, each about 200 bytes.
const MAX_CEREMONIES: usize = 20_000;

/// How long a challenge is valid: the user may save a recovery file meanwhile.
const CEREMONY_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// Most passkeys in total: each takes about 300 bytes of the database.
const MAX_PASSKEYS: u64 = 1_000_000;

/// When the table is full, passkeys that were never used again are removed after this time.
const UNUSED_AFTER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Shortest interval between such cleanups: the store reads the whole table.
const BETWEEN_CLEANUPS: Duration = Duration::from_secs(60 * 60);

/// Most removed at once.
const MOST_FORGOTTEN: usize = 10_000;

/// Most passkeys per key: a user has a few devices.
const MAX_OF_USER: u64 = 20;

/// New passkeys that one network may register.
const RATE: Rate = Rate::every(60, Duration::from_secs(30));

/// Version, nonce, and the key with its authentication tag (`crates/pages/passkey-script/src/keys.js`).
const WRAPPED_KEY_BYTES: usize = 1 + 24 + 32 + 16;

/// The state of passkeys between two requests of a page.
pub(crate) struct Passkeys {
    relying_party: Option<RelyingParty>,
    /// Keys that anybody can compute.
    keys_of_nothing: Vec<PublicKey>,
    /// With their start times.
    ceremonies: Mutex<LruCache<StreamId, (Ceremony, Duration)>>,
    rates: Mutex<NetworkRates>,
    /// Held from the check of a new passkey's id to the commit that stores it: of two users who register the same
    /// passkey at once, one is refused. The value is the time of the next allowed cleanup.
    registering: tokio::sync::Mutex<Duration>,
}

enum Ceremony {
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

/// What a page sends after a passkey was created or used.
#[derive(Deserialize)]
pub struct PasskeyProof {
    kind: PasskeyUse,
    /// The authenticator's response.
    passkey: Box<RawValue>,
    /// The user's key, encrypted for this passkey: base64url.
    #[serde(default)]
    wrapped_key: Option<String>,
    event: Box<RawValue>,
}

/// A key wrapped for a passkey, and its owner.
#[derive(Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// The user's key.
    pub main_key: PublicKey,
    /// The encrypted secret key as base64url; `None` if it is derived from the passkey itself.
    pub wrapped_key: Option<String>,
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

    fn relying_party(&self) -> Result<&RelyingParty, PasskeyLoginError> {
        self.relying_party.as_ref().ok_or(PasskeyLoginError::NotOffered)
    }

    /// Begins a ceremony in this login, replacing a pending one. Returns the options for the browser.
    fn begin(&self, login: StreamId, wanted: PasskeyUse, now: Duration) -> Result<Value, PasskeyLoginError> {
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
    fn take(&self, login: StreamId, now: Duration) -> Result<Ceremony, PasskeyLoginError> {
        let (ceremony, begun) = self.ceremonies.lock().pop(&login).ok_or(PasskeyLoginError::NoChallenge)?;
        let is_alive = now.saturating_sub(begun) < CEREMONY_LIFETIME;
        is_alive.then_some(ceremony).ok_or(PasskeyLoginError::NoChallenge)
    }

    fn take_registration(&self, network: ClientNetwork, now: Duration) -> Result<(), PasskeyLoginError> {
        self.rates.lock().take(network, now).map_err(|_| PasskeyLoginError::TooOften)
    }
}

impl Logins {
    /// The options for the user's authenticator: `PublicKeyCredentialCreationOptionsJSON` or
    /// `PublicKeyCredentialRequestOptionsJSON`. The login then accepts only this response.
    ///
    /// # Errors
    /// [`PasskeyLoginError`].
    pub async fn passkey_options(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        wanted: PasskeyUse,
    ) -> Result<Value, PasskeyLoginError> {
        self.own_open(id, page_secret, browser).await?;
        self.passkeys.begin(id, wanted, self.core.clock.monotonic())
    }

    /// The key wrapped for a passkey. It cannot be opened without the passkey's authenticator.
    ///
    /// # Errors
    /// [`PasskeyLoginError`].
    pub async fn wrapped_key(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        credential_id: &str,
    ) -> Result<WrappedKey, PasskeyLoginError> {
        self.own_open(id, page_secret, browser).await?;
        let credential_id =
            URL_SAFE_NO_PAD.decode(credential_id).map_err(|_| PasskeyLoginError::Malformed("the passkey's id"))?;
        let passkey = self.known_passkey(&credential_id).await?;
        let wrapped_key = passkey.wrapped_key.map(|wrapped| URL_SAFE_NO_PAD.encode(wrapped));
        Ok(WrappedKey { main_key: passkey.main_key, wrapped_key })
    }

    /// Handles a passkey that was created or used, with the login's event signed with its key.
    ///
    /// # Errors
    /// [`PasskeyLoginError`].
    pub async fn prove_with_passkey(
        &self,
        id: StreamId,
        page_secret: &str,
        browser: Option<&str>,
        proof: &PasskeyProof,
        network: ClientNetwork,
    ) -> Result<(), PasskeyLoginError> {
        let (_, _, login) = self.own_open(id, page_secret, browser).await?;
        let ceremony = self.passkeys.take(id, self.core.clock.monotonic())?;
        let mut registering = None;
        let (main_key, change) = match (proof.kind, ceremony) {
            (PasskeyUse::Create, Ceremony::Registration(ceremony)) => {
                let next_cleanup = registering.insert(self.passkeys.registering.lock().await);
                self.registered(id, &login, proof, ceremony, network, next_cleanup).await?
            }
            (PasskeyUse::Get, Ceremony::Assertion(ceremony)) => self.used(id, &login, proof, ceremony).await?,
            (PasskeyUse::Create | PasskeyUse::Get, _) => return Err(PasskeyLoginError::NoChallenge),
        };
        if self.passkeys.keys_of_nothing.contains(&main_key) {
            return Err(PasskeyLoginError::KeyOfNothing);
        }
        if !self.is_within_limits(&login, Some(main_key), network) {
            return Err(PasskeyLoginError::TooOften);
        }
        let now = self.core.clock.now();
        self.change(id, page_secret, browser, |login| {
            let proven = login.prove_with_passkey(main_key, change.clone(), now);
            Ok(proven.map_err(|LoginOver| LoginPageError::Ended)?)
        })
        .await
    }

    /// Handles a created passkey, with the event signed with its key.
    async fn registered(
        &self,
        id: StreamId,
        login: &Login,
        proof: &PasskeyProof,
        ceremony: RegistrationCeremony,
        network: ClientNetwork,
        next_cleanup: &mut Duration,
    ) -> Result<(PublicKey, PasskeyChange), PasskeyLoginError> {
        let challenge = ceremony.challenge().to_owned();
        let credential = self.passkeys.relying_party()?.register(ceremony, proof.passkey.get())?;
        let main_key = self.signer_of(id, login, proof, &credential.id, &challenge)?;
        let wrapped_key = proof.wrapped_key.as_ref().map(|wrapped| URL_SAFE_NO_PAD.decode(wrapped));
        let wrapped_key = wrapped_key.transpose().map_err(|_| PasskeyLoginError::Malformed("the wrapped key"))?;
        if wrapped_key.as_ref().is_some_and(|wrapped| wrapped.len() != WRAPPED_KEY_BYTES) {
            return Err(PasskeyLoginError::Malformed("the wrapped key"));
        }
        if self.core.store.passkey(&credential.id).await?.is_some() {
            return Err(PasskeyLoginError::Known);
        }
        self.passkeys.take_registration(network, self.core.clock.monotonic())?;
        let PasskeyCount { mut in_all, of_user } = self.core.store.passkey_count(&main_key).await?;
        if in_all >= MAX_PASSKEYS && self.core.clock.monotonic() >= *next_cleanup {
            *next_cleanup = self.core.clock.monotonic() + BETWEEN_CLEANUPS;
            let unused_since = self.core.clock.now().minus(UNUSED_AFTER);
            let forgotten = self.core.store.forget_unused_passkeys(unused_since, MOST_FORGOTTEN).await?;
            tracing::warn!(forgotten, "the most passkeys are kept: those go that nobody has used again for a year");
            in_all = in_all.saturating_sub(u64::try_from(forgotten).unwrap_or(u64::MAX));
        }
        if in_all >= MAX_PASSKEYS {
            tracing::warn!(passkeys = in_all, "no more passkeys are kept: a new one was refused");
        }
        if in_all >= MAX_PASSKEYS || of_user >= MAX_OF_USER {
            return Err(PasskeyLoginError::TooMany);
        }
        let now = self.core.clock.now();
        let passkey = Passkey { credential, main_key, wrapped_key, created_at: now, used_at: now };
        Ok((main_key, PasskeyChange::Add(Box::new(passkey))))
    }

    /// Handles a used passkey, with the event signed with its key.
    async fn used(
        &self,
        id: StreamId,
        login: &Login,
        proof: &PasskeyProof,
        ceremony: AssertionCeremony,
    ) -> Result<(PublicKey, PasskeyChange), PasskeyLoginError> {
        let challenge = ceremony.challenge().to_owned();
        let assertion = Assertion::parse(proof.passkey.get())?;
        let credential_id = assertion.credential_id().to_vec();
        let passkey = self.known_passkey(&credential_id).await?;
        let state = self.passkeys.relying_party()?.verify(ceremony, &assertion, &passkey.credential)?;
        let main_key = self.signer_of(id, login, proof, &credential_id, &challenge)?;
        if main_key != passkey.main_key {
            return Err(PasskeyLoginError::OtherKey);
        }
        Ok((main_key, PasskeyChange::Use { credential_id, state }))
    }

    /// The key that signed the event for this login, passkey and challenge.
    fn signer_of(
        &self,
        id: StreamId,
        login: &Login,
        proof: &PasskeyProof,
        credential_id: &[u8],
        challenge: &str,
    ) -> Result<PublicKey, LoginProofError> {
        let (credential_id, now) = (URL_SAFE_NO_PAD.encode(credential_id), self.core.clock.now().secs());
        self.challenge(id, login).verify_passkey_json(proof.event.get(), &credential_id, challenge, now)
    }

    async fn known_passkey(&self, credential_id: &[u8]) -> Result<Passkey, PasskeyLoginError> {
        if credential_id.len() > MAX_CREDENTIAL_ID_BYTES {
            return Err(PasskeyLoginError::Malformed("the passkey's id"));
        }
        self.core.store.passkey(credential_id).await?.ok_or(PasskeyLoginError::Unknown)
    }

    /// Removes a user's passkeys. Returns how many there were.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn forget_passkeys(&self, main_key: &PublicKey) -> Result<usize, StoreError> {
        self.core.store.forget_passkeys(main_key).await
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
