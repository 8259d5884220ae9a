//! An unacceptable agreement: the wallet gets a close for some time.

use serde::{Deserialize, Serialize};
use usher_protocol::message::{CloseSubscription, ServiceMessage};

use crate::UnixMillis;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RefusedAgreement {
    pub(super) subscription_id: String,
    pub(super) reason: String,
    pub(super) until: UnixMillis,
}

impl RefusedAgreement {
    pub(super) fn subscription_id(&self) -> &str {
        &self.subscription_id
    }

    pub(super) fn close(&self) -> ServiceMessage {
        ServiceMessage::CloseSubscription(CloseSubscription {
            subscription_id: self.subscription_id.clone(),
            reason: Some(self.reason.clone()),
            by_service: true,
        })
    }

    pub(super) const fn until(&self) -> UnixMillis {
        self.until
    }
}
