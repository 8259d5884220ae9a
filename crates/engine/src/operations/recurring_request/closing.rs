//! What the wallet has agreed to, or is about to, and what is closed of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::message::{CloseSubscription, ServiceMessage, WalletMessage};
use usher_protocol::subkey::Permission;

use super::RecurringRequest;
use crate::UnixMillis;
use crate::event_data::PaymentData;
use crate::operations::{Effect, Input, SetBack, StepResult, emit, millis};

/// How long the user's wallet is told that a subscription is closed; nothing acknowledges it.
const TELLING: Duration = Duration::from_secs(600);

/// Most closes that are kept of one request; a user who has closed more has closed what was never asked for.
const MOST: usize = 16;

/// For how long a close is kept for a subscription that is not there yet. The transport refuses messages that are older than
/// 15 minutes, and what it accepts is handled within moments.
const KEPT: Duration = Duration::from_secs(3600);

/// Subscriptions that were closed before they began, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EarlyCloses(Vec<EarlyClose>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EarlyClose {
    subscription_id: String,
    reason: Option<String>,
    #[serde(with = "millis")]
    at: UnixMillis,
}

impl EarlyCloses {
    /// Says whether it was not known.
    pub(super) fn put(&mut self, close: &CloseSubscription, now: UnixMillis) -> bool {
        if self.of(&close.subscription_id).is_some() {
            return false;
        }
        self.0.retain(|early| now < early.at.plus(KEPT));
        if self.0.len() >= MOST {
            return false;
        }
        let CloseSubscription { subscription_id, reason, .. } = close.clone();
        self.0.push(EarlyClose { subscription_id, reason, at: now });
        true
    }

    pub(super) fn clock_set_back(&mut self, set_back: SetBack, now: UnixMillis) {
        self.0.iter_mut().for_each(|early| set_back.moment(&mut early.at, now));
    }

    /// The reason, when this one was closed.
    #[allow(clippy::option_option)] // closed without a reason is closed
    pub(super) fn of(&self, subscription_id: &str) -> Option<Option<String>> {
        self.0.iter().find(|early| early.subscription_id == subscription_id).map(|early| early.reason.clone())
    }
}

/// A subscription that the wallet believes to have begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refused {
    subscription_id: String,
    reason: String,
    #[serde(with = "millis")]
    until: UnixMillis,
}

impl Refused {
    pub(super) fn subscription_id(&self) -> &str {
        &self.subscription_id
    }

    pub(super) fn clock_set_back(&mut self, set_back: SetBack, now: UnixMillis) {
        set_back.pause(&mut self.until, now);
    }

    /// What the wallet is sent.
    fn close(&self) -> ServiceMessage {
        ServiceMessage::CloseSubscription(CloseSubscription {
            subscription_id: self.subscription_id.clone(),
            reason: Some(self.reason.clone()),
            by_service: true,
        })
    }

    /// Until when the wallet is told.
    pub(super) const fn until(&self) -> UnixMillis {
        self.until
    }
}

impl RecurringRequest {
    /// What the wallet authorized is of no use: it is told that the subscription is closed, and the app why.
    pub(super) fn refuse(&mut self, subscription_id: &str, status: &str, reason: &str, now: UnixMillis) -> StepResult {
        let data = PaymentData::failed(status, Some(reason), self.reference.as_deref());
        let refused = Refused {
            subscription_id: subscription_id.to_owned(),
            reason: reason.to_owned(),
            until: now.plus(TELLING),
        };
        let close = Effect::Send(self.conversation.message(&refused.close(), refused.until));
        self.refused = Some(refused);
        StepResult::Stepped(vec![emit(data, now), close])
    }

    /// While the wallet is told.
    pub(super) fn step_refused(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        let Some(refused) = &self.refused else { return StepResult::Ignored };
        match input {
            Input::Timer if now >= refused.until => StepResult::Stepped(vec![Effect::Finish]),
            // The user has closed it, too: the wallet knows.
            Input::Wallet { author, message: WalletMessage::CloseSubscription(close), .. }
                if close.subscription_id == refused.subscription_id && self.conversation.may_pay(author, now) =>
            {
                StepResult::Stepped(vec![Effect::Finish])
            }
            // A device could not read it.
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. } if now < refused.until => {
                let refused = refused.clone();
                if self.conversation.prove(author, proof, Permission::Payment, now) {
                    let close = self.conversation.message_to_proven(author, &refused.close(), refused.until);
                    StepResult::Stepped(vec![Effect::SendAlso(close)])
                } else {
                    StepResult::Ignored
                }
            }
            _ => StepResult::Ignored,
        }
    }
}
