//! Passkeys (WebAuthn): the options for the user's authenticator, and the verification of its responses.
//!
//! The service requires discoverable credentials, user verification, one origin, no cross-site frame and a counter that
//! never decreases, and requests no attestation. `webauthn_rp` creates the options, verifies registrations and reads
//! keys; assertions are verified here. Extension outputs are ignored. The page derives a key from the PRF extension,
//! whose secrets never reach the service.
//!
//! A ceremony is one attempt with its own challenge, and is verified once.

mod answer;
mod assertion;
mod error;
#[cfg(test)]
mod fuzz_targets;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use serde_json::{Value, json};
use webauthn_rp::bin::{Decode as _, Encode as _};
use webauthn_rp::request::register::{
    CredProtect, PublicKeyCredentialUserEntity, RegistrationVerificationOptions, UserHandle16,
};
use webauthn_rp::request::{AsciiDomain, RpId};
use webauthn_rp::response::Origin;
use webauthn_rp::response::register::{DynamicState, StaticState};
use webauthn_rp::{
    DiscoverableCredentialRequestOptions, PublicKeyCredentialCreationOptions, Registration, RegistrationServerState,
};

use crate::answer::AssertionResponse;
use crate::assertion::{Expected, StoredKey};
use crate::error::malformed;

pub use crate::error::PasskeyError;

const USER_HANDLE_BYTES: usize = 16;

/// Time limit for creating a passkey, in milliseconds: the user may save a recovery file meanwhile.
const REGISTRATION_TIMEOUT: NonZeroU32 = NonZeroU32::MIN.saturating_add(10 * 60 * 1_000 - 1);

/// Most bytes of a credential id (WebAuthn Level 3, section 4).
pub const MAX_CREDENTIAL_ID_BYTES: usize = 1_023;

/// The service as the relying party.
#[derive(Clone, Debug)]
pub struct RelyingParty {
    rp_id: RpId,
    origin: String,
    name: String,
}

/// A domain that cannot be an RP id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a domain")]
pub struct InvalidRpId;

/// The library refuses the options that this crate creates, which does not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the options for an authenticator could not be made")]
pub struct UnusableOptions;

/// The stored data of a passkey, without its owner. Contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The authenticator's id of it.
    pub id: Vec<u8>,
    /// A random id of the user for the authenticator.
    pub user_handle: Vec<u8>,
    /// Its public key and extensions.
    pub public_key: Vec<u8>,
    /// The state that changes with each use: the signature counter, and whether it is backed up.
    pub state: Vec<u8>,
}

/// The creation of a passkey.
pub struct RegistrationCeremony {
    state: RegistrationServerState<USER_HANDLE_BYTES>,
    challenge: String,
}

/// The use of a passkey.
pub struct AssertionCeremony {
    challenge: String,
}

impl fmt::Debug for RegistrationCeremony {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistrationCeremony").finish_non_exhaustive()
    }
}

impl fmt::Debug for AssertionCeremony {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AssertionCeremony").finish_non_exhaustive()
    }
}

impl RegistrationCeremony {
    /// The challenge for the browser: base64url.
    pub fn challenge(&self) -> &str {
        &self.challenge
    }
}

impl AssertionCeremony {
    /// The challenge for the browser: base64url.
    pub fn challenge(&self) -> &str {
        &self.challenge
    }
}

/// An assertion whose passkey is not looked up yet.
pub struct Assertion {
    credential_id: Vec<u8>,
    response: AssertionResponse,
}

impl fmt::Debug for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assertion").finish_non_exhaustive()
    }
}

impl Assertion {
    /// Parses the JSON text sent by a page (`AuthenticationResponseJSON`).
    ///
    /// # Errors
    /// [`PasskeyError::Malformed`].
    pub fn parse(json: &str) -> Result<Self, PasskeyError> {
        let (credential_id, response) = answer::assertion(json)?;
        Ok(Self { credential_id, response })
    }

    /// The id of the passkey, as claimed.
    pub fn credential_id(&self) -> &[u8] {
        &self.credential_id
    }
}

impl RelyingParty {
    /// `origin` is that of the pages, without a trailing slash; `name` is what authenticators show.
    ///
    /// # Errors
    /// [`InvalidRpId`] when `rp_id` is not a domain in lower-case ASCII.
    pub fn new(rp_id: &str, origin: &str, name: &str) -> Result<Self, InvalidRpId> {
        let domain = AsciiDomain::try_from(rp_id.to_owned()).map_err(|_| InvalidRpId)?;
        Ok(Self { rp_id: RpId::Domain(domain), origin: origin.to_owned(), name: name.to_owned() })
    }

    /// The RP id: the domain that authenticators bind passkeys to.
    pub fn rp_id(&self) -> &str {
        self.rp_id.as_ref()
    }

    /// Begins the creation of a passkey. The second value is for the browser: `PublicKeyCredentialCreationOptionsJSON`,
    /// without the PRF extension, which the page adds.
    pub fn begin_registration(&self) -> Result<(RegistrationCeremony, Value), UnusableOptions> {
        let handle = UserHandle16::new();
        let user = PublicKeyCredentialUserEntity::from(&handle);
        let mut options = PublicKeyCredentialCreationOptions::passkey(&self.rp_id, user, Vec::new());
        options.extensions.cred_protect = CredProtect::None;
        options.timeout = REGISTRATION_TIMEOUT;
        let (state, client) = options.start_ceremony().map_err(|_| UnusableOptions)?;
        let mut options = serde_json::to_value(&client).map_err(|_| UnusableOptions)?;
        // The library allows shorter names than the service does.
        for (pointer, name) in [("/rp", "name"), ("/user", "name"), ("/user", "displayName")] {
            let entity = options.pointer_mut(pointer).and_then(Value::as_object_mut).ok_or(UnusableOptions)?;
            entity.insert(name.to_owned(), json!(self.name));
        }
        let challenge = challenge_of(&options)?;
        Ok((RegistrationCeremony { state, challenge }, options))
    }

    /// Begins the use of any passkey for this service. The second value is for the browser:
    /// `PublicKeyCredentialRequestOptionsJSON`, without the PRF extension.
    pub fn begin_assertion(&self) -> Result<(AssertionCeremony, Value), UnusableOptions> {
        let options = DiscoverableCredentialRequestOptions::passkey(&self.rp_id);
        let (_, client) = options.start_ceremony().map_err(|_| UnusableOptions)?;
        let options = serde_json::to_value(&client).map_err(|_| UnusableOptions)?;
        let challenge = challenge_of(&options)?;
        Ok((AssertionCeremony { challenge }, options))
    }

    /// Verifies the creation of a passkey; `response` is `RegistrationResponseJSON`.
    pub fn register(&self, ceremony: RegistrationCeremony, response: &str) -> Result<Credential, PasskeyError> {
        let response = answer::registration(response)?;
        let registration = Registration::from_json_relaxed(response.as_bytes()).map_err(malformed)?;
        let origins = [Origin(Cow::Borrowed(self.origin.as_str()))];
        let options = RegistrationVerificationOptions::<Origin<'_>, Origin<'_>> {
            allowed_origins: &origins,
            error_on_unsolicited_extensions: false,
            ..RegistrationVerificationOptions::default()
        };
        let registered = ceremony
            .state
            .verify(&self.rp_id, &registration, &options)
            .map_err(|error| PasskeyError::Refused(error.to_string()))?;
        let Ok(public_key) = registered.static_state().encode();
        let Ok(state) = registered.dynamic_state().encode();
        Ok(Credential {
            id: registered.id().as_ref().to_vec(),
            user_handle: registered.user_id().as_ref().to_vec(),
            public_key,
            state: state.to_vec(),
        })
    }

    /// Verifies the use of this passkey. Returns its new state.
    // By value: a challenge can be used once.
    #[allow(clippy::needless_pass_by_value)]
    pub fn verify(
        &self,
        ceremony: AssertionCeremony,
        assertion: &Assertion,
        stored: &Credential,
    ) -> Result<Vec<u8>, PasskeyError> {
        let key = StaticState::<StoredKey>::decode(&stored.public_key).map_err(|_| PasskeyError::Unreadable)?;
        let state = stored.state.as_slice().try_into().map_err(|_| PasskeyError::Unreadable)?;
        let state = DynamicState::decode(state).map_err(|_| PasskeyError::Unreadable)?;
        if stored.user_handle.len() != USER_HANDLE_BYTES {
            return Err(PasskeyError::Unreadable);
        }
        if assertion.credential_id != stored.id || assertion.response.user_handle.0 != stored.user_handle {
            return Err(PasskeyError::Refused("another passkey".to_owned()));
        }
        let expected = Expected { rp_id: self.rp_id.as_ref(), origin: &self.origin, challenge: ceremony.challenge() };
        let state = assertion::verify(&expected, &assertion.response, &key.credential_public_key, state)?;
        let Ok(state) = state.encode();
        Ok(state.to_vec())
    }
}

fn challenge_of(options: &Value) -> Result<String, UnusableOptions> {
    options.get("challenge").and_then(Value::as_str).map(str::to_owned).ok_or(UnusableOptions)
}
