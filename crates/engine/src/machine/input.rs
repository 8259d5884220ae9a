//! What an operation is given.

use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::WalletMessage;

use super::signal::Signal;
use super::signer_call::SignerReport;
use super::ticket_call::TicketReply;
use crate::UnixMillis;
use crate::ports::{
    AgeCheckResult, CompletedPayment, ExchangeRate, InvoiceStatus, LightningError, NodeError, OnChainStatus,
    OutgoingPaymentStatus, PendingAgeCheck, RateUnavailable, Settlement, SignedPayment,
};

/// The inputs of an operation.
#[derive(Clone, Debug)]
pub enum Input {
    /// A wallet's message for it.
    Wallet {
        /// Its signer.
        author: PublicKey,
        /// The event's `created_at`.
        sent_at: UnixMillis,
        /// The message.
        message: WalletMessage,
    },
    /// Its wake-up time has passed.
    Timer,
    /// The same, with the exchange rate, for an operation that then [charges in a currency](super::StateMachine::charges_in).
    TimerAtRate(Result<ExchangeRate, RateUnavailable>),
    /// The service has restarted: replies to the last process's requests are lost.
    Resumed,
    /// The reply to a request for an invoice.
    InvoiceMade(Result<Invoice, LightningError>),
    /// The result of a look-up of an invoice of the service.
    InvoiceStatus(Result<InvoiceStatus, LightningError>),
    /// A notification of the Lightning backend: an invoice of the service was paid.
    Settled(Settlement),
    /// The Lightning backend's adapter has signed a request to pay, or has failed to.
    PaymentPrepared(Result<SignedPayment, LightningError>),
    /// The reply to a request to pay.
    PaymentSent {
        /// Which attempt of the operation it was, counted from 1.
        attempt: u32,
        /// The result.
        result: Result<CompletedPayment, LightningError>,
    },
    /// A notification of the Lightning backend: the payment succeeded.
    Paid(CompletedPayment),
    /// The result of a look-up of a payment by the service.
    PaymentStatus(Result<OutgoingPaymentStatus, LightningError>),
    /// The transaction of an order of the service's Lightning node; `None` if unknown to the node.
    OnChain(Result<Option<OnChainStatus>, NodeError>),
    /// A reply of the ticket wallet.
    Ticket(TicketReply),
    /// The result of polling the age verifier.
    AgeChecked {
        /// The check.
        pending: PendingAgeCheck,
        /// Its state.
        result: AgeCheckResult,
    },
    /// A report about a request to a remote signer.
    Signer(Box<SignerReport>),
    /// The last step was not committed, because another operation holds a key that it claimed.
    CorrelationTaken,
    /// A signal from another operation or from the operator.
    Signal(Signal),
}
