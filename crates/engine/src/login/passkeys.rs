//! Passkeys on the page of a login: the browser derives the user's key from one (WebAuthn with the PRF extension),
//! signs the login's proof with it, and sends both. No secret of the user reaches the service.
//!
//! A proof is accepted if the authenticator's response is for this login's last challenge, and the event names the
//! passkey and that challenge. A new passkey is stored in the commit that approves the login, so nothing remains of an
//! abandoned one. Challenges are only in memory: after a restart the user presses the button again.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use usher_passkey::{Assertion, AssertionCeremony, MAX_CREDENTIAL_ID_BYTES, RegistrationCeremony};
use usher_protocol::PublicKey;
use usher_protocol::login_proof::LoginProofError;

use super::Logins;
use super::page_view::LoginPageError;
use super::passkey_ceremonies::{Ceremony, PasskeyLoginError, PasskeyUse};
use crate::login::operation::{Login, LoginOver};
use crate::ports::{Passkey, PasskeyChange, PasskeyCount, StoreError};
use crate::{ClientNetwork, StreamId};

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

/// Version, nonce, and the key with its authentication tag (`crates/pages/passkey-script/src/keys.js`).
const WRAPPED_KEY_BYTES: usize = 1 + 24 + 32 + 16;

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

impl Logins {
    /// The options for the user's authenticator: `PublicKeyCredentialCreationOptionsJSON` or
    /// `PublicKeyCredentialRequestOptionsJSON`. The login then accepts only this response.
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
    pub async fn forget_passkeys(&self, main_key: &PublicKey) -> Result<usize, StoreError> {
        self.core.store.forget_passkeys(main_key).await
    }
}
