//! Starts the delivery of a token.

use usher_protocol::PublicKey;

use super::{SendTicket, SendTicketDraft};
use crate::field_value_checks::{CheckedRequest, FieldChecks};
use crate::kernel::commit::{Cause, Change};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::ports::{Conflict, StoreError, TokenInfo};
use crate::registry::Operation;
use crate::ticket::delivery::TicketDelivery;
use crate::ticket::tickets::Tickets;
use crate::{FieldErrors, Requester, StreamId};

/// Attempts to start while an earlier delivery of the token is ending.
const ATTEMPTS: usize = 10;

/// Longest token that fits into a message, in bytes: relays commonly refuse events over 64 KiB. NIP-44 pads 40,012
/// bytes of JSON to 40,960, whose base64 payload has 54,704; the next step would have 65,628.
const MAX_SENT_TOKEN_BYTES: usize = 40_000;

impl CheckedRequest for SendTicket {
    type Found = TokenInfo;

    async fn check(
        draft: &SendTicketDraft,
        _: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<Option<TokenInfo>, StoreError> {
        let Some(token) = &draft.token else { return Ok(None) };
        if token.0.len() > MAX_SENT_TOKEN_BYTES {
            let detail = format!(
                "has {} bytes; a message to a user has room for {MAX_SENT_TOKEN_BYTES}. Send a token of fewer proofs",
                token.0.len()
            );
            return Ok(errors.reject("/token", detail));
        }
        match checks.tickets.as_ref().map(|wallet| wallet.read_token(token)).transpose() {
            Ok(info) => Ok(info),
            Err(fault) => Ok(errors.reject("/token", fault)),
        }
    }
}

impl Tickets {
    /// Sends a token to a user repeatedly, until the mint reports it as spent. While it is being sent, the same request
    /// gets the same stream, and no other user gets the token.
    pub async fn send(
        &self,
        requester: &Requester,
        request: SendTicket,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.wallet()?;
        let (request, info) = self.checks.check(requester, request).await?;
        for _ in 0..ATTEMPTS {
            let now = self.core.clock.now();
            let expires_at = now.plus(self.send_ttl);
            let (delivery, effects) = TicketDelivery::start(request.clone(), info.clone(), expires_at, now);
            let stream_id = self.core.ids.stream_id();
            let record = once.as_ref().map(|once| once.record(&stream_id, now));
            let delivery = Operation::TicketDelivery(delivery);
            match self.starter.create(stream_id, requester.origin(), delivery, effects, record).await? {
                None => return Ok(stream_id),
                Some(owner) if self.may_be_answered_with(requester, owner, &request.main_key).await? => {
                    return self.starter.respond(once, owner).await;
                }
                // That delivery is over.
                Some(_) => {}
            }
        }
        Err(StoreError::Unexpected("deliveries of a token end again and again").into())
    }

    /// Whether an earlier delivery of the same token is the requested one. An expired one is ended, so that the token
    /// can be sent again.
    async fn may_be_answered_with(
        &self,
        requester: &Requester,
        owner: StreamId,
        main_key: &PublicKey,
    ) -> Result<bool, StartError> {
        let stored = self.core.store.operation(&Requester::Service, owner).await?;
        let Some(stored) = stored.filter(|stored| stored.finished_at.is_none()) else { return Ok(false) };
        let Ok(Operation::TicketDelivery(mut delivery)) = Operation::from_state(&stored.state) else {
            return Err(StoreError::Unreadable("a ticket delivery").into());
        };
        if let Some(effects) = delivery.supersede() {
            let change = Change::step(owner, stored.version(), Operation::TicketDelivery(delivery), effects);
            return match self.starter.committer.commit(change, self.core.clock.now(), Cause::Request(None)).await? {
                // It has changed meanwhile and is read again.
                None | Some(Conflict::Revision) => Ok(false),
                Some(_) => Err(StoreError::Unexpected("a delivery that ends claims a key").into()),
            };
        }
        if !requester.sees(stored.origin) {
            return Err(StartError::invalid("/token", "is being sent for another client"));
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
