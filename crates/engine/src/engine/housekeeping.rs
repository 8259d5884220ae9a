//! Housekeeping: removes what has had its time.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use super::Engine;
use super::answering::ANSWERS_KEPT;
use crate::ports::StoreError;

/// How often the house is kept.
const EVERY: Duration = Duration::from_secs(3600);

/// Removed in one transaction at most, so that commits of operations do not wait for long.
const BATCH: usize = 500;

/// How long the ids of handled Nostr events are kept. The transport refuses events whose time is over 15 minutes from
/// ours; 2 hours are well beyond both edges of that.
const INBOUND_KEPT: Duration = Duration::from_secs(2 * 3600);

/// How long the relays of a user are kept after a wallet last named them. A user who comes back later is reached at
/// our own relays until the wallet names its own again.
const USER_RELAYS_KEPT: Duration = Duration::from_secs(180 * 24 * 3600);

impl Engine {
    /// Keeps house now and then until everything stops.
    pub(super) async fn keep_house(self: Arc<Self>) {
        loop {
            let next = self.clock.now().plus(EVERY);
            tokio::select! {
                () = self.stop.cancelled() => return,
                result = self.clean() => {
                    if let Err(failure) = result {
                        warn!(error = ?failure, "housekeeping failed; it is tried again in an hour");
                    }
                }
            }
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.clock.sleep_until(next) => {}
            }
        }
    }

    async fn clean(&self) -> Result<(), StoreError> {
        let now = self.clock.now();
        self.give_up_deliveries(now).await?;
        while self.deliveries.forget(now.minus(self.options.retention), BATCH).await? == BATCH {}
        while self.answers.forget_answers(now.minus(ANSWERS_KEPT), BATCH).await? == BATCH {}
        while self.store.remove_finished(now.minus(self.options.retention), BATCH).await? == BATCH {}
        self.finished.clear();
        while self.store.forget_inbound(now.minus(INBOUND_KEPT), BATCH).await? == BATCH {}
        while self.store.forget_user_relays(now.minus(USER_RELAYS_KEPT), BATCH).await? == BATCH {}
        Ok(())
    }
}
