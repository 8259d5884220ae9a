//! Subscriptions as the operator sees them: listed, read, closed.

use usher_protocol::PublicKey;

use super::committing::Change;
use super::steps::Cause;
use super::{Engine, IdempotentRequest};
use crate::StreamId;
use crate::operations::{Input, Note, Operation, Outcome, Subscription, SubscriptionState, SubscriptionView};
use crate::ports::{Conflict, CorrelationKey, Revision, StoreError};

/// Subscriptions looked at for one page, whether they are wanted or not.
const LOOKED_AT: usize = 1000;

/// Some subscriptions, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionPage {
    /// The subscriptions.
    pub subscriptions: Vec<SubscriptionView>,
    /// The `after` to ask with for more; `None` when there are no more.
    pub next: Option<StreamId>,
}

/// Which subscriptions are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SubscriptionFilter {
    /// Those in this state.
    pub state: Option<SubscriptionState>,
    /// Those of this user.
    pub main_key: Option<PublicKey>,
}

/// Why a subscription was not closed.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    /// There is none with this id, or none of this user, or it ended so long ago that it was removed.
    #[error("no such subscription")]
    NotFound,
    /// The call, which was to be done once, was answered before.
    #[error("the call was answered before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Up to `limit` subscriptions, after the one that `after` names. A page may be short, even empty, and have a next.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn subscriptions(
        &self,
        filter: SubscriptionFilter,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<SubscriptionPage, StoreError> {
        let stored = self.store.subscriptions(after, LOOKED_AT).await?;
        let all_seen = stored.len() < LOOKED_AT;
        let mut page = SubscriptionPage { subscriptions: Vec::new(), next: None };
        let mut last = None;
        for (id, stored) in stored {
            if page.subscriptions.len() >= limit {
                page.next = last;
                return Ok(page);
            }
            last = Some(id);
            let Some(Operation::Subscription(subscription)) = self.read_operation(id, &stored) else { continue };
            let view = subscription.view();
            let wanted = filter.state.is_none_or(|state| state == view.state)
                && filter.main_key.is_none_or(|main_key| main_key == view.main_key);
            if wanted {
                page.subscriptions.push(view);
            }
        }
        page.next = last.filter(|_| !all_seen);
        Ok(page)
    }

    /// The subscription with this id.
    ///
    /// # Errors
    /// [`SubscriptionError`].
    pub async fn subscription(&self, id: &str) -> Result<SubscriptionView, SubscriptionError> {
        let (_, _, subscription) = self.open_subscription(id).await?.ok_or(SubscriptionError::NotFound)?;
        Ok(subscription.view())
    }

    /// Closes a subscription of `main_key` and tells the user's wallet; one that has ended stays as it is.
    ///
    /// # Errors
    /// [`SubscriptionError`].
    pub async fn close_subscription(
        &self,
        main_key: PublicKey,
        id: &str,
        once: Option<IdempotentRequest<SubscriptionView>>,
    ) -> Result<SubscriptionView, SubscriptionError> {
        loop {
            let now = self.clock.now();
            let (stream_id, revision, mut subscription) =
                self.open_subscription(id).await?.ok_or(SubscriptionError::NotFound)?;
            if !subscription.is_of(&main_key) {
                return Err(SubscriptionError::NotFound);
            }
            let Outcome::Stepped(effects) = subscription.step(&Input::Note(Note::Close), now) else {
                let view = subscription.view();
                if let Some(once) = &once {
                    self.keep_idempotency_record(once, &view).await?;
                }
                return Ok(view);
            };
            let view = subscription.view();
            let answer = once.as_ref().map(|once| once.answer(&view, now));
            let change = Change {
                id: stream_id,
                operation: Operation::Subscription(subscription),
                effects,
                expected: Revision::At(revision),
                claims: Vec::new(),
            };
            match self.commit(change, now, Cause::Call(answer)).await? {
                None => return Ok(view),
                // It was stepped meanwhile: look again.
                Some(Conflict::Revision) => {}
                Some(Conflict::Answered) => return Err(SubscriptionError::Repeated),
                Some(Conflict::Correlation(_) | Conflict::InboundSeen) => {
                    return Err(StoreError::Unreadable("a subscription's key").into());
                }
            }
        }
    }

    /// The subscription with this id, its operation and revision.
    pub(super) async fn open_subscription(
        &self,
        id: &str,
    ) -> Result<Option<(StreamId, u64, Subscription)>, StoreError> {
        // Of the store, not the index: the app may have learnt of it a moment ago.
        let key = CorrelationKey::subscription(id);
        let Some((stream_id, stored)) = self.store.operation_with_key(key).await? else { return Ok(None) };
        match Operation::from_state(&stored.state) {
            Ok(Operation::Subscription(subscription)) => Ok(Some((stream_id, stored.revision, subscription))),
            // A request whose subscription was refused.
            Ok(_) => Ok(None),
            Err(_) => Err(StoreError::Unreadable("a subscription's state")),
        }
    }
}
