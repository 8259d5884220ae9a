//! Operations: small pure state machines, one file each, with no clock, no network and no database in them.
//!
//! An operation gets an [`Input`] and the time, changes its state, and says what shall happen as [`Effect`]s. The engine
//! commits state and effects in one transaction; only then do they take place.

mod authentication;
mod conversation;
#[cfg(test)]
mod fixtures;
mod invoice_request;
mod key_handshake;
mod payment;
mod recurring_request;
mod service_payment;
mod set_back;
mod subscription;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, WalletMessage};

pub use authentication::Authentication;
pub use conversation::MAX_SUBKEYS;
pub use invoice_request::{InvoiceRequest, InvoiceTerms};
pub use key_handshake::KeyHandshake;
pub(crate) use key_handshake::usable_relays;
pub use payment::{Charge, Payment, PaymentTerms, SubscriptionLink};
pub use recurring_request::{RecurringRequest, RecurringTerms};
pub use service_payment::ServicePayment;
pub use set_back::SetBack;
pub use subscription::{
    Asked, ChargeEnd, Charged, Note, Subscription, SubscriptionRules, SubscriptionState, SubscriptionView,
};

use crate::event::{EventType, NewEvent};
use crate::ports::{
    CorrelationKey, InvoiceStatus, LightningError, OperationKind, OutboxMessage, OutgoingStatus, PaidInvoice,
    Settlement, SignedPayment, State, UserRelays, WantedInvoice,
};
use crate::{StreamId, UnixMillis};

/// How long an answer of the Lightning backend is waited for. An adapter gives up before it, so that this is only waited for
/// when the answer was lost: in a crash.
const LEASE: Duration = Duration::from_secs(25);

/// The state of an operation, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
pub enum Operation {
    /// A key handshake.
    KeyHandshake(KeyHandshake),
    /// A key authentication.
    Authentication(Authentication),
    /// A payment to us that a user is asked for.
    SinglePayment(Payment),
    /// A payment of another's invoice that a user is asked for.
    InvoicePayment(Payment),
    /// A payment of another's invoice by the Lightning backend.
    #[serde(rename = "own_payment")]
    ServicePayment(ServicePayment),
    /// An invoice that a user is asked for.
    InvoiceRequest(InvoiceRequest),
    /// A subscription that a user is asked to agree to.
    RecurringRequest(RecurringRequest),
    /// A subscription.
    Subscription(Subscription),
}

/// What happens to an operation.
#[derive(Clone, Debug)]
pub enum Input {
    /// A wallet's message that belongs to it.
    Wallet {
        /// Who signed it.
        author: PublicKey,
        /// When its author says it was made.
        sent_at: UnixMillis,
        /// What it says.
        message: WalletMessage,
    },
    /// The time it asked to be woken at has come.
    Timer,
    /// The service has started again: an answer of the Lightning backend that was waited for will not come.
    Resumed,
    /// The machine's clock was set back since the operation's last step: what it waits for would come late by as much.
    ClockSetBack(SetBack),
    /// The Lightning backend was asked for an invoice.
    InvoiceMade(Result<Invoice, LightningError>),
    /// The Lightning backend was asked how it stands with an invoice of ours.
    InvoiceStatus(Result<InvoiceStatus, LightningError>),
    /// The Lightning backend says by itself that an invoice of ours was paid.
    Settled(Settlement),
    /// The Lightning backend's adapter was asked to sign a request to pay.
    PaymentPrepared(Result<SignedPayment, LightningError>),
    /// The Lightning backend was asked to pay.
    PaymentSent {
        /// Which attempt of the operation it was, counted from 1.
        attempt: u32,
        /// What came of it.
        result: Result<PaidInvoice, LightningError>,
    },
    /// The Lightning backend says by itself that it has paid.
    Paid(PaidInvoice),
    /// The Lightning backend was asked how it stands with a payment of ours.
    PaymentStatus(Result<OutgoingStatus, LightningError>),
    /// What the last step wanted to claim belongs to another operation: it was not committed.
    CorrelationTaken,
    /// Another operation, or the operator, says something.
    Note(Note),
}

/// What the Lightning backend is asked, once; the answer is an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LightningRequest {
    /// Answered by [`Input::InvoiceMade`].
    MakeInvoice(WantedInvoice),
    /// Answered by [`Input::InvoiceStatus`].
    LookUpInvoice(PaymentHash),
    /// Sends nothing. Answered by [`Input::PaymentPrepared`].
    PreparePayment {
        /// The invoice; it names its amount.
        invoice: Invoice,
        /// Unix seconds after which no backend shall act on the request.
        until: u64,
    },
    /// Made only when the request is stored. Answered by [`Input::PaymentSent`].
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
    /// Answered by [`Input::PaymentStatus`].
    LookUpPayment {
        /// The invoice's payment hash.
        hash: PaymentHash,
        /// The request that may have been sent.
        asked: Option<SignedPayment>,
    },
}

/// What an operation wants to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The app is told.
    Emit(NewEvent),
    /// The user is sent a message, again and again until the operation is finished or sends another.
    Send(OutboxMessage),
    /// A key that has just proven itself is sent a message beside what is being sent, which is neither sent now nor changed.
    SendAlso(OutboxMessage),
    /// What is being sent is not sent again before this time.
    Pause(UnixMillis),
    /// A user is remembered, with their relays if there are any.
    RememberRelays(UserRelays),
    /// What is being sent is sent no more.
    ClearOutbox,
    /// The Lightning backend is asked.
    Ask(LightningRequest),
    /// The invoice that is watched is looked up soon.
    LookUp,
    /// The app is told on the reserved stream.
    Announce(NewEvent),
    /// Another operation begins, with these effects of its own, in the same commit.
    Start(Box<Operation>, Vec<Effect>),
    /// The operation with this correlation key is told, in the same commit; nothing happens when there is none.
    Tell(CorrelationKey, Note),
    /// The operation is over: no input reaches it any more, nothing more is sent.
    Finish,
}

/// What an input did to an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// Nothing: the input did not count. The state is as it was.
    Ignored,
    /// The state may have changed, and this shall happen.
    Stepped(Vec<Effect>),
}

impl Operation {
    /// Its kind.
    pub const fn kind(&self) -> OperationKind {
        match self {
            Self::KeyHandshake(_) => OperationKind::KeyHandshake,
            Self::Authentication(_) => OperationKind::Authentication,
            Self::SinglePayment(payment) | Self::InvoicePayment(payment) => payment.kind(),
            Self::ServicePayment(_) => OperationKind::ServicePayment,
            Self::InvoiceRequest(_) => OperationKind::InvoiceRequest,
            Self::RecurringRequest(_) => OperationKind::RecurringRequest,
            Self::Subscription(_) => OperationKind::Subscription,
        }
    }

    /// When it wants to be woken.
    pub fn wake_at(&self) -> Option<UnixMillis> {
        match self {
            Self::KeyHandshake(handshake) => handshake.expires_at(),
            Self::Authentication(authentication) => Some(authentication.expires_at()),
            Self::SinglePayment(payment) | Self::InvoicePayment(payment) => Some(payment.wake_at()),
            Self::ServicePayment(payment) => Some(payment.wake_at()),
            Self::InvoiceRequest(request) => Some(request.expires_at()),
            Self::RecurringRequest(request) => Some(request.wake_at()),
            Self::Subscription(subscription) => subscription.wake_at(),
        }
    }

    /// By what messages of wallets, of the Lightning backend, and of other operations are matched to it. Keys are added as it
    /// goes on, never taken away before it is finished.
    pub fn correlations(&self) -> Vec<CorrelationKey> {
        match self {
            Self::KeyHandshake(handshake) => handshake.correlations(),
            Self::Authentication(authentication) => vec![authentication.correlation()],
            Self::SinglePayment(payment) | Self::InvoicePayment(payment) => payment.correlations(),
            Self::ServicePayment(payment) => vec![payment.correlation()],
            Self::InvoiceRequest(request) => vec![request.correlation()],
            Self::RecurringRequest(request) => request.correlations(),
            Self::Subscription(subscription) => vec![subscription.correlation()],
        }
    }

    /// Those of its keys that nobody else can claim for some time after it is finished.
    pub fn kept_correlations(&self) -> Vec<(CorrelationKey, UnixMillis)> {
        match self {
            Self::SinglePayment(payment) | Self::InvoicePayment(payment) => {
                payment.kept_correlation().into_iter().collect()
            }
            Self::KeyHandshake(handshake) => handshake.kept_correlations(),
            Self::Authentication(_)
            | Self::ServicePayment(_)
            | Self::InvoiceRequest(_)
            | Self::RecurringRequest(_)
            | Self::Subscription(_) => Vec::new(),
        }
    }

    /// Who may close the subscription that it asks for before it has begun; `None` when it asks for none.
    pub fn may_close_early(&self) -> Option<Vec<PublicKey>> {
        match self {
            Self::RecurringRequest(request) => Some(request.parties()),
            Self::KeyHandshake(_)
            | Self::Authentication(_)
            | Self::SinglePayment(_)
            | Self::InvoicePayment(_)
            | Self::ServicePayment(_)
            | Self::InvoiceRequest(_)
            | Self::Subscription(_) => None,
        }
    }

    /// In which order its events on the reserved stream are delivered ([`Delivery::queue`](crate::ports::Delivery::queue)):
    /// those of one subscription one after the other, whatever becomes of those of others.
    pub(crate) fn announcement_queue(&self) -> StreamId {
        match self {
            Self::Subscription(subscription) => StreamId::subscription_queue(subscription.id()),
            Self::KeyHandshake(_)
            | Self::Authentication(_)
            | Self::SinglePayment(_)
            | Self::InvoicePayment(_)
            | Self::ServicePayment(_)
            | Self::InvoiceRequest(_)
            | Self::RecurringRequest(_) => StreamId::SUBSCRIPTIONS,
        }
    }

    /// Whether nothing more is expected of it. It may be open all the same, because money may still come.
    pub const fn is_done(&self) -> bool {
        match self {
            Self::SinglePayment(payment) | Self::InvoicePayment(payment) => payment.is_done(),
            Self::ServicePayment(payment) => payment.is_done(),
            Self::Subscription(subscription) => subscription.is_done(),
            Self::RecurringRequest(request) => request.is_done(),
            Self::KeyHandshake(_) | Self::Authentication(_) | Self::InvoiceRequest(_) => false,
        }
    }

    /// Whether it stays open after its end, because money may still come or it must not be done twice.
    pub(crate) const fn lingers(&self) -> bool {
        matches!(self, Self::SinglePayment(_) | Self::InvoicePayment(_) | Self::ServicePayment(_))
    }

    /// Whether nobody looks on: the service has begun it by itself, and it may wait for others.
    pub(crate) const fn is_unattended(&self) -> bool {
        match self {
            Self::SinglePayment(payment) => payment.is_charge(),
            _ => false,
        }
    }

    /// The payment hash of an invoice of our own that may be paid.
    pub fn watched(&self) -> Option<PaymentHash> {
        match self {
            Self::SinglePayment(payment) | Self::InvoicePayment(payment) => payment.watched(),
            Self::KeyHandshake(_)
            | Self::Authentication(_)
            | Self::ServicePayment(_)
            | Self::InvoiceRequest(_)
            | Self::RecurringRequest(_)
            | Self::Subscription(_) => None,
        }
    }

    /// Takes an input.
    pub fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        if let Input::ClockSetBack(set_back) = input {
            self.clock_set_back(*set_back, now);
            return StepResult::Stepped(Vec::new());
        }
        match self {
            Self::KeyHandshake(handshake) => handshake.step(input, now),
            Self::Authentication(authentication) => authentication.step(input, now),
            Self::SinglePayment(payment) | Self::InvoicePayment(payment) => payment.step(input, now),
            Self::ServicePayment(payment) => payment.step(input, now),
            Self::InvoiceRequest(request) => request.step(input, now),
            Self::RecurringRequest(request) => request.step(input, now),
            Self::Subscription(subscription) => subscription.step(input, now),
        }
    }

    fn clock_set_back(&mut self, set_back: SetBack, now: UnixMillis) {
        match self {
            Self::KeyHandshake(handshake) => handshake.clock_set_back(set_back),
            Self::Authentication(authentication) => authentication.clock_set_back(set_back),
            Self::SinglePayment(payment) | Self::InvoicePayment(payment) => payment.clock_set_back(set_back, now),
            Self::ServicePayment(payment) => payment.clock_set_back(set_back, now),
            Self::InvoiceRequest(request) => request.clock_set_back(set_back),
            Self::RecurringRequest(request) => request.clock_set_back(set_back, now),
            Self::Subscription(subscription) => subscription.clock_set_back(now),
        }
    }

    /// The state as it is stored.
    ///
    /// # Errors
    /// None in practice: every state is made of strings and numbers.
    pub fn to_state(&self) -> Result<State, serde_json::Error> {
        serde_json::to_string(self).map(State)
    }

    /// The operation whose stored state this is.
    ///
    /// # Errors
    /// When the text is not a state that this version knows.
    pub fn from_state(state: &State) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&state.0)
    }
}

/// An event with these data, leaving out members that are `null`.
fn emit(event_type: EventType, data: Value, at: UnixMillis) -> Effect {
    Effect::Emit(new_event(event_type, data, at))
}

fn new_event(event_type: EventType, mut data: Value, at: UnixMillis) -> NewEvent {
    if let Some(members) = data.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    NewEvent { event_type, at, data: data.to_string().into() }
}

/// Until when the answer of the Lightning backend is waited for.
fn lease(now: UnixMillis) -> UnixMillis {
    now.plus(LEASE)
}

/// Unix milliseconds as a number in the state, or `null`.
mod optional_millis {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use crate::UnixMillis;

    #[allow(clippy::ref_option)] // serde's signature
    pub(super) fn serialize<S: Serializer>(at: &Option<UnixMillis>, serializer: S) -> Result<S::Ok, S::Error> {
        at.map(|at| at.0).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UnixMillis>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(UnixMillis))
    }
}

/// Unix milliseconds as a number in the state.
mod millis {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::UnixMillis;

    #[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
    pub(super) fn serialize<S: Serializer>(at: &UnixMillis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(at.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixMillis, D::Error> {
        u64::deserialize(deserializer).map(UnixMillis)
    }
}
