//! Keeps the relays of subscribers stored: due dates may be years apart.

use async_trait::async_trait;
use tracing::warn;

use crate::kernel::core::Core;
use crate::kernel::observer::PeriodicTask;
use crate::ports::StoreError;
use crate::registry::Operation;
use crate::{Order, Requester, UnixMillis};

const BATCH: usize = 500;

/// Marks the relays of users with open subscriptions as in use, once a day.
pub(crate) struct RelayKeeper {
    pub(crate) core: Core,
}

#[async_trait]
impl PeriodicTask for RelayKeeper {
    async fn run(&self, hour: u64, now: UnixMillis) {
        if hour.is_multiple_of(24)
            && let Err(failure) = self.keep(now).await
        {
            warn!(what = "relays of users without a subscription", error = ?failure, "cleanup failed; retrying in 1 h");
        }
    }
}

impl RelayKeeper {
    async fn keep(&self, now: UnixMillis) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let (page, next) = self.core.store.subscriptions(&Requester::Service, Order::Oldest, after, BATCH).await?;
            let users: Vec<_> = page
                .iter()
                .filter(|(_, stored)| !stored.done)
                .filter_map(|(id, stored)| match self.core.damaged_rows.read_operation(*id, stored) {
                    Some(Operation::Subscription(subscription)) => Some(subscription.view().main_key),
                    _ => None,
                })
                .collect();
            self.core.store.keep_user_relays(&users, now).await?;
            if next.is_none() {
                return Ok(());
            }
            after = next;
        }
    }
}
