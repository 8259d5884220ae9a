//! Starting operations: validate, commit, respond. Nothing here waits for the network.
//!
//! One file per operation, with its request type and a method of [`Starter`].

use std::sync::Arc;
use std::time::Duration;

use usher_protocol::PublicKey;
use usher_protocol::bolt11::Network;
use usher_protocol::subkey::SubkeyProof;

use crate::StreamId;
use crate::field_checks::FieldChecks;
use crate::kernel::capacity::Capacity;
use crate::kernel::commit::{Cause, Change, Committer};
use crate::kernel::errors::StartError;
use crate::kernel::idempotency::{IdempotencyRecords, IdempotentRequest};
use crate::kernel::ids::Ids;
use crate::kernel::index::Index;
use crate::login::handshake_urls::HandshakeUrls;
use crate::login::new_logins::NewLogins;
use crate::operations::{Effect, Operation};
use crate::page_rules::PageRules;
use crate::payment::spending_budget::{SpendingBudget, SpendingRules};
use crate::ports::{Clock, Conflict, NewIdempotencyRecord, Store, StoreError};
use crate::verification::start::VerificationRules;

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
pub(crate) struct Starter {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) index: Arc<Index>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) capacity: Capacity,
    pub(crate) idempotency: Arc<IdempotencyRecords>,
    pub(crate) checks: Arc<FieldChecks>,
    pub(crate) urls: Arc<HandshakeUrls>,
    pub(crate) budget: Arc<SpendingBudget>,
    /// Held for reading from taking a share of the budget to the commit of its payment.
    pub(crate) starting_payments: tokio::sync::RwLock<()>,
    pub(crate) new_logins: Arc<NewLogins>,
    pub(crate) ids: Ids,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rules: StartRules,
}

/// The options that starting an operation depends on.
pub(crate) struct StartRules {
    pub(crate) handshake_ttl: Duration,
    pub(crate) challenge_ttl: Duration,
    pub(crate) subkey_proof: Option<SubkeyProof>,
    pub(crate) retention: Duration,
    pub(crate) payments: PaymentRules,
    /// Whether a Lightning backend is configured.
    pub(crate) has_lightning: bool,
    /// How long a token is sent until it is redeemed.
    pub(crate) ticket_send_ttl: Duration,
    /// Whether there is a ticket wallet.
    pub(crate) has_ticket_wallet: bool,
    /// Whether users' remote signers can be asked.
    pub(crate) has_remote_signers: bool,
    pub(crate) verification: VerificationRules,
    pub(crate) pages: PageRules,
    /// The key that the service signs with on Nostr.
    pub(crate) service_key: PublicKey,
}

impl Starter {
    /// Commits a new operation whose correlation key is random.
    pub(crate) async fn create_new(
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
    pub(crate) async fn create(
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
    pub(crate) async fn create_all(
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
    pub(crate) async fn respond<T>(&self, request: Option<IdempotentRequest<T>>, result: T) -> Result<T, StartError> {
        if let Some(request) = request {
            self.idempotency.keep(&request, &result).await?;
        }
        Ok(result)
    }

    pub(crate) fn need_ticket_wallet(&self) -> Result<(), StartError> {
        if self.rules.has_ticket_wallet { Ok(()) } else { Err(StartError::NoTicketWallet) }
    }

    pub(crate) fn need_lightning(&self) -> Result<(), StartError> {
        if self.rules.has_lightning { Ok(()) } else { Err(StartError::NoLightning) }
    }
}
