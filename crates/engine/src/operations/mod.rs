//! Operations: small pure state machines, one file each, without clock, network or database. One takes an [`Input`] and
//! the time, changes its state, and returns [`Effect`]s; the engine commits both in one transaction and then applies
//! the effects.

#[cfg(test)]
pub(crate) mod fixtures;
pub(crate) mod operation_signal;
pub(crate) mod state_machine;
pub(crate) mod user_keys;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, WalletMessage};

pub use self::operation_signal::{ChargeEnd, Charged, RequestedPayment, Signal};
pub use self::state_machine::StateMachine;
pub use self::user_keys::MAX_SUBKEYS;
pub use crate::login::authentication::Authentication;
pub use crate::login::key_handshake::{KeyHandshake, LoginUrl};
pub use crate::login::linked_changes::LinkedChange;
pub use crate::login::operation::{
    AskSignerError, Login, LoginMethod, LoginOrigin, LoginOver, LoginRedeemed, LoginState, LoginTerms, RedeemFault,
};
pub use crate::login::signer_request::{
    SignerCall, SignerFault, SignerReport, SignerRequest, SignerStatus, SignerUpdate,
};
pub use crate::payment::approval::HeldPayment;
pub use crate::payment::invoice_request::InvoiceRequest;
pub use crate::payment::link::{LinkAmount, LinkState, LinkTerms, PaymentLink};
pub use crate::payment::on_chain::OnChainPayment;
pub use crate::payment::operation::{
    Charge, Payer, Payment, PaymentOfLink, PaymentProgress, PaymentTerms, SubscriptionLink,
};
pub use crate::payment::outgoing::OutgoingPayment;
pub use crate::payment::refund::{Refund, RefundProgress};
pub(crate) use crate::payment::spending::BUDGET_WINDOW;
pub use crate::payment::spending::{Budget, Spending};
pub use crate::subscription::operation::{Subscription, SubscriptionRules, SubscriptionState, SubscriptionView};
pub use crate::subscription::request::RecurringRequest;
pub use crate::ticket::delivery::{DeliveryStatus, DeliveryView, Reclaim, TicketDelivery};
pub use crate::ticket::request::TicketRequest;
pub use crate::ticket::ticket_call::{TicketCall, TicketReply, VerifiedToken};
pub use crate::verification::operation::{
    AgeCheck, AgeDecision, AwaitedBrowser, BeginFault, CheckReturn, DecisionFault, VerificationSession,
    VerificationState, VerificationTerms,
};

use crate::event::NewEvent;
use crate::event_data::EventData;
use crate::ports::{
    AgeCheckResult, CompletedPayment, CorrelationKey, ExchangeRate, InvoiceStatus, LightningError, NodeError,
    OnChainOrder, OnChainStatus, OutboxMessage, OutgoingMessage, OutgoingPaymentStatus, PasskeyChange, PendingAgeCheck,
    RateUnavailable, Settlement, SignedPayment, State, UserRelays, UserSigner, WantedInvoice,
};
use crate::{StreamId, UnixMillis};

/// How long to wait for a reply of the Lightning backend: longer than the adapters' time limits.
const LEASE: Duration = Duration::from_secs(25);

state_machine::operations! {
    /// A key handshake.
    KeyHandshake(KeyHandshake) = 1, "key_handshake";
    /// A key authentication.
    Authentication(Authentication) = 2, "authentication";
    /// A payment to the service, requested from a user.
    SinglePayment(Payment) = 3, "single_payment";
    /// A payment of somebody else's invoice, requested from a user.
    InvoicePayment(Payment) = 4, "invoice_payment";
    /// A payment of somebody else's invoice by the Lightning backend.
    #[serde(rename = "own_payment")]
    OutgoingPayment(OutgoingPayment) = 5, "own_payment";
    /// An invoice, requested from a user.
    InvoiceRequest(InvoiceRequest) = 6, "invoice_request";
    /// A request to a user to agree to a subscription.
    RecurringRequest(RecurringRequest) = 7, "recurring_request";
    /// A subscription.
    Subscription(Subscription) = 8, "subscription";
    /// A Cashu token, requested from a user.
    TicketRequest(TicketRequest) = 9, "ticket_request";
    /// A token being sent to a user.
    TicketDelivery(TicketDelivery) = 10, "ticket_delivery";
    /// An age verification.
    VerificationSession(VerificationSession) = 11, "verification_session";
    /// A login: a handshake and an authentication, or the proof of another signer.
    Login(Login) = 12, "login";
    /// A refund of a payment.
    Refund(Refund) = 13, "refund";
    /// A page at which many people can pay.
    PaymentLink(PaymentLink) = 14, "payment_link";
    /// A payment at such a page.
    LinkPayment(Payment) = 15, "link_payment";
    /// An on-chain payment of the service's Lightning node.
    OnChainPayment(OnChainPayment) = 16, "on_chain_payment";
    => /// A payment by the service that waits for an approval before it begins.
    HeldPayment(HeldPayment);
}

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
    /// The same, with the exchange rate, for an operation that then [charges in a currency](StateMachine::charges_in).
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

/// A request to the Lightning backend, made once; the reply is an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LightningRequest {
    /// The reply is [`Input::InvoiceMade`].
    MakeInvoice(WantedInvoice),
    /// The reply is [`Input::InvoiceStatus`].
    LookUpInvoice(PaymentHash),
    /// Sends nothing. The reply is [`Input::PaymentPrepared`].
    PreparePayment {
        /// The invoice, which includes its amount.
        invoice: Invoice,
        /// Unix seconds after which the backend must not act on the request.
        until: u64,
    },
    /// Sent only after the request is stored. The reply is [`Input::PaymentSent`].
    Pay {
        /// The invoice.
        invoice: Invoice,
        /// The request.
        payment: SignedPayment,
        /// Which attempt of the operation it is, counted from 1.
        attempt: u32,
        /// Whether an earlier process may have sent it.
        again: bool,
    },
    /// The reply is [`Input::PaymentStatus`].
    LookUpPayment {
        /// The invoice's payment hash.
        hash: PaymentHash,
        /// The request that may have been sent.
        asked: Option<SignedPayment>,
    },
    /// Sends money on chain, once per order. The reply is [`Input::OnChain`].
    SendOnChain(OnChainOrder),
    /// Sends nothing. The reply is [`Input::OnChain`].
    LookUpOnChain(StreamId),
}

/// The effects of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Emits an event to the app.
    Emit(NewEvent),
    /// Sends the user a message, repeatedly until the operation finishes or sends another.
    Send(OutboxMessage),
    /// Sends a message to a key that has just proven itself; the current messages are neither sent nor changed.
    SendAlso(OutboxMessage),
    /// Sends a message once, signed by another key than the service's; only the operation repeats it.
    SendAs(Box<OutgoingMessage>),
    /// The current messages are not repeated before this time.
    Pause(UnixMillis),
    /// Stores a user, with their relays if there are any.
    RememberRelays(UserRelays),
    /// Stops sending the current messages.
    ClearOutbox,
    /// Makes a request to the Lightning backend.
    CallLightning(LightningRequest),
    /// Makes a request to the ticket wallet.
    CallTicketWallet(TicketCall),
    /// Polls the age verifier for the result of a check.
    CheckAge(PendingAgeCheck),
    /// Requests a signature from a remote signer.
    AskSigner(Box<SignerCall>),
    /// Stores or removes the session with a user's remote signer.
    KeepSigner(UserSigner),
    /// Stores a passkey, or a change of it.
    KeepPasskey(PasskeyChange),
    /// Looks the watched invoice up soon.
    LookUp,
    /// Emits an event on the reserved stream.
    Announce(NewEvent),
    /// Starts another operation, with its own effects, in the same commit.
    Start(Box<Operation>, Vec<Effect>),
    /// Changes other operations of the feature, in the same commit.
    LinkedChange(LinkedChange),
    /// Sends a signal to the operation with this correlation key, in the same commit. If there is none, the signal is
    /// dropped, or the step ends differently ([`StateMachine::signal_without_recipient`]).
    Signal(CorrelationKey, Signal),
    /// Finishes the operation: it gets no further input and sends nothing more.
    Finish,
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The input was ignored. The state is unchanged.
    Ignored,
    /// The state may have changed; these are the effects.
    Stepped(Vec<Effect>),
}

impl OperationKind {
    /// The number in the store.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

impl Operation {
    /// Takes an input.
    pub fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        self.machine_mut().step(input, now)
    }

    /// How a step ends instead if the operation that it signals is no longer open; `None`: the signal is dropped.
    pub fn signal_without_recipient(&mut self) -> Option<Vec<Effect>> {
        self.machine_mut().signal_without_recipient()
    }

    /// The state in its stored form.
    ///
    /// # Errors
    /// None in practice: every state is made of strings and numbers.
    pub fn to_state(&self) -> Result<State, serde_json::Error> {
        serde_json::to_string(self).map(State)
    }

    /// Parses a stored state.
    ///
    /// # Errors
    /// If the text is not a state known to this version.
    pub fn from_state(state: &State) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&state.0)
    }
}

pub(crate) fn emit(data: EventData, at: UnixMillis) -> Effect {
    Effect::Emit(NewEvent::new(&data, at))
}

pub(crate) fn lease(now: UnixMillis) -> UnixMillis {
    now.plus(LEASE)
}

/// Unix milliseconds as a number in the state, or `null`.
pub(crate) mod optional_millis {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use crate::UnixMillis;

    #[allow(clippy::ref_option)] // serde's signature
    pub(crate) fn serialize<S: Serializer>(at: &Option<UnixMillis>, serializer: S) -> Result<S::Ok, S::Error> {
        at.map(|at| at.0).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UnixMillis>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(UnixMillis))
    }
}

pub(crate) mod millis {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::UnixMillis;

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    pub(crate) fn serialize<S: Serializer>(at: &UnixMillis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(at.0)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixMillis, D::Error> {
        u64::deserialize(deserializer).map(UnixMillis)
    }
}
