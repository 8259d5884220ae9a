//! The trait of all operations. Methods with a default are for what only some operations support.

use usher_protocol::PublicKey;
use usher_protocol::message::{PaymentHash, WalletMessage};

use super::{Effect, Input, Spending, StepResult};
use crate::ports::{CorrelationKey, CurrencyCode, OperationKind, PaymentRecord};
use crate::{OperationOutcome, StreamId, UnixMillis};

/// The state of an operation.
pub trait StateMachine {
    /// Its kind.
    fn kind(&self) -> OperationKind;

    /// Takes an input.
    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult;

    /// When it is to be woken by [`Input::Timer`]: at its time-out, or earlier. `None`: it never times out.
    fn wake_at(&self) -> Option<UnixMillis>;

    /// The keys by which messages and signals find it. Steps may add keys; none is removed before it is finished.
    fn correlations(&self) -> Vec<CorrelationKey>;

    /// Whether it is about this user, so that erasing the user removes it: their main key, or the key that was asked. Who is only
    /// mentioned (in a text of the app, as a subkey of another) does not count.
    fn is_about(&self, user: &PublicKey) -> bool;

    /// Those of its keys that no other operation can claim until the given time although it is finished.
    fn kept_correlations(&self) -> Vec<(CorrelationKey, UnixMillis)> {
        Vec::new()
    }

    /// Who may close the subscription that it requests before that has begun; `None` if it requests none.
    fn may_close_early(&self) -> Option<Vec<PublicKey>> {
        None
    }

    /// The queue of its events on the reserved stream ([`Delivery::queue`](crate::ports::Delivery::queue)).
    fn announcement_queue(&self) -> StreamId {
        StreamId::SUBSCRIPTIONS
    }

    /// How a step ends instead when the operation that it sends a signal to is not open any more; `None`: the signal is
    /// dropped.
    fn signal_without_recipient(&mut self) -> Option<Vec<Effect>> {
        None
    }

    /// Whether no further events are expected. It may still be open, because money may still arrive.
    fn is_done(&self) -> bool {
        false
    }

    /// Once it is done: until when a `paid` event may still follow, if it may.
    fn paid_late_until(&self) -> Option<UnixMillis> {
        None
    }

    /// Whether it stays open after its end, because money may still arrive or it must not be done twice.
    fn lingers(&self) -> bool {
        false
    }

    /// Whether this input is judged by the wall clock even when that was set back: a look-up proves that a wallet can
    /// no longer act on a request only when the request has expired by the wall clock.
    fn is_by_wall_clock(&self, _input: &Input) -> bool {
        false
    }

    /// Whether nobody waits for it: the service started it by itself, and other operations may go first.
    fn is_unattended(&self) -> bool {
        false
    }

    /// How it has ended when it ends without an event of its own.
    fn silent_outcome(&self) -> OperationOutcome {
        OperationOutcome::Completed
    }

    /// Whether the app learns of it. Nothing stays of one that concerns another app only, and its stream has no events.
    fn is_of_app(&self) -> bool {
        true
    }

    /// Whether this input makes it start a payment that nobody has requested: it waits while there is no room for one.
    fn starts_payment(&self, _input: &Input) -> bool {
        false
    }

    /// The currency of the payment that this input makes it start: then it gets [`Input::TimerAtRate`] in place of
    /// [`Input::Timer`].
    fn charges_in(&self, _input: &Input) -> Option<CurrencyCode> {
        None
    }

    /// Whether the reply of a remote signer is of use.
    fn waits_for_signer(&self) -> bool {
        false
    }

    /// The keys of operations of this kind that a wallet's message may be for, the likeliest first.
    fn keys_of(_message: &WalletMessage) -> Vec<CorrelationKey>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Whether a message may precede its operation: it goes to all that its author [may close](Self::may_close_early).
    fn comes_early(_message: &WalletMessage) -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Whether an open one may have waited for a reply of the last process: then it gets [`Input::Resumed`].
    fn resumes() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Whether operations of this kind are woken at dates of the calendar, so by the wall clock.
    fn is_woken_by_the_calendar() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Whether the state of an open operation of this kind is read at the start, for what is kept in memory.
    fn is_read_at_start() -> bool
    where
        Self: Sized,
    {
        false
    }

    /// What it has spent, or may spend, of the Lightning backend's money.
    fn spending(&self) -> Option<Spending> {
        None
    }

    /// What the books say about it.
    fn payment_record(&self) -> Option<PaymentRecord> {
        None
    }

    /// The payment hash of an invoice of the service that may be paid.
    fn watched(&self) -> Option<PaymentHash> {
        None
    }
}

/// Registers the operations. Each is one line: a variant of [`Operation`](super::Operation) with the state in it, and of
/// [`OperationKind`] with its number in the store and its label in metrics. Numbers and the names
/// of variants are stored, so they never change their meaning (`#[serde(rename)]` keeps an old name). After `=>`: a state before one
/// of the others, of the same kind as that.
macro_rules! operations {
    (
        $($(#[doc = $doc:literal])* $(#[serde($serde:meta)])? $variant:ident($state:ty) = $code:literal, $label:literal;)+
        $(=> $(#[doc = $stage_doc:literal])* $stage:ident($stage_state:ty);)*
    ) => {
        /// The state of an operation, as it is stored.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "operation", rename_all = "snake_case")]
        pub enum Operation {
            $($(#[doc = $doc])* $(#[serde($serde)])? $variant($state),)+
            $($(#[doc = $stage_doc])* $stage($stage_state),)*
        }

        /// The kind of an operation, as stored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum OperationKind {
            /// The reserved stream `subscriptions`; not a state machine.
            Subscriptions = 0,
            $($(#[doc = $doc])* $variant = $code,)+
        }

        impl OperationKind {
            /// Every kind, in the order of their numbers.
            pub const ALL: [Self; 1 + [$($code),+].len()] = [Self::Subscriptions, $(Self::$variant),+];

            /// The kind as the label of a metric.
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::Subscriptions => "subscriptions",
                    $(Self::$variant => $label,)+
                }
            }

            pub(crate) fn resumes(self) -> bool {
                match self {
                    Self::Subscriptions => false,
                    $(Self::$variant => <$state>::resumes(),)+
                }
            }

            pub(crate) fn is_woken_by_the_calendar(self) -> bool {
                match self {
                    Self::Subscriptions => false,
                    $(Self::$variant => <$state>::is_woken_by_the_calendar(),)+
                }
            }

            pub(crate) fn is_read_at_start(self) -> bool {
                match self {
                    Self::Subscriptions => false,
                    $(Self::$variant => <$state>::is_read_at_start(),)+
                }
            }
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
pub(super) use operations;
