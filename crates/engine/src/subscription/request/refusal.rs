//! Refuses an agreement, and tells the wallet for some time.

use std::time::Duration;

use usher_protocol::message::WalletMessage;
use usher_protocol::subkey::Permission;

use super::RecurringRequest;
use super::refused_agreement::RefusedAgreement;
use crate::UnixMillis;
use crate::event_data::PaymentData;
use crate::machine::{Effect, Input, StepResult, emit};

/// How long the close is repeated to the user's wallet; nothing acknowledges it.
const CLOSE_RESEND_PERIOD: Duration = Duration::from_secs(600);

impl RecurringRequest {
    /// Refuses the wallet's authorization: the wallet gets a close, and the app the reason.
    pub(super) fn refuse(&mut self, subscription_id: &str, status: &str, reason: &str, now: UnixMillis) -> StepResult {
        let data = PaymentData::failed_at(self.price.as_ref(), status, Some(reason), self.reference.as_deref());
        let refused = RefusedAgreement {
            subscription_id: subscription_id.to_owned(),
            reason: reason.to_owned(),
            until: now.plus(CLOSE_RESEND_PERIOD),
        };
        let close = Effect::Send(self.user_keys.message(&refused.close(), refused.until));
        self.refused = Some(refused);
        StepResult::Stepped(vec![emit(data, now), close])
    }

    pub(super) fn step_refused(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let Some(refused) = &self.refused else { return StepResult::Ignored };
        match input {
            Input::Timer if now >= refused.until => StepResult::Stepped(vec![Effect::Finish]),
            // The user has closed it, too, so the wallet knows.
            Input::Wallet { author, message: WalletMessage::CloseSubscription(close), .. }
                if close.subscription_id == refused.subscription_id && self.user_keys.may_pay(author, now) =>
            {
                StepResult::Stepped(vec![Effect::Finish])
            }
            // A device could not read it.
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. } if now < refused.until => {
                let refused = refused.clone();
                if self.user_keys.prove(author, proof, Permission::Payment, now) {
                    let close = self.user_keys.message_to_proven(author, &refused.close(), refused.until);
                    StepResult::Stepped(vec![Effect::SendAlso(close)])
                } else {
                    StepResult::Ignored
                }
            }
            _ => StepResult::Ignored,
        }
    }
}
