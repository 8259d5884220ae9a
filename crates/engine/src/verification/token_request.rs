use usher_protocol::PublicKey;

use super::Verification;
use crate::StreamId;
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::IdempotentRequest;
use crate::ticket::request::start::RequestTicket;

/// Asks a user for a proof of age that they hold already.
#[derive(Clone, Debug)]
pub struct RequestVerificationToken {
    /// Who is asked.
    pub main_key: PublicKey,
    /// Keys that may respond for it without a proof of delegation.
    pub subkeys: Vec<PublicKey>,
    /// The mint that the proof must be of, in the normal form; by default the configured one (`verification.mint_url`).
    pub mint_url: Option<String>,
}

impl Verification {
    /// Asks a user for a proof of age that they hold already.
    pub async fn request_token(
        &self,
        request: RequestVerificationToken,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        if let Some(mint_url) = &request.mint_url {
            self.tickets.check_mint(mint_url)?;
        }
        let rules = &self.rules;
        let mint_url = request.mint_url.or_else(|| rules.mint_url.clone()).ok_or(StartError::NoVerificationMint)?;
        // No other mint may see the token of the configured one.
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
        self.tickets.request(ticket, once).await
    }
}
