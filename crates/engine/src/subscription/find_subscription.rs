//! Finds subscriptions that are not finished.

use crate::kernel::requested_store::RequestedStore;
use crate::ports::{CorrelationKey, StoreError, Version};
use crate::registry::Operation;
use crate::subscription::operation::Subscription;
use crate::{Requester, StreamId};

/// A subscription that is not finished.
pub struct OpenSubscription {
    pub(crate) stream_id: StreamId,
    pub(crate) version: Version,
    pub(crate) subscription: Subscription,
}

pub(crate) async fn find(
    store: &RequestedStore,
    requester: &Requester,
    id: &str,
) -> Result<Option<OpenSubscription>, StoreError> {
    // From the store: the index may not have it yet although the app knows it.
    let key = CorrelationKey::subscription(id);
    let Some((stream_id, stored)) = store.operation_with_key(requester, key).await? else { return Ok(None) };
    match Operation::from_state(&stored.state) {
        Ok(Operation::Subscription(subscription)) => {
            Ok(Some(OpenSubscription { stream_id, version: stored.version(), subscription }))
        }
        // A request whose subscription was refused.
        Ok(_) => Ok(None),
        Err(_) => Err(StoreError::Unreadable("a subscription's state")),
    }
}
