//! Notifications of the Lightning backend.

use std::sync::Arc;

use tracing::info;

use super::index::Index;
use super::inputs::Inputs;
use super::invoice_watcher::InvoiceWatcher;
use super::tasks::Tasks;
use crate::operations::Input;
use crate::ports::{Clock, CorrelationKey, LightningNotification, LightningNotifications};

/// Hands notifications to the operations they are about.
pub(crate) struct NotificationHandler {
    pub(crate) index: Arc<Index>,
    pub(crate) inputs: Inputs,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: Tasks,
}

impl NotificationHandler {
    /// Handles notifications until the engine stops.
    pub(crate) async fn run_notifications(self, mut notifications: LightningNotifications) {
        while let Some(Some(notification)) = self.tasks.unless_stopped(notifications.recv()).await {
            self.handle(notification).await;
        }
    }

    async fn handle(&self, notification: LightningNotification) {
        match notification {
            LightningNotification::Settled(hash, settlement) => {
                let Some(id) = self.index.find(CorrelationKey::invoice(hash)) else { return };
                fail::fail_point!("settled");
                if settlement.preimage.is_some() {
                    self.inputs.put(id, Input::Settled(settlement)).await;
                } else {
                    self.watcher.look_up_soon(id, self.clock.now());
                }
            }
            LightningNotification::Sent(hash, paid) => {
                if let Some(id) = self.index.find(CorrelationKey::paying(hash)) {
                    self.inputs.put(id, Input::Paid(paid)).await;
                }
            }
            LightningNotification::Reconnected => {
                info!("the Lightning backend sends notifications again; open invoices are looked up");
                self.watcher.look_up_all(self.clock.now());
            }
        }
    }
}
