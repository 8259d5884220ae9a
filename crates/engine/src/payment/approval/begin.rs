//! What a payment becomes that needs no approval, or has it.

use super::{HeldPayment, UnstartedPayment};
use crate::UnixMillis;
use crate::machine::Effect;
use crate::payment::expiry::expiry;
use crate::registry::Operation;

impl UnstartedPayment {
    pub(crate) fn begin(self, now: UnixMillis) -> (Operation, Vec<Effect>) {
        match self {
            Self::Invoice { mut payment, attempts_until } => {
                let effects = payment.begin(expiry(attempts_until, now), now);
                (Operation::OutgoingPayment(payment), effects)
            }
            Self::Refund(refund) => {
                let effects = refund.begin();
                (Operation::Refund(refund), effects)
            }
            Self::OnChain(mut payment) => {
                let effects = payment.begin(now);
                (Operation::OnChainPayment(payment), effects)
            }
        }
    }
}

impl HeldPayment {
    /// Approves it: becomes the held payment.
    pub(crate) fn approve(self, now: UnixMillis) -> (Operation, Vec<Effect>) {
        self.payment.begin(now)
    }
}
