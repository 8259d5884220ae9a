//! The Lightning port: the service's own Lightning backend.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{PaymentHash, Preimage};

/// The service's own Lightning backend.
///
/// Every call returns within its own time limit. Only an adapter that knows that the backend refused, or that the
/// request was never sent, may report a *definite* failure; everything else is [`LightningError::Unknown`].
#[async_trait]
pub trait Lightning: Send + Sync {
    /// Creates an invoice. The engine, not the adapter, compares it with the request.
    async fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError>;

    /// Looks up an invoice of the service.
    async fn look_up_invoice(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError>;

    /// Signs a request to pay an invoice that names its amount, once there is a connection. Sends nothing: the caller
    /// stores the request first. The backend does not act on it after its `until`, at most the one given (Unix
    /// seconds).
    ///
    /// # Errors
    /// [`LightningError::NotSent`] without a connection in time; with any error, nothing was sent.
    async fn prepare_payment(&self, invoice: &Invoice, until: u64) -> Result<SignedPayment, LightningError>;

    /// Sends a request that [`prepare_payment`](Self::prepare_payment) signed, and waits for the reply.
    ///
    /// `again`: an earlier process may have sent it. While it has not expired, the adapter may send the *same* request
    /// again if the backend is active and has not replied. It never creates another request for it.
    ///
    /// # Errors
    /// [`LightningError::NotSent`] only if the request was never sent and will not be; [`LightningError::Refused`] only
    /// if it was sent exactly once.
    async fn pay(
        &self,
        invoice: &Invoice,
        payment: &SignedPayment,
        again: bool,
    ) -> Result<CompletedPayment, LightningError>;

    /// Looks up a payment by the service; `asked` is the request that may have been sent for it, if one is known.
    ///
    /// # Errors
    /// [`LightningError`] if the backend does not report it.
    async fn look_up_payment(
        &self,
        hash: PaymentHash,
        asked: Option<&SignedPayment>,
    ) -> Result<OutgoingPaymentStatus, LightningError>;

    /// The backend's information about itself.
    async fn info(&self) -> Result<LightningInfo, LightningError>;

    /// The connection status; returns at once.
    fn status(&self) -> LightningStatus;
}

/// The channel of the backend's notifications; the adapter waits while it is full.
pub type LightningNotifications = mpsc::Receiver<LightningNotification>;

/// A notification of the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LightningNotification {
    /// An invoice of the service was paid.
    Settled(PaymentHash, Settlement),
    /// A payment by the service reached the payee.
    Sent(PaymentHash, CompletedPayment),
    /// The connection is restored; notifications may have been lost.
    Reconnected,
}

/// An invoice to create.
#[derive(Clone, PartialEq, Eq)]
pub struct WantedInvoice {
    /// Millisats.
    pub amount: u64,
    /// The description: at most [`MAX_DESCRIPTION_BYTES`](usher_protocol::bolt11::MAX_DESCRIPTION_BYTES).
    pub description: String,
    /// The text whose SHA-256 replaces the description in the invoice, as LNURL-pay requires (LUD-06). A backend
    /// without support uses the description.
    pub hashed: Option<String>,
    /// Whether anybody can request it in any number: it then reserves no liquidity.
    pub is_for_anybody: bool,
    /// Its lifetime in seconds.
    pub expiry: u32,
}

usher_protocol::debug_shows!(WantedInvoice { amount });

/// The state of an invoice of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvoiceStatus {
    /// Not paid, but may be.
    Open,
    /// It was paid.
    Settled(Settlement),
    /// The backend reports it as paid but contradicts itself, or only returns an outgoing payment of it without a
    /// preimage. This proves nothing.
    Disputed,
    /// It was not paid and never will be: it expired, was cancelled, or failed.
    Dead,
    /// The backend does not know it.
    Unknown,
}

/// How an invoice of the service was paid.
#[derive(Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The received amount in millisats, if the backend reports it.
    pub amount: Option<u64>,
    /// Millisats that the payer paid in addition to a liquidity provider for opening a channel (LSPS2), or 0.
    pub skimmed_fee: u64,
    /// Millisats deducted from the payment, or 0, if the backend does not report whether `amount` includes them.
    pub fees_paid: u64,
    /// The preimage, if the backend reports it; the engine checks that it hashes to the payment hash.
    pub preimage: Option<Preimage>,
}

usher_protocol::debug_shows!(Settlement { amount, skimmed_fee, fees_paid });

/// A signed request to pay, whose bytes never change.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPayment {
    /// The request, in the adapter's own form.
    pub request: String,
    /// Unix seconds after which the backend does not act on it, by its own clock.
    pub until: u64,
}

usher_protocol::debug_shows!(SignedPayment { until });

/// Which payments a backend's look-ups have been seen to find, which determines what its "not found" proves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LookupCoverage {
    /// None: it may not know outgoing payments at all, like several deployed backends.
    #[default]
    None,
    /// Payments that have ended.
    Ended,
    /// Payments in progress, too.
    InProgress,
}

/// A payment by the service that reached the payee.
#[derive(Clone, PartialEq, Eq)]
pub struct CompletedPayment {
    /// The proof; the engine checks that it hashes to the payment hash.
    pub preimage: Preimage,
    /// Routing fees in millisats, if the backend reports them.
    pub fees_paid: Option<u64>,
}

usher_protocol::debug_shows!(CompletedPayment { fees_paid });

/// The state of a payment by the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutgoingPaymentStatus {
    /// It reached the payee.
    Paid(CompletedPayment),
    /// In progress, or known to the backend without a state.
    Pending,
    /// It failed for good: nothing was paid.
    Failed,
    /// Over, without proof of the result: settled without a preimage, or expired.
    Unproven,
    /// The backend does not know it. By itself this proves nothing.
    Unknown(LookupCoverage),
}

/// A Lightning backend's information about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LightningInfo {
    /// Its own name.
    pub alias: Option<String>,
    /// Its network.
    pub network: Option<Network>,
    /// The spendable balance in millisats, if reported.
    pub balance: Option<u64>,
    /// The supported methods, in the names of its protocol.
    pub methods: Vec<String>,
}

/// The connection status of the Lightning backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightningStatus {
    /// Whether a request could be sent now.
    pub connected: bool,
    /// Whether the backend sends notifications of payments.
    pub sends_notifications: bool,
}

/// Why a request to the Lightning backend failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LightningError {
    /// The backend replied that it did not execute it. Definite.
    #[error("the wallet refused: {reason}")]
    Refused {
        /// Whether retrying later may help (rate limit, quota, balance).
        again: bool,
        /// The reason, in the backend's words (cleaned and truncated) or ours.
        reason: String,
    },
    /// The backend replied that it tried and failed; its words, cleaned and truncated. A payment that timed out may
    /// still be in progress: the failure is definite once a look-up confirms it.
    #[error("the wallet failed: {0}")]
    Failed(String),
    /// The request was not sent: no connection. Definite.
    #[error("the wallet cannot be reached")]
    NotSent,
    /// No reply, or an invalid one: it may have been executed, or may be later.
    #[error("the wallet gave no clear answer: {0}")]
    Unknown(String),
}
