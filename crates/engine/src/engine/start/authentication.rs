//! Starts an authentication.

use usher_protocol::PublicKey;

use super::{IdempotentRequest, Starter};
use crate::StreamId;
use crate::engine::StartError;
use crate::operations::{Authentication, MAX_SUBKEYS, Operation};

/// Asks a user to prove that they hold a key.
#[derive(Clone, Debug)]
pub struct AuthenticateKey {
    /// The key.
    pub main_key: PublicKey,
    /// Keys that may respond for it without a proof; at most [`Engine::MAX_SUBKEYS`](crate::Engine::MAX_SUBKEYS).
    pub subkeys: Vec<PublicKey>,
}

impl Starter {
    /// See [`Engine::start_authentication`](crate::Engine::start_authentication).
    pub(in crate::engine) async fn start_authentication(
        &self,
        request: AuthenticateKey,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        if request.subkeys.len() > MAX_SUBKEYS {
            return Err(StartError::invalid("/subkeys", format!("must have at most {MAX_SUBKEYS} keys")));
        }
        let now = self.clock.now();
        let (authentication, effects) = Authentication::start(
            self.ids.token(),
            request.main_key,
            &request.subkeys,
            now.plus(self.rules.challenge_ttl),
            self.rules.subkey_proof.clone(),
        );
        let stream_id = self.ids.stream_id();
        let record = once.map(|once| once.record(&stream_id, now));
        self.create_new(stream_id, Operation::Authentication(authentication), effects, record).await
    }
}
