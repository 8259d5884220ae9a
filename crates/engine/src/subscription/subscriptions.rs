//! The app's view of subscriptions: listing, reading, closing.

use std::sync::Arc;

use usher_protocol::PublicKey;

use super::find_subscription::find;
use crate::field_value_checks::FieldChecks;
use crate::kernel::commit::Modified;
use crate::kernel::core::Core;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::request_errors::ModifyError;
use crate::kernel::starter::Starter;
use crate::machine::{Input, Signal, StateMachine as _, StepResult};
use crate::ports::StoreError;
use crate::registry::Operation;
use crate::subscription::operation::{SubscriptionRules, SubscriptionState, SubscriptionView};
use crate::{Order, Page, Requester, StreamId};

/// Subscriptions read for one page, before filtering.
const READ_PER_PAGE: usize = 1000;

/// A filter for listing subscriptions.
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
    /// There is none with this id and user, or it was removed after its retention.
    #[error("no such subscription")]
    NotFound,
    /// The idempotent request was executed before.
    #[error("the request was done before")]
    Repeated,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Subscriptions.
pub struct Subscriptions {
    pub(crate) core: Core,
    pub(crate) starter: Arc<Starter>,
    pub(crate) checks: Arc<FieldChecks>,
    pub(crate) rules: SubscriptionRules,
    pub(crate) has_lightning: bool,
}

impl ModifyError for SubscriptionError {
    fn repeated() -> Self {
        Self::Repeated
    }
}

impl Subscriptions {
    /// Up to `limit` subscriptions in this order, after `after`. A short or even empty page may have a successor.
    pub async fn list(
        &self,
        requester: &Requester,
        filter: SubscriptionFilter,
        order: Order,
        after: Option<StreamId>,
        limit: usize,
    ) -> Result<Page<SubscriptionView>, StoreError> {
        let (stored, next) = self.core.store.subscriptions(requester, order, after, READ_PER_PAGE).await?;
        let mut page = Page { items: Vec::new(), next: None };
        let mut last = None;
        for (id, stored) in stored {
            if page.items.len() >= limit {
                page.next = last;
                return Ok(page);
            }
            last = Some(id);
            let Some(Operation::Subscription(subscription)) = self.core.damaged_rows.read_operation(id, &stored) else {
                continue;
            };
            let view = subscription.view();
            let wanted = filter.state.is_none_or(|state| state == view.state)
                && filter.main_key.is_none_or(|main_key| main_key == view.main_key);
            if wanted {
                page.items.push(view);
            }
        }
        page.next = next;
        Ok(page)
    }

    /// The subscription with this id.
    pub async fn view(&self, requester: &Requester, id: &str) -> Result<SubscriptionView, SubscriptionError> {
        let found = find(&self.core.store, requester, id).await?.ok_or(SubscriptionError::NotFound)?;
        Ok(found.subscription.view())
    }

    /// Closes a subscription of `main_key` and notifies the user's wallet; an ended one stays unchanged.
    pub async fn close(
        &self,
        requester: &Requester,
        main_key: PublicKey,
        id: &str,
        once: Option<IdempotentRequest<SubscriptionView>>,
    ) -> Result<SubscriptionView, SubscriptionError> {
        let closed = self.starter.committer.modify(
            Operation::Subscription,
            || async {
                let found = find(&self.core.store, requester, id).await?;
                let found = found.filter(|found| found.subscription.is_of(&main_key));
                Ok::<_, SubscriptionError>(found.map(|found| (found.stream_id, found.version, found.subscription)))
            },
            |subscription, now| {
                let stepped = subscription.step(&Input::Signal(Signal::Close), now);
                let view = subscription.view();
                let StepResult::Stepped(effects) = stepped else { return Ok(Modified::Unchanged((view, true))) };
                let record = once.as_ref().map(|once| once.record(&view, now));
                Ok(Modified::Changed { effects, record, result: (view, false) })
            },
        );
        let (view, was_over) = closed.await?.ok_or(SubscriptionError::NotFound)?;
        if was_over && let Some(once) = &once {
            self.starter.idempotency.keep(once, &view).await?;
        }
        Ok(view)
    }
}
