//! Starts an authentication.

use usher_protocol::PublicKey;
use usher_protocol::login_proof::LoginChallenge;

use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::login::Logins;
use crate::login::authentication::Authentication;
use crate::machine::MAX_SUBKEYS;
use crate::ports::{SignerSession, StoreError};
use crate::registry::Operation;
use crate::request_body;
use crate::request_body::{Key, Subkeys};
use crate::{Requester, StreamId};

request_body! {
    /// Asks a user to prove that they hold a key.
    #[derive(Clone, Debug)]
    pub struct AuthenticateKey, AuthenticateKeyDraft = "AuthenticateKeyRequest", example {
        "main_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
    } {
        /// The key to prove: 64 hex characters, from the `KeyHandshake` event.
        main_key: Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8. A repeated key counts once.
        subkeys: Subkeys,
    }
}

impl Logins {
    /// Starts an authentication.
    pub async fn authenticate(
        &self,
        requester: &Requester,
        request: AuthenticateKey,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        if request.subkeys.len() > MAX_SUBKEYS {
            return Err(StartError::invalid("/subkeys", format!("must have at most {MAX_SUBKEYS} keys")));
        }
        let now = self.core.clock.now();
        let (mut authentication, mut effects) = Authentication::start(
            self.core.ids.token(),
            request.main_key,
            &request.subkeys,
            now.plus(self.new.challenge_ttl),
            self.new.service_proof.clone(),
        );
        let stream_id = self.core.ids.stream_id();
        if let Some(session) = self.kept_signer(&request.main_key).await? {
            let url = format!("{}/authenticate-key/{stream_id}", self.pages.url);
            effects.push(authentication.ask_signer(session, LoginChallenge { url, challenge: self.core.ids.token() }));
        }
        let record = once.map(|once| once.record(&stream_id, now));
        let operation = Operation::Authentication(authentication);
        self.starter.create_new(stream_id, requester.origin(), operation, effects, record).await
    }

    /// The remote signer of the user's earlier login; `None` without one, or if its row is damaged.
    async fn kept_signer(&self, main_key: &PublicKey) -> Result<Option<SignerSession>, StartError> {
        if self.signer.is_none() {
            return Ok(None);
        }
        match self.core.store.user_signer(main_key).await {
            // `usher doctor` reports it.
            Err(StoreError::Unreadable(_)) => Ok(None),
            session => Ok(session?),
        }
    }
}
