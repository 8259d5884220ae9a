//! What every operation is: a state machine. What an operation supports beyond the required methods, it says by the others,
//! which have defaults.

use usher_protocol::PublicKey;
use usher_protocol::message::PaymentHash;

use super::{Input, SetBack, Spending, StepResult};
use crate::ports::{CorrelationKey, OperationKind};
use crate::{StreamId, UnixMillis};

/// The state of an operation.
pub trait StateMachine {
    /// Its kind.
    fn kind(&self) -> OperationKind;

    /// Takes an input.
    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult;

    /// When it wants to be woken by [`Input::Timer`]: its time-out, or earlier. `None`: it never ends by itself.
    fn wake_at(&self) -> Option<UnixMillis>;

    /// The machine's clock was set back: what it waits for would come late by as much.
    fn clock_set_back(&mut self, set_back: SetBack, now: UnixMillis);

    /// By what messages of wallets, of the Lightning backend and of other operations are matched to it. Keys are added as it
    /// goes on, and never removed before it is finished.
    fn correlations(&self) -> Vec<CorrelationKey>;

    /// Those of its keys that nobody else can claim until the given time although it is finished.
    fn kept_correlations(&self) -> Vec<(CorrelationKey, UnixMillis)> {
        Vec::new()
    }

    /// Who may close the subscription that it asks for before it has begun; `None` when it asks for none.
    fn may_close_early(&self) -> Option<Vec<PublicKey>> {
        None
    }

    /// In which order its events on the reserved stream are delivered ([`Delivery::queue`](crate::ports::Delivery::queue)).
    fn announcement_queue(&self) -> StreamId {
        StreamId::SUBSCRIPTIONS
    }

    /// Whether nothing more is expected of it. It may be open all the same, because money may still come.
    fn is_done(&self) -> bool {
        false
    }

    /// Whether it stays open after its end, because money may still come or it must not be done twice.
    fn lingers(&self) -> bool {
        false
    }

    /// Whether nobody waits for it: the service has begun it by itself, and it may wait for others.
    fn is_unattended(&self) -> bool {
        false
    }

    /// What it has spent, or may spend, of the Lightning backend's money.
    fn spending(&self) -> Option<Spending> {
        None
    }

    /// The payment hash of an invoice of our own that may be paid.
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

        // What it supports is asked of the operation itself.
        impl std::ops::Deref for Operation {
            type Target = dyn StateMachine;

            fn deref(&self) -> &Self::Target {
                self.machine()
            }
        }
    };
}
pub(super) use operations;
