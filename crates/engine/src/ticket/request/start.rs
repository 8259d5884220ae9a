//! Starts a request for a token.

use super::{RequestTicket, RequestTicketDraft};
use crate::field_value_checks::{CheckedRequest, FieldChecks};
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::StartError;
use crate::payment::expiry::expiry;
use crate::ports::StoreError;
use crate::registry::Operation;
use crate::ticket::request::TicketRequest;
use crate::ticket::tickets::{Tickets, check_amount};
use crate::{FieldErrors, Requester, StreamId};

impl CheckedRequest for RequestTicket {
    type Found = ();

    async fn check(
        draft: &RequestTicketDraft,
        _: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<Option<()>, StoreError> {
        check_amount(draft.amount, errors);
        checks.expiry("/expires_at", draft.expires_at, errors);
        Ok(Some(()))
    }
}

impl Tickets {
    /// Asks a user for a token.
    pub async fn request(
        &self,
        requester: &Requester,
        request: RequestTicket,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.check_mint(&request.mint_url)?;
        let now = self.core.clock.now();
        let (request, ()) = self.checks.check(requester, request).await?;
        self.wallet()?;
        let expires_at = expiry(request.expires_at, now);
        let (state, effects) = TicketRequest::start(request, self.core.ids.token(), expires_at);
        let stream_id = self.core.ids.stream_id();
        let record = once.map(|once| once.record(&stream_id, now));
        let operation = Operation::TicketRequest(state);
        self.starter.create_new(stream_id, requester.origin(), operation, effects, record).await
    }
}
