//! All operations. No other file names all of them: the kernel works with [`Operation`], and what a state machine is asked is
//! in [`machine`](crate::machine).

use serde::{Deserialize, Serialize};
use usher_protocol::message::WalletMessage;

use crate::UnixMillis;
use crate::login::authentication::Authentication;
use crate::login::key_handshake::KeyHandshake;
use crate::login::operation::Login;
use crate::machine::{Effect, Input, OperationKind, StateMachine, StepResult};
use crate::payment::approval::HeldPayment;
use crate::payment::invoice_request::InvoiceRequest;
use crate::payment::link::PaymentLink;
use crate::payment::on_chain::OnChainPayment;
use crate::payment::operation::Payment;
use crate::payment::outgoing::OutgoingPayment;
use crate::payment::refund::Refund;
use crate::ports::{CorrelationKey, State};
use crate::subscription::operation::Subscription;
use crate::subscription::request::RecurringRequest;
use crate::ticket::delivery::TicketDelivery;
use crate::ticket::request::TicketRequest;
use crate::verification::operation::VerificationSession;
use crate::webhook_test::WebhookTest;

/// Registers the operations, one per line: a kind, which is a variant of [`Operation`], with its state. Names of variants are
/// stored, so their meaning never changes (`#[serde(rename)]` keeps an old name). After `=>`: an earlier state of one of the
/// others, with the same kind.
macro_rules! operations {
    (
        $($(#[serde($serde:meta)])? $variant:ident($state:ty);)+
        $(=> $(#[doc = $stage_doc:literal])* $stage:ident($stage_state:ty);)*
    ) => {
        /// The state of an operation, as stored.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "operation", rename_all = "snake_case")]
        pub enum Operation {
            $(
                #[doc = concat!("See [`OperationKind::", stringify!($variant), "`].")]
                $(#[serde($serde)])?
                $variant($state),
            )+
            $($(#[doc = $stage_doc])* $stage($stage_state),)*
        }

        impl Operation {
            pub(crate) fn keys_of(message: &WalletMessage) -> Vec<CorrelationKey> {
                let mut keys = Vec::new();
                $(if keys.is_empty() {
                    keys = <$state>::keys_of(message);
                })+
                keys
            }

            pub(crate) fn comes_early(message: &WalletMessage) -> bool {
                false $(|| <$state>::comes_early(message))+
            }

            /// Its kind.
            pub const fn kind(&self) -> OperationKind {
                match self {
                    $(Self::$variant(_) => OperationKind::$variant,)+
                    $(Self::$stage(state) => state.kind(),)*
                }
            }

            fn machine(&self) -> &(dyn StateMachine + 'static) {
                match self {
                    $(Self::$variant(state) => state,)+
                    $(Self::$stage(state) => state,)*
                }
            }

            fn machine_mut(&mut self) -> &mut (dyn StateMachine + 'static) {
                match self {
                    $(Self::$variant(state) => state,)+
                    $(Self::$stage(state) => state,)*
                }
            }
        }

        // Each operation declares what it supports.
        impl std::ops::Deref for Operation {
            type Target = dyn StateMachine;

            fn deref(&self) -> &Self::Target {
                self.machine()
            }
        }
    };
}

operations! {
    KeyHandshake(KeyHandshake);
    Authentication(Authentication);
    SinglePayment(Payment);
    InvoicePayment(Payment);
    #[serde(rename = "own_payment")]
    OutgoingPayment(OutgoingPayment);
    InvoiceRequest(InvoiceRequest);
    RecurringRequest(RecurringRequest);
    Subscription(Subscription);
    TicketRequest(TicketRequest);
    TicketDelivery(TicketDelivery);
    VerificationSession(VerificationSession);
    Login(Login);
    Refund(Refund);
    PaymentLink(PaymentLink);
    LinkPayment(Payment);
    OnChainPayment(OnChainPayment);
    WebhookTest(WebhookTest);
    => /// A payment by the service that waits for an approval before it begins.
    HeldPayment(HeldPayment);
}

impl OperationKind {
    /// Whether an open one may have waited for a reply of the last process: it then gets [`Input::Resumed`].
    pub(crate) const fn resumes(self) -> bool {
        match self {
            Self::Authentication
            | Self::SinglePayment
            | Self::InvoicePayment
            | Self::LinkPayment
            | Self::OutgoingPayment
            | Self::OnChainPayment
            | Self::TicketRequest
            | Self::TicketDelivery
            | Self::VerificationSession
            | Self::Login
            | Self::Refund => true,
            Self::Subscriptions
            | Self::KeyHandshake
            | Self::InvoiceRequest
            | Self::RecurringRequest
            | Self::Subscription
            | Self::PaymentLink
            | Self::WebhookTest => false,
        }
    }

    /// Whether operations of this kind are woken at calendar dates, and so by the wall clock.
    pub(crate) const fn is_woken_by_the_calendar(self) -> bool {
        matches!(self, Self::Subscription)
    }

    /// Whether open operations' states of this kind are read at the start, for features' memory.
    pub(crate) const fn is_read_at_start(self) -> bool {
        matches!(
            self,
            Self::Login | Self::Refund | Self::OnChainPayment | Self::OutgoingPayment | Self::RecurringRequest
        )
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
