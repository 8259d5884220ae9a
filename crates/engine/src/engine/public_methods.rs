//! The methods of [`Engine`], by topic. Each passes its call to the part that does the work.

use std::sync::Arc;
use std::time::Duration;

use usher_protocol::PublicKey;

use crate::Engine;
use crate::field_checks::FieldValues;
use crate::kernel::errors::{EventsError, StartError, TicketCallError};
use crate::kernel::event_feed::LiveEvents;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::lightning_queue::LightningBackend;
use crate::kernel::metrics::EngineMetrics;
use crate::kernel::webhook_dispatcher::RetryError;
use crate::login::authentication::start::AuthenticateKey;
use crate::login::key_handshake::reusable::{CloseHandshakeError, HandshakePage};
use crate::login::key_handshake::start::{KeyHandshakeRequest, KeyHandshakeStarted};
use crate::login::start::{BrowserLogin, BrowserLoginStarted, LoginRequest, LoginStarted};
use crate::operation_pages::{HandshakeView, PaymentView};
use crate::operations;
use crate::operations::{AgeDecision, SubscriptionView};
use crate::payment::invoice_payment::PayInvoiceRequest;
use crate::payment::invoice_request::start::RequestInvoice;
use crate::payment::start::SinglePaymentRequest;
use crate::ports::{
    DamagedRow, Delivery, DeliveryCounts, DeliveryStatus, IdempotencyKey, IdempotencyRecord, LightningError,
    LightningInfo, LightningNode, LightningStatus, MintAuthToken, StoreError, TicketBalance, Token,
};
use crate::subscription::request::start::RecurringPaymentRequest;
use crate::subscription::subscriptions::{SubscriptionError, SubscriptionFilter, SubscriptionPage};
use crate::ticket::delivery::start::SendTicket;
use crate::ticket::outgoing::OutgoingPage;
use crate::ticket::request::start::RequestTicket;
use crate::ticket::tickets::{BurnTicket, MintTicket, WithdrawTicket};
use crate::verification::sessions::{
    AgeCheckError, AgeCheckReturned, AgeCheckStarted, DecisionError, VerificationView,
};
use crate::verification::start::VerificationSessionStarted;
use crate::verification::token_request::RequestVerificationToken;
use crate::{EventPage, FieldErrors, StreamId};

impl Engine {
    /// Most subkeys one conversation may have (docs/protocol.md, Subkeys).
    pub const MAX_SUBKEYS: usize = operations::MAX_SUBKEYS;

    /// Returns when a vital task has panicked: the process should end and be restarted, which loses nothing. Without that
    /// task, operations would never end.
    pub async fn failed(&self) {
        self.tasks.failed().await;
    }

    /// How many operations are open, including the reserved stream.
    pub fn open_streams(&self) -> usize {
        self.index.len()
    }

    /// How many invoices of the service are watched.
    pub fn watched_invoices(&self) -> usize {
        self.watcher.count()
    }

    /// The metrics now.
    pub fn metrics(&self) -> EngineMetrics {
        self.metrics.values(self.scans.counts())
    }

    /// The damaged rows of the store that were found since the start, and set aside; at most 1,000.
    pub fn damaged_rows(&self) -> Vec<DamagedRow> {
        self.damage.rows()
    }

    /// Whether a Lightning backend is configured.
    pub fn has_lightning(&self) -> bool {
        self.lightning.is_some()
    }

    /// The Lightning backend's name in the configuration and its description of itself; `None` without a backend.
    pub async fn lightning_info(&self) -> Option<(&'static str, Result<LightningInfo, LightningError>)> {
        let LightningBackend { adapter, name, .. } = self.lightning.clone()?;
        Some((name, adapter.info().await))
    }

    /// The Lightning backend's name in the configuration and the state of its connection; `None` without a backend.
    pub fn lightning_status(&self) -> Option<(&'static str, LightningStatus)> {
        self.lightning.as_ref().map(|lightning| (lightning.name, lightning.adapter.status()))
    }

    /// The Lightning backend as a node; `None` unless the service runs it itself.
    pub fn lightning_node(&self) -> Option<Arc<dyn LightningNode>> {
        self.lightning.as_ref()?.node.clone()
    }

    /// Requests to the Lightning backend: kind, result and number.
    pub fn lightning_calls(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.lightning_metrics.values()
    }
}

/// Starting operations. The work is done by `start`.
///
/// Poll each of these to its end: if it is dropped between the commit and the response, the operation is durable but unknown
/// to this process until the next start.
impl Engine {
    /// Starts a key handshake; the same static token again gives the same stream.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_key_handshake(
        &self,
        request: KeyHandshakeRequest,
        once: Option<IdempotentRequest<KeyHandshakeStarted>>,
    ) -> Result<KeyHandshakeStarted, StartError> {
        self.starter.start_key_handshake(request, once).await
    }

    /// Starts a login: a handshake and an authentication as one operation, with a page for the user's browser.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_login(
        &self,
        request: LoginRequest,
        once: Option<IdempotentRequest<LoginStarted>>,
    ) -> Result<LoginStarted, StartError> {
        self.starter.start_login(request, once).await
    }

    /// Starts a login of the user of a browser that is here already. The caller gives the browser its cookie.
    ///
    /// As anybody can start one, they are bounded, in all and by visitor: another in which nobody has named a key may have to
    /// end for it. None of them has events. When its outcome was used, the caller has it removed
    /// ([`forget_browser_login`](Self::forget_browser_login)).
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_browser_login(&self, request: BrowserLogin) -> Result<BrowserLoginStarted, StartError> {
        // On a task of its own, as for pages: the browser may disconnect.
        let (logins, starter) = (Arc::clone(&self.logins), Arc::clone(&self.starter));
        let started = async move {
            let visitor = request.visitor;
            let replaced = logins.make_room(visitor).await?;
            let started = starter.start_browser_login(request).await?;
            logins.browser_login_begun(started.stream_id, visitor);
            Ok(BrowserLoginStarted { replaced, ..started })
        };
        self.tasks.run_to_end(started).await.unwrap_or(Err(StartError::Store(StoreError::Closed)))
    }

    /// Starts an authentication.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_authentication(
        &self,
        request: AuthenticateKey,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.starter.start_authentication(request, once).await
    }

    /// Asks a user for a payment to the service. The invoice is made after the response.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_single_payment(
        &self,
        request: SinglePaymentRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.starter.start_single_payment(request, once).await
    }

    /// Pays somebody else's invoice, from a user's wallet or from the service's own Lightning backend. An invoice is
    /// never paid twice: a second request gets the first payment's stream.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn pay_invoice(
        &self,
        request: PayInvoiceRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.starter.pay_invoice(request, once).await
    }

    /// Asks a user for an invoice.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request_invoice(
        &self,
        request: RequestInvoice,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.starter.request_invoice(request, once).await
    }

    /// Asks a user to agree to a subscription.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_recurring_payment(
        &self,
        request: RecurringPaymentRequest,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.starter.start_recurring_payment(request, once).await
    }

    /// Asks a user for a proof of age that they hold already.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request_verification_token(
        &self,
        request: RequestVerificationToken,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        if let Some(mint_url) = &request.mint_url {
            self.tickets.check_mint(mint_url)?;
        }
        self.starter.request_verification_token(request, once).await
    }

    /// Opens an age verification session.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn start_verification_session(
        &self,
        once: Option<IdempotentRequest<VerificationSessionStarted>>,
    ) -> Result<VerificationSessionStarted, StartError> {
        self.starter.start_verification_session(once).await
    }

    /// Adds all fields with impossible values to `errors`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn check_fields(&self, values: &FieldValues, errors: &mut FieldErrors) -> Result<(), StoreError> {
        self.checks.add_errors(values, errors).await
    }

    /// The response to this idempotent request within the last 24 hours.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn idempotency_record(&self, key: &IdempotencyKey) -> Result<Option<IdempotencyRecord>, StoreError> {
        self.idempotency.get(key).await
    }

    /// Stores the response to an idempotent request that started no operation.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn keep_idempotency_record<T>(
        &self,
        request: &IdempotentRequest<T>,
        result: &T,
    ) -> Result<(), StoreError> {
        self.idempotency.keep(request, result).await
    }
}

/// Tickets. Minting, burning, withdrawing and reclaiming wait for a mint, within the ticket wallet's bound.
impl Engine {
    /// Asks a user for a token.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn request_ticket(
        &self,
        request: RequestTicket,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.tickets.check_mint(&request.mint_url)?;
        self.starter.request_ticket(request, once).await
    }

    /// Sends a token to a user, again and again until the mint says that it is spent. While a token is being sent, the same
    /// request gets the same stream, and no other user gets the token.
    ///
    /// # Errors
    /// [`StartError`].
    pub async fn send_ticket(
        &self,
        request: SendTicket,
        once: Option<IdempotentRequest<StreamId>>,
    ) -> Result<StreamId, StartError> {
        self.starter.send_ticket(request, once).await
    }

    /// Up to `limit` tickets that were sent and are not known to be redeemed, after the one that `after` names. A page may be
    /// short and have a next one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn outgoing_tickets(&self, after: Option<StreamId>, limit: usize) -> Result<OutgoingPage, StoreError> {
        self.outgoing.list(after, limit).await
    }

    /// Takes back a ticket that was sent: redeems it into the service's own balance. Returns what was received, without the
    /// mint's fee. `auth` is shown to the mint, if it wants one.
    ///
    /// If the result is not known, the delivery continues by itself; the same request again gets the result.
    ///
    /// # Errors
    /// [`TicketCallError`]; [`TokenFault::AlreadySpent`](crate::ports::TokenFault::AlreadySpent) when the user has redeemed it.
    pub async fn reclaim_ticket(
        &self,
        stream_id: StreamId,
        auth: Option<MintAuthToken>,
        once: Option<IdempotentRequest<u64>>,
    ) -> Result<u64, TicketCallError> {
        self.outgoing.reclaim(stream_id, auth, once).await
    }

    /// Mints a token. If the mint wants its quote paid, the Lightning backend pays it.
    ///
    /// # Errors
    /// [`TicketCallError`].
    pub async fn mint_ticket(
        &self,
        request: MintTicket,
        once: Option<IdempotentRequest<Token>>,
    ) -> Result<Token, TicketCallError> {
        self.tickets.mint(request, once).await
    }

    /// Redeems a token into the service's own balance; returns what was received, without the mint's fee.
    ///
    /// # Errors
    /// [`TicketCallError`].
    pub async fn burn_ticket(
        &self,
        request: BurnTicket,
        once: Option<IdempotentRequest<u64>>,
    ) -> Result<u64, TicketCallError> {
        self.tickets.burn(request, once).await
    }

    /// Takes a token out of the service's own balance.
    ///
    /// # Errors
    /// [`TicketCallError`].
    pub async fn withdraw_ticket(
        &self,
        request: WithdrawTicket,
        once: Option<IdempotentRequest<Token>>,
    ) -> Result<Token, TicketCallError> {
        self.tickets.withdraw(request, once).await
    }

    /// What the service's own ticket wallet holds, by mint and unit.
    ///
    /// # Errors
    /// [`TicketCallError`].
    pub async fn ticket_balances(&self) -> Result<Vec<TicketBalance>, TicketCallError> {
        self.tickets.balances().await
    }

    /// Calls to the ticket wallet: kind, result and number.
    pub fn ticket_calls(&self) -> Vec<(&'static str, &'static str, u64)> {
        self.tickets.calls()
    }
}

/// Events.
impl Engine {
    /// Up to `limit` events of `stream` with `index >= after`; returns at once.
    ///
    /// Events that were removed after their retention are never skipped silently: with `after` 0 the page begins at the first
    /// remaining event and says so; with any other value it is an error.
    ///
    /// # Errors
    /// [`EventsError`].
    pub async fn events(&self, stream: StreamId, after: u64, limit: usize) -> Result<EventPage, EventsError> {
        self.feed.events(stream, after, limit).await
    }

    /// Like [`events`](Self::events), but if there is none yet and more are expected, waits for one up to `wait`.
    ///
    /// When the engine stops, it returns at once with what there is.
    ///
    /// # Errors
    /// [`EventsError`].
    pub async fn wait_events(
        &self,
        stream: StreamId,
        after: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<EventPage, EventsError> {
        self.feed.wait_events(stream, after, limit, wait).await
    }

    /// Every event of every stream that is committed from now on, in order within a stream.
    pub fn live_events(&self) -> LiveEvents {
        self.feed.live_events()
    }
}

/// Reusable handshakes.
impl Engine {
    /// Up to `limit` open reusable handshakes, after the one that `after` names. A page may be short and have a next one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reusable_handshakes(
        &self,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<HandshakePage, StoreError> {
        self.reusable_handshakes.list(after, limit).await
    }

    /// Closes a key handshake: its URL stops working at once, and its stream is done. One that is closed already stays as it
    /// is.
    ///
    /// # Errors
    /// [`CloseHandshakeError`].
    pub async fn close_key_handshake(&self, stream_id: StreamId) -> Result<(), CloseHandshakeError> {
        self.reusable_handshakes.close(stream_id).await
    }
}

/// Subscriptions.
impl Engine {
    /// Up to `limit` subscriptions, after the one that `after` names. A page may be short, even empty, and have a next one.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn subscriptions(
        &self,
        filter: SubscriptionFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<SubscriptionPage, StoreError> {
        self.subscriptions.list(filter, after, limit).await
    }

    /// The subscription with this id.
    ///
    /// # Errors
    /// [`SubscriptionError`].
    pub async fn subscription(&self, id: &str) -> Result<SubscriptionView, SubscriptionError> {
        self.subscriptions.view(id).await
    }

    /// Closes a subscription of `main_key` and tells the user's wallet; one that has ended stays as it is.
    ///
    /// # Errors
    /// [`SubscriptionError`].
    pub async fn close_subscription(
        &self,
        main_key: PublicKey,
        id: &str,
        once: Option<IdempotentRequest<SubscriptionView>>,
    ) -> Result<SubscriptionView, SubscriptionError> {
        self.subscriptions.close(main_key, id, once).await
    }
}

/// The pages of payments and key handshakes.
impl Engine {
    /// The page of a payment. Whoever has its address can see and pay the invoice.
    pub fn payment_page_url(&self, id: StreamId) -> String {
        self.pages.payment_url(id)
    }

    /// A payment for its page; `None` when there is none, or the secret is another.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn payment_page(&self, id: StreamId, secret: &str) -> Result<Option<PaymentView>, StoreError> {
        self.pages.payment(id, secret).await
    }

    /// A key handshake for its page; `None` when there is none, or the secret is another.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn handshake_page(&self, id: StreamId, secret: &str) -> Result<Option<HandshakeView>, StoreError> {
        self.pages.handshake(id, secret).await
    }
}

/// Verification sessions.
impl Engine {
    /// The session with this id, if this is the secret of its page; also when it is over.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn verification_session(
        &self,
        id: StreamId,
        page_secret: &str,
    ) -> Result<Option<VerificationView>, StoreError> {
        self.verification_sessions.view(id, page_secret).await
    }

    /// The name of the age verifier, if one is configured; otherwise staff decide.
    pub fn age_verifier_name(&self) -> Option<&str> {
        self.verification_sessions.verifier_name()
    }

    /// Begins a check of an open session by the age verifier and invalidates an earlier check of the session. Waits for the
    /// age verifier for some seconds.
    ///
    /// # Errors
    /// [`AgeCheckError`]; then nothing has changed.
    pub async fn begin_age_check(&self, id: StreamId, page_secret: String) -> Result<AgeCheckStarted, AgeCheckError> {
        self.verification_sessions.begin(id, page_secret).await
    }

    /// Handles the return of a browser from the age verifier: the parameter `state`, the whole query, and the value that the
    /// browser got when the check began. Waits for the age verifier for some seconds.
    ///
    /// # Errors
    /// [`AgeCheckError`].
    pub async fn end_age_check(
        &self,
        state: String,
        query: String,
        browser: String,
    ) -> Result<AgeCheckReturned, AgeCheckError> {
        self.verification_sessions.end(state, query, browser).await
    }

    /// Decides an open session.
    ///
    /// # Errors
    /// [`DecisionError`]; then nothing has changed.
    pub async fn decide_verification(
        &self,
        id: StreamId,
        decision: &AgeDecision,
        once: Option<IdempotentRequest<AgeDecision>>,
    ) -> Result<(), DecisionError> {
        self.verification_sessions.decide(id, decision, once).await
    }
}

/// Deliveries of events to the webhook.
impl Engine {
    /// Deliveries with this status, oldest event first, after the given position, at most `limit`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn webhook_deliveries(
        &self,
        status: DeliveryStatus,
        after: Option<(StreamId, u64)>,
        limit: usize,
    ) -> Result<Vec<Delivery>, StoreError> {
        self.webhooks.list(status, after, limit).await
    }

    /// Makes a failed or delivered delivery pending again, due now; `None` when there is no such delivery. One that is pending
    /// already is due now, too. Returns the delivery as it is then. Earlier deliveries of its stream that are pending go
    /// first, now.
    ///
    /// # Errors
    /// [`RetryError`].
    pub async fn retry_webhook_delivery(
        &self,
        stream: StreamId,
        index: u64,
        once: Option<IdempotentRequest<Delivery>>,
    ) -> Result<Option<Delivery>, RetryError> {
        self.webhooks.retry(stream, index, once).await
    }

    /// Whether the webhook refused the last events; `None` without a webhook.
    pub fn webhook_is_failing(&self) -> Option<bool> {
        self.webhooks.is_failing()
    }

    /// How many deliveries are pending and how many were given up.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn count_webhook_deliveries(&self) -> Result<DeliveryCounts, StoreError> {
        self.webhooks.count().await
    }
}
