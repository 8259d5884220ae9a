//! The trait of all operations. Methods with defaults are for features that only some operations support.

use usher_protocol::PublicKey;
use usher_protocol::message::{PaymentHash, WalletMessage};

use super::effect::{Effect, StepResult};
use super::input::Input;
use super::spending::Spending;
use crate::ports::{CorrelationKey, CurrencyCode, PaymentRecord};
use crate::{OperationOutcome, StreamId, UnixMillis};

/// The state of an operation.
pub trait StateMachine {
    /// Takes an input.
    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult;

    /// When to wake it with [`Input::Timer`]: at its time-out, or earlier. `None`: it never times out.
    fn wake_at(&self) -> Option<UnixMillis>;

    /// The keys by which messages and signals find it. Steps may add keys; they are removed when it finishes.
    fn correlations(&self) -> Vec<CorrelationKey>;

    /// Whether all its keys are random and only messages find it by them.
    fn has_random_keys(&self) -> bool {
        false
    }

    /// Whether it is about this user, whose erasure then removes it: their main key, or the requested key. A mere
    /// mention (in a text of the app, or as another user's subkey) does not count.
    fn is_about(&self, user: &PublicKey) -> bool;

    /// The keys that no other operation can claim until the given time, although it is finished.
    fn kept_correlations(&self) -> Vec<(CorrelationKey, UnixMillis)> {
        Vec::new()
    }

    /// Who may close the subscription that it requests before it begins; `None` if it requests none.
    fn may_close_early(&self) -> Option<Vec<PublicKey>> {
        None
    }

    /// The queue of its events on the reserved stream ([`Delivery::queue`](crate::ports::Delivery::queue)).
    fn announcement_queue(&self) -> StreamId {
        StreamId::SUBSCRIPTIONS
    }

    /// How a step ends instead if the operation that it signals is no longer open; `None`: the signal is dropped.
    fn signal_without_recipient(&mut self) -> Option<Vec<Effect>> {
        None
    }

    /// Whether no further events are expected. It may still be open, because money may arrive late.
    fn is_done(&self) -> bool {
        false
    }

    /// Once done: until when a `paid` event may still follow, if any.
    fn paid_late_until(&self) -> Option<UnixMillis> {
        None
    }

    /// Whether it stays open after its end, because money may arrive late or it must not be repeated.
    fn lingers(&self) -> bool {
        false
    }

    /// Whether this input is judged by the wall clock even if that was set back: a look-up proves that a wallet can no
    /// longer act on a request only if the request has expired by the wall clock.
    fn is_by_wall_clock(&self, _input: &Input) -> bool {
        false
    }

    /// Whether nobody waits for it: the service started it by itself, so other operations may take precedence.
    fn is_unattended(&self) -> bool {
        false
    }

    /// Its outcome if it ends without an event of its own.
    fn silent_outcome(&self) -> OperationOutcome {
        OperationOutcome::Completed
    }

    /// Whether the app gets its events. An operation of another app leaves nothing, and its stream has no events.
    fn is_of_app(&self) -> bool {
        true
    }

    /// Whether this input makes it start a payment that nobody requested, which waits if there is no room.
    fn starts_payment(&self, _input: &Input) -> bool {
        false
    }

    /// The currency of the payment that this input makes it start: it then gets [`Input::TimerAtRate`] instead of
    /// [`Input::Timer`].
    fn charges_in(&self, _input: &Input) -> Option<CurrencyCode> {
        None
    }

    /// The payment hash of the invoice that this input names for it to pay: an outsider's, who may name any.
    fn named_invoice(&self, _input: &Input, _now: UnixMillis) -> Option<PaymentHash> {
        None
    }

    /// Whether it uses the reply of a remote signer.
    fn waits_for_signer(&self) -> bool {
        false
    }

    /// The keys of operations of this kind to which a wallet's message may belong, most likely first.
    fn keys_of(_message: &WalletMessage) -> Vec<CorrelationKey>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Whether a message may precede its operation: it is passed to all that its author [may
    /// close](Self::may_close_early).
    fn comes_early(_message: &WalletMessage) -> bool
    where
        Self: Sized,
    {
        false
    }

    /// The money of the Lightning backend that it has spent or may spend.
    fn spending(&self) -> Option<Spending> {
        None
    }

    /// Its record in the books.
    fn payment_record(&self) -> Option<PaymentRecord> {
        None
    }

    /// The payment hash of an invoice of the service that may be paid.
    fn watched(&self) -> Option<PaymentHash> {
        None
    }
}
