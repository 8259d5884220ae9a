//! The trait of all operations. An operation implements the required methods; the others have defaults and are for what
//! only some operations support.

use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use super::{Effect, Input, SetBack, Spending, StepResult};
use crate::ports::{CorrelationKey, OperationKind};
use crate::{OperationOutcome, StreamId, UnixMillis};

/// The state of an operation.
pub trait StateMachine {
    /// Its kind.
    fn kind(&self) -> OperationKind;

    /// Takes an input.
    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult;

    /// When it is to be woken by [`Input::Timer`]: at its time-out, or earlier. `None`: it never times out.
    fn wake_at(&self) -> Option<UnixMillis>;

    /// Adjusts its times after the machine's clock was set back: its timers would fire late otherwise.
    fn clock_set_back(&mut self, set_back: SetBack, now: UnixMillis);

    /// The keys by which messages of wallets, of the Lightning backend and of other operations are matched to it. Steps
    /// may add keys; none is removed before it is finished.
    fn correlations(&self) -> Vec<CorrelationKey>;

    /// Those of its keys that no other operation can claim until the given time although it is finished.
    fn kept_correlations(&self) -> Vec<(CorrelationKey, UnixMillis)> {
        Vec::new()
    }

    /// Who may close the subscription that it requests before that has begun; `None` if it requests none.
    fn may_close_early(&self) -> Option<Vec<PublicKey>> {
        None
    }

    /// The queue in which its events on the reserved stream are delivered in order
    /// ([`Delivery::queue`](crate::ports::Delivery::queue)).
    fn announcement_queue(&self) -> StreamId {
        StreamId::SUBSCRIPTIONS
    }

    /// How a step ends instead when the operation that it sends a note to is not open any more; `None`: the note is dropped.
    fn note_without_recipient(&mut self) -> Option<Vec<Effect>> {
        None
    }

    /// Whether no further events are expected. It may still be open, because money may still arrive.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether it stays open after its end, because money may still arrive or it must not be done twice.
    fn lingers(&self) -> bool {
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

    /// What it has spent, or may spend, of the Lightning backend's money.
    fn spending(&self) -> Option<Spending> {
        None
    }

    /// The payment hash of an invoice of the service that may be paid.
    fn watched(&self) -> Option<PaymentHash> {
        None
    }
}

/// Registers the operations: each by one line, a variant of [`Operation`](super::Operation) with the state in it.
macro_rules! operations {
    ($($(#[$attribute:meta])* $variant:ident($state:ty),)+) => {
        /// The state of an operation, as it is stored.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "operation", rename_all = "snake_case")]
        pub enum Operation {
            $($(#[$attribute])* $variant($state),)+
        }

        impl Operation {
            fn machine(&self) -> &(dyn StateMachine + 'static) {
                match self {
                    $(Self::$variant(state) => state,)+
                }
            }

            fn machine_mut(&mut self) -> &mut (dyn StateMachine + 'static) {
                match self {
                    $(Self::$variant(state) => state,)+
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
pub(crate) use operations;
