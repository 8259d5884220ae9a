//! Starts a request for a token.

use usher_protocol::PublicKey;

use crate::StreamId;
use crate::field_checks::{FieldValues, expiry};
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::IdempotentRequest;
use crate::operations::{Operation, TicketRequest, TicketRequestTerms};
use crate::ports::MintAuthToken;
use crate::ticket::tickets::Tickets;

/// Asks a user for a token.
#[derive(Clone, Debug)]
pub struct RequestTicket {
    /// Who is asked.
    pub main_key: PublicKey,
    /// Keys that may respond for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// The mint that the token must be of.
    pub mint_url: String,
    /// The unit that it must be in.
    pub unit: String,
    /// The least it must be worth, in the unit.
    pub amount: u64,
    /// Whether it is redeemed into the service's own balance at once.
    pub redeem: bool,
    /// Shown to the mint, if it wants one.
    pub auth: Option<MintAuthToken>,
    /// The caller's own reference, repeated in events.
    pub reference: Option<String>,
    /// Unix seconds until which it can be answered.
    pub expires_at: Option<u64>,
}

impl Tickets {
    /// Asks a user for a token.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request(
        &self,
        request: RequestTicket,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.check_mint(&request.mint_url)?;
        let now = self.core.clock.now();
        let RequestTicket { amount, expires_at, .. } = request;
        self.checks.check(FieldValues::Ticket { amount: Some(amount), expires_at }).await?;
        self.wallet()?;
        let terms = TicketRequestTerms {
            main_key: request.main_key,
            subkeys: request.subkeys,
            request_id: self.core.ids.token(),
            reference: request.reference,
            mint_url: request.mint_url,
            unit: request.unit,
            amount,
            redeem: request.redeem,
            auth: request.auth,
            expires_at: expiry(expires_at, now),
        };
        let (state, effects) = TicketRequest::start(terms);
        let stream_id = self.core.ids.stream_id();
        let record = once.map(|once| once.record(&stream_id, now));
        self.starter.create_new(stream_id, Operation::TicketRequest(state), effects, record).await
    }
}
