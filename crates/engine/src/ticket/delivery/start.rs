//! Starts the delivery of a token to a user.

use usher_protocol::PublicKey;

use crate::StreamId;
use crate::field_checks::FieldValues;
use crate::kernel::commit::{Cause, Change};
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::IdempotentRequest;
use crate::operations::{DeliveryTerms, Operation, TicketDelivery};
use crate::ports::{Conflict, StoreError, Token};
use crate::ticket::tickets::Tickets;

/// How often a start is tried whose token belongs to a delivery that ends at that moment.
const ATTEMPTS: usize = 10;

/// Sends a token to a user.
#[derive(Clone, Debug)]
pub struct SendTicket {
    /// The user.
    pub main_key: PublicKey,
    /// Keys of the user that get the token, too.
    pub subkeys: Vec<PublicKey>,
    /// The token.
    pub token: Token,
    /// The caller's own reference, repeated in events.
    pub reference: Option<String>,
}

impl Tickets {
    /// Sends a token to a user, again and again until the mint says that it is spent. While a token is being sent, the same
    /// request gets the same stream, and no other user gets the token.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn send(
        &self,
        request: SendTicket,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        let wallet = self.wallet()?;
        self.checks.check(FieldValues::SentTicket { token: Some(request.token.clone()) }).await?;
        let info =
            wallet.read_token(&request.token).map_err(|fault| StartError::invalid("/token", fault.to_string()))?;
        for _ in 0..ATTEMPTS {
            let now = self.core.clock.now();
            let terms = DeliveryTerms {
                main_key: request.main_key,
                subkeys: request.subkeys.clone(),
                reference: request.reference.clone(),
                token: request.token.clone(),
                info: info.clone(),
                expires_at: now.plus(self.send_ttl),
            };
            let (delivery, effects) = TicketDelivery::start(terms, now);
            let stream_id = self.core.ids.stream_id();
            let record = once.as_ref().map(|once| once.record(&stream_id, now));
            match self.starter.create(stream_id, Operation::TicketDelivery(delivery), effects, record).await? {
                None => return Ok(stream_id),
                Some(owner) if self.may_be_answered_with(owner, &request.main_key).await? => {
                    return self.starter.respond(once, owner).await;
                }
                // That delivery is over.
                Some(_) => {}
            }
        }
        Err(StoreError::Unexpected("deliveries of a token end again and again").into())
    }

    /// Whether an earlier delivery of the same token is the one that is asked for. One that has expired is ended, so that
    /// the token can be sent again.
    async fn may_be_answered_with(&self, owner: StreamId, main_key: &PublicKey) -> Result<bool, StartError> {
        let stored = self.core.store.operation(owner).await?.filter(|stored| stored.finished_at.is_none());
        let Some(stored) = stored else { return Ok(false) };
        let Ok(Operation::TicketDelivery(mut delivery)) = Operation::from_state(&stored.state) else {
            return Err(StoreError::Unreadable("a ticket delivery").into());
        };
        if let Some(effects) = delivery.supersede() {
            let change = Change::step(owner, stored.revision, Operation::TicketDelivery(delivery), effects);
            return match self.starter.committer.commit(change, self.core.clock.now(), Cause::Request(None)).await? {
                // If it was stepped meanwhile, it is read again.
                None | Some(Conflict::Revision) => Ok(false),
                Some(_) => Err(StoreError::Unexpected("a delivery that ends claims a key").into()),
            };
        }
        if !delivery.is_to(main_key) {
            let detail = "is being sent to another user; reclaim it first (GET /cashu/outgoing)";
            return Err(StartError::invalid("/token", detail));
        }
        if delivery.is_being_reclaimed() {
            return Err(StartError::invalid("/token", "is being reclaimed"));
        }
        Ok(true)
    }
}
