//! Asks a user for a proof of age that they hold already.

use super::Verification;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::request_body;
use crate::request_body::{Key, MintUrl, Subkeys};
use crate::ticket::request::RequestTicket;
use crate::{Requester, StreamId};

request_body! {
    /// Asks a user for a proof of age.
    #[derive(Clone, Debug)]
    pub struct RequestVerificationToken, VerificationTokenDraft = "VerificationTokenRequest", example {
        "recipient_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
    } {
        /// Who is asked: 64 hex characters.
        main_key as "recipient_key": Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// The mint that the proof must be of; by default `verification.mint_url`.
        mint_url: Option<MintUrl>,
    }
}

impl Verification {
    /// Asks a user for a proof of age that they hold already.
    pub async fn request_token(
        &self,
        requester: &Requester,
        request: RequestVerificationToken,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        if let Some(mint_url) = &request.mint_url {
            self.tickets.check_mint(mint_url)?;
        }
        let rules = &self.rules;
        let mint_url = request.mint_url.or_else(|| rules.mint_url.clone()).ok_or(StartError::NoVerificationMint)?;
        // The token of the configured mint must not be sent to another one.
        let auth = rules.mint_auth.clone().filter(|_| rules.mint_url.as_ref() == Some(&mint_url));
        let ticket = RequestTicket {
            main_key: request.main_key,
            subkeys: request.subkeys,
            mint_url,
            unit: rules.unit.clone(),
            amount: rules.amount,
            redeem: false,
            auth,
            reference: None,
            expires_at: None,
        };
        self.tickets.request(requester, ticket, once).await
    }
}
