//! Operations: small pure state machines, one file each, with no clock, no network and no database in them.
//!
//! An operation gets an [`Input`] and the time, changes its state, and says what shall happen as [`Effect`]s. The engine
//! commits state and effects in one transaction; only then do they take place.

mod authentication;
mod conversation;
#[cfg(test)]
pub(crate) mod fixtures;
mod invoice_request;
mod key_handshake;
mod payment;
mod recurring_request;
mod service_payment;
mod set_back;
mod spending;
mod state_machine;
mod subscription;
mod ticket_call;
mod ticket_delivery;
mod ticket_request;
mod verification_session;

use std::time::Duration;

use serde::{Deserialize, Serialize};
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
pub(crate) use spending::BUDGET_WINDOW;
pub use spending::Spending;
pub use state_machine::StateMachine;
pub use subscription::{
    Asked, ChargeEnd, Charged, Note, Subscription, SubscriptionRules, SubscriptionState, SubscriptionView,
};
pub use ticket_call::{TicketCall, TicketReply, VerifiedToken};
pub use ticket_delivery::{DeliveryStatus, DeliveryTerms, DeliveryView, Reclaim, TicketDelivery};
pub use ticket_request::{TicketRequest, TicketRequestTerms};
pub use verification_session::{
    AgeCheck, AgeDecision, DecisionFault, VerificationSession, VerificationState, VerificationTerms,
};

use crate::UnixMillis;
use crate::event::NewEvent;
use crate::event_data::EventData;
use crate::ports::{
    AgeCheckMemo, AgeCheckResult, CorrelationKey, InvoiceStatus, LightningError, OutboxMessage, OutgoingMessage,
    OutgoingStatus, PaidInvoice, Settlement, SignedPayment, State, UserRelays, WantedInvoice,
};

/// How long an answer of the Lightning backend is waited for. An adapter gives up before it, so that this is only waited for
/// when the answer was lost: in a crash.
const LEASE: Duration = Duration::from_secs(25);

state_machine::operations! {
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
    /// A token that a user is asked for.
    TicketRequest(TicketRequest),
    /// A token that is sent to a user.
    TicketDelivery(TicketDelivery),
    /// An age verification.
    VerificationSession(VerificationSession),
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
    /// The service has started again: a reply of the Lightning backend or of the ticket wallet that was waited for will not
    /// come.
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
    /// The ticket wallet was asked.
    Ticket(TicketReply),
    /// The age verifier was asked for the result of a check.
    AgeChecked {
        /// Which check.
        memo: AgeCheckMemo,
        /// How it stands.
        result: AgeCheckResult,
    },
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
    /// A message goes out once, signed by another key than the service's; only the operation repeats it.
    SendAs(Box<OutgoingMessage>),
    /// What is being sent is not sent again before this time.
    Pause(UnixMillis),
    /// A user is remembered, with their relays if there are any.
    RememberRelays(UserRelays),
    /// What is being sent is sent no more.
    ClearOutbox,
    /// The Lightning backend is asked.
    Ask(LightningRequest),
    /// The ticket wallet is asked.
    AskTickets(TicketCall),
    /// The age verifier is asked for the result of a check.
    AskAge(AgeCheckMemo),
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
    /// Takes an input.
    pub fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        if let Input::ClockSetBack(set_back) = input {
            self.machine_mut().clock_set_back(*set_back, now);
            return StepResult::Stepped(Vec::new());
        }
        self.machine_mut().step(input, now)
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

fn emit(data: EventData, at: UnixMillis) -> Effect {
    Effect::Emit(NewEvent::new(&data, at))
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
