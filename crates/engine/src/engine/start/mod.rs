//! Starting operations: validate, commit, respond. Nothing here waits for the network.
//!
//! One file per operation, with its request type and a method of [`Starter`].

mod authentication;
mod field_checks;
mod invoice_payment;
mod invoice_request;
mod key_handshake;
mod login;
mod outgoing_payment;
mod recurring_payment;
mod return_url;
mod single_payment;
mod static_token;
mod ticket_delivery;
mod ticket_request;
mod verification_session;
mod verification_token;

use std::sync::Arc;
use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::bolt11::Network;
use usher_protocol::subkey::SubkeyProof;

pub use self::authentication::AuthenticateKey;
pub(super) use self::field_checks::FieldChecks;
pub use self::field_checks::FieldValues;
pub use self::invoice_payment::PayInvoiceRequest;
pub use self::invoice_request::RequestInvoice;
pub use self::key_handshake::{KeyHandshakeRequest, KeyHandshakeStarted};
pub use self::login::{BrowserLogin, BrowserLoginStarted, LoginRequest, LoginStarted, LoginVisit};
pub(super) use self::outgoing_payment::ServicePaymentRequest;
pub use self::recurring_payment::RecurringPaymentRequest;
pub(super) use self::return_url::KeyedPage;
pub use self::return_url::PageRules;
pub use self::single_payment::SinglePaymentRequest;
pub use self::ticket_delivery::SendTicket;
pub use self::ticket_request::RequestTicket;
pub use self::verification_session::{VerificationRules, VerificationSessionStarted};
pub use self::verification_token::RequestVerificationToken;
use super::StartError;
use super::capacity::Capacity;
use super::commit::{Cause, Change, Committer};
use super::handshake_urls::HandshakeUrls;
use super::idempotency::{IdempotencyRecords, IdempotentRequest};
use super::ids::Ids;
use super::index::Index;
use super::new_logins::NewLogins;
use super::open_deliveries::OpenDeliveries;
use super::reusable_handshakes::ReusableHandshakes;
use super::spending_budget::{SpendingBudget, SpendingRules};
use crate::StreamId;
use crate::operations::{Effect, Operation};
use crate::ports::{Clock, Conflict, NewIdempotencyRecord, Store, StoreError};

/// The rules of payments and subscriptions.
#[derive(Clone, Debug)]
pub struct PaymentRules {
    /// The network of invoices (`wallet.network`).
    pub network: Network,
    /// The largest payment in millisats (`limits.max_amount_millisats`).
    pub max_amount: u64,
    /// After how long a failed charge is tried again, one after the other (`subscriptions.retry_hours`).
    pub retry_after: Vec<Duration>,
    /// Most look-ups of open invoices a second that have no particular reason (`wallet.lookups_per_second`).
    pub look_ups_per_second: u64,
    /// What the Lightning backend may spend.
    pub spending: SpendingRules,
}

/// Starts operations.
pub(super) struct Starter {
    pub(super) store: Arc<dyn Store>,
    pub(super) index: Arc<Index>,
    pub(super) committer: Arc<Committer>,
    pub(super) capacity: Capacity,
    pub(super) idempotency: Arc<IdempotencyRecords>,
    pub(super) checks: Arc<FieldChecks>,
    pub(super) urls: Arc<HandshakeUrls>,
    pub(super) reusable_handshakes: Arc<ReusableHandshakes>,
    pub(super) budget: Arc<SpendingBudget>,
    /// Held for reading from taking a share of the budget to the commit of its payment.
    pub(super) starting_payments: tokio::sync::RwLock<()>,
    pub(super) outgoing: Arc<OpenDeliveries>,
    pub(super) new_logins: Arc<NewLogins>,
    pub(super) ids: Ids,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) rules: StartRules,
}

/// The options that starting an operation depends on.
pub(super) struct StartRules {
    pub(super) handshake_ttl: Duration,
    pub(super) challenge_ttl: Duration,
    pub(super) subkey_proof: Option<SubkeyProof>,
    pub(super) retention: Duration,
    pub(super) payments: PaymentRules,
    /// Whether a Lightning backend is configured.
    pub(super) has_lightning: bool,
    /// How long a token is sent until it is redeemed.
    pub(super) ticket_send_ttl: Duration,
    /// Whether there is a ticket wallet.
    pub(super) has_ticket_wallet: bool,
    /// Whether users' remote signers can be asked.
    pub(super) has_remote_signers: bool,
    pub(super) verification: VerificationRules,
    pub(super) pages: PageRules,
    /// The key that the service signs with on Nostr.
    pub(super) service_key: PublicKey,
}

impl Starter {
    /// Commits a new operation whose correlation key is random.
    async fn create_new(
        &self,
        id: StreamId,
        operation: Operation,
        effects: Vec<Effect>,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<StreamId, StartError> {
        match self.create(id, operation, effects, record).await? {
            None => Ok(id),
            Some(_) => Err(StoreError::Unreadable("a random correlation key was there already").into()),
        }
    }

    /// Commits a new operation; returns the operation that has its correlation key already, if one has.
    async fn create(
        &self,
        id: StreamId,
        operation: Operation,
        effects: Vec<Effect>,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Option<StreamId>, StartError> {
        match self.create_all(vec![Change::start(id, operation, effects)], record).await? {
            None => Ok(None),
            Some(Conflict::Correlation(owner)) => Ok(Some(owner)),
            Some(Conflict::Revision | Conflict::InboundSeen | Conflict::AlreadyRequested) => {
                Err(StoreError::Unreadable("a random stream id was there already").into())
            }
        }
    }

    /// Commits a new operation, the first of `changes`, and what else changes with it; returns what they conflict with.
    async fn create_all(
        &self,
        changes: Vec<Change>,
        record: Option<NewIdempotencyRecord>,
    ) -> Result<Option<Conflict>, StartError> {
        if !self.capacity.has_room() {
            return Err(StartError::TooManyOpen);
        }
        if changes.first().is_some_and(|change| change.operation.lingers()) && !self.capacity.has_room_for_payments() {
            return Err(StartError::TooManyEnded);
        }
        match self.committer.commit_all(changes, self.clock.now(), Cause::Request(record)).await? {
            Some(Conflict::AlreadyRequested) => Err(StartError::Repeated),
            conflict => Ok(conflict),
        }
    }

    /// Stores the response to an idempotent request that committed nothing.
    async fn respond<T>(&self, request: Option<IdempotentRequest<T>>, result: T) -> Result<T, StartError> {
        if let Some(request) = request {
            self.idempotency.keep(&request, &result).await?;
        }
        Ok(result)
    }

    fn need_ticket_wallet(&self) -> Result<(), StartError> {
        if self.rules.has_ticket_wallet { Ok(()) } else { Err(StartError::NoTicketWallet) }
    }

    fn need_lightning(&self) -> Result<(), StartError> {
        if self.rules.has_lightning { Ok(()) } else { Err(StartError::NoLightning) }
    }
}
