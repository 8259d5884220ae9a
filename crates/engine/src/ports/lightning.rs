//! The Lightning port: the service's own wallet.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{PaymentHash, Preimage};

/// The service's own Lightning wallet.
///
/// Every call returns within a bound of its own. A failure says whether it is *definite*: only an adapter that knows the
/// wallet answered "no", or that the request never left, may say so; everything else is [`LightningError::Unknown`].
#[async_trait]
pub trait Lightning: Send + Sync {
    /// Makes an invoice that can be paid until about `expires_at`.
    ///
    /// The adapter does not check the answer against the request: the engine does.
    async fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError>;

    /// How it stands with an invoice of our own.
    async fn look_up_invoice(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError>;

    /// Signs a request to pay an invoice that names its amount, as soon as it could be sent. Sends nothing: the caller
    /// stores the request first. The backend does not act on the request after its `until`, which is no later than the
    /// one given (Unix seconds).
    ///
    /// # Errors
    /// [`LightningError::NotSent`] when there is no connection within a bound of the adapter's; whatever the error,
    /// nothing was sent.
    async fn prepare_payment(&self, invoice: &Invoice, until: u64) -> Result<SignedPayment, LightningError>;

    /// Sends a request that [`prepare_payment`](Self::prepare_payment) signed, and waits for the reply.
    ///
    /// `again`: an earlier process may have sent it. While it has not expired, the adapter may send the *same* request
    /// again, when the backend shows life and has not replied. It never makes another request of it.
    ///
    /// # Errors
    /// [`LightningError::NotSent`] only when the request has left neither now nor before, and will not;
    /// [`LightningError::Refused`] only when it was sent exactly once.
    async fn pay(&self, invoice: &Invoice, payment: &SignedPayment, again: bool)
    -> Result<PaidInvoice, LightningError>;

    /// How it stands with a payment of ours; `asked` is the request that may have been sent for it, when one is known.
    ///
    /// # Errors
    /// [`LightningError`] when the backend does not say.
    async fn look_up_payment(
        &self,
        hash: PaymentHash,
        asked: Option<&SignedPayment>,
    ) -> Result<OutgoingStatus, LightningError>;

    /// What the wallet says of itself.
    async fn info(&self) -> Result<LightningInfo, LightningError>;

    /// Whether the wallet is connected and whether it tells of settlements by itself; answers at once.
    fn status(&self) -> LightningStatus;
}

/// What a wallet tells by itself arrives here; full, the adapter waits.
pub type LightningNotifications = mpsc::Receiver<LightningNotification>;

/// What a wallet tells by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LightningNotification {
    /// An invoice of ours was paid.
    Settled(PaymentHash, Settlement),
    /// A payment of ours reached the payee.
    Sent(PaymentHash, PaidInvoice),
    /// The wallet can be heard again: what happened meanwhile was not told.
    Reconnected,
}

/// An invoice to make.
#[derive(Clone, PartialEq, Eq)]
pub struct WantedInvoice {
    /// Millisats.
    pub amount: u64,
    /// What it is for: at most [`MAX_DESCRIPTION_BYTES`](usher_protocol::bolt11::MAX_DESCRIPTION_BYTES).
    pub description: String,
    /// For how many seconds it can be paid.
    pub expiry: u32,
}

impl fmt::Debug for WantedInvoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WantedInvoice").field("amount", &self.amount).finish_non_exhaustive()
    }
}

/// How it stands with an invoice of our own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvoiceStatus {
    /// Nobody has paid it, but somebody may.
    Open,
    /// It was paid.
    Settled(Settlement),
    /// It was not paid and never will be: expired, cancelled, or failed.
    Dead,
    /// The wallet does not know it.
    Unknown,
}

/// How an invoice of ours was paid.
#[derive(Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Millisats received, when the wallet says so.
    pub amount: Option<u64>,
    /// The preimage, when the wallet says so; the engine checks that it hashes to the payment hash.
    pub preimage: Option<Preimage>,
}

impl fmt::Debug for Settlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settlement").field("amount", &self.amount).finish_non_exhaustive()
    }
}

/// A request to pay, signed and ready to be sent: the same bytes however often it is sent.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPayment {
    /// The request, in the adapter's own form.
    pub request: String,
    /// Unix seconds after which the backend does not act on it, by its own clock.
    pub until: u64,
}

impl fmt::Debug for SignedPayment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedPayment").field("until", &self.until).finish_non_exhaustive()
    }
}

/// Which payments of ours the look-ups of a backend have been seen to find: what its "not found" is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finds {
    /// None: it may not know outgoing payments at all, as several deployed backends.
    #[default]
    Nothing,
    /// Payments that were over.
    Settled,
    /// Payments that were under way, too.
    Unsettled,
}

/// A payment of ours that reached the payee.
#[derive(Clone, PartialEq, Eq)]
pub struct PaidInvoice {
    /// Proof of it; the engine checks that it hashes to the payment hash.
    pub preimage: Preimage,
    /// Routing fees in millisats, when the wallet says so.
    pub fees_paid: Option<u64>,
}

impl fmt::Debug for PaidInvoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaidInvoice").field("fees_paid", &self.fees_paid).finish_non_exhaustive()
    }
}

/// How it stands with a payment of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutgoingStatus {
    /// It reached the payee.
    Paid(PaidInvoice),
    /// It is under way, or the wallet knows it and does not say how it stands.
    Pending,
    /// It failed for good: nothing was paid.
    Failed,
    /// The wallet does not know of it. By itself this proves nothing.
    Unknown(Finds),
}

/// What a wallet says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LightningInfo {
    /// The name it gives itself.
    pub alias: Option<String>,
    /// The network it is on.
    pub network: Option<Network>,
    /// What it can spend, in millisats, when it says so.
    pub balance: Option<u64>,
    /// Methods it offers, in its protocol's own names.
    pub methods: Vec<String>,
}

/// How the connection to the wallet stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LightningStatus {
    /// Whether a request could be sent now.
    pub connected: bool,
    /// Whether settlements are told by the wallet itself.
    pub sends_notifications: bool,
}

/// Why the wallet did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LightningError {
    /// The wallet answered that it did not do it. Definite.
    #[error("the wallet refused: {reason}")]
    Refused {
        /// Whether asking again later may help (rate limit, quota, balance).
        again: bool,
        /// Why, in the wallet's words, cleaned and cut, or ours.
        reason: String,
    },
    /// The wallet answered that it tried and failed, in its words, cleaned and cut. A payment that failed by a time-out may be
    /// under way still: it is definite once a look-up says so, too.
    #[error("the wallet failed: {0}")]
    Failed(String),
    /// The request was not sent: no connection. Definite.
    #[error("the wallet cannot be reached")]
    NotSent,
    /// No answer, or one that cannot be understood: it may have been done, or be done later.
    #[error("the wallet did not answer: {0}")]
    Unknown(String),
}
