//! What a step asks for.

use serde::Serialize;
use usher_protocol::PublicKey;
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::operation_kind::OperationKind;
use super::signal::Signal;
use super::signer_call::SignerCall;
use super::ticket_call::TicketCall;
use crate::event::NewEvent;
use crate::event_data::EventData;
use crate::ports::{
    CorrelationKey, LoginRecord, OnChainOrder, OutboxMessage, OutgoingMessage, PasskeyChange, PendingAgeCheck,
    SignedPayment, State, UserRelays, UserSigner, WantedInvoice,
};
use crate::{StreamId, UnixMillis};

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// The input was ignored. The state is unchanged.
    Ignored,
    /// The state may have changed; these are the effects.
    Stepped(Vec<Effect>),
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
    /// Records how a login has ended.
    KeepLogin(LoginRecord),
    /// Looks the watched invoice up soon.
    LookUp,
    /// Emits an event on the reserved stream.
    Announce(NewEvent),
    /// Starts another operation, with its own effects, in the same commit: its state as it is stored.
    Start(State, Vec<Effect>),
    /// Changes other operations of the feature, in the same commit.
    LinkedChange(LinkedChange),
    /// Sends a signal to the operation with this correlation key, in the same commit. If there is none, the signal is
    /// dropped, or the step ends differently
    /// ([`StateMachine::signal_without_recipient`](super::StateMachine::signal_without_recipient)).
    Signal(CorrelationKey, Signal),
    /// Finishes the operation: it gets no further input and sends nothing more.
    Finish,
}

/// A request to the Lightning backend, made once; the reply is an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LightningRequest {
    /// The reply is [`Input::InvoiceMade`](super::Input::InvoiceMade).
    MakeInvoice(WantedInvoice),
    /// The reply is [`Input::InvoiceStatus`](super::Input::InvoiceStatus).
    LookUpInvoice(PaymentHash),
    /// Sends nothing. The reply is [`Input::PaymentPrepared`](super::Input::PaymentPrepared).
    PreparePayment {
        /// The invoice, which includes its amount.
        invoice: Invoice,
        /// Unix seconds after which the backend must not act on the request.
        until: u64,
    },
    /// Sent only after the request is stored. The reply is [`Input::PaymentSent`](super::Input::PaymentSent).
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
    /// The reply is [`Input::PaymentStatus`](super::Input::PaymentStatus).
    LookUpPayment {
        /// The invoice's payment hash.
        hash: PaymentHash,
        /// The request that may have been sent.
        asked: Option<SignedPayment>,
    },
    /// Sends money on chain, once per order. The reply is [`Input::OnChain`](super::Input::OnChain).
    SendOnChain(OnChainOrder),
    /// Sends nothing. The reply is [`Input::OnChain`](super::Input::OnChain).
    LookUpOnChain(StreamId),
}

/// A requested change of other operations. Their random parts and the settings are added later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkedChange {
    /// Starts the login of a user who scanned this reusable login, and ends their other open logins there.
    StartLogin {
        /// The stream of the reusable login.
        reusable: StreamId,
        /// The user.
        main_key: PublicKey,
    },
    /// Ends the other open logins of this user at a reusable login, without events: the user has restarted or logged
    /// in.
    SupersedeLogins {
        /// The stream of the reusable login.
        reusable: StreamId,
        /// The user.
        main_key: PublicKey,
    },
}

pub(crate) fn emit(data: EventData, at: UnixMillis) -> Effect {
    Effect::Emit(NewEvent::new(&data, at))
}

/// Starts an operation of this kind, with this state and its own effects.
pub(crate) fn start(kind: OperationKind, state: &impl Serialize, effects: Vec<Effect>) -> Effect {
    #[derive(Serialize)]
    struct Stored<'s, S> {
        operation: &'static str,
        #[serde(flatten)]
        state: &'s S,
    }
    // A state is made of strings and numbers, so it can be written. What cannot be read again fails the commit.
    let text = serde_json::to_string(&Stored { operation: kind.as_str(), state }).unwrap_or_default();
    Effect::Start(State(text), effects)
}
