//! Notifications of the Lightning backend.

use std::sync::Arc;

use tracing::info;

use super::invoice_watcher::InvoiceWatcher;
use crate::kernel::core::Core;
use crate::machine::Input;
use crate::ports::{CorrelationKey, LightningNotification, LightningNotifications};

pub(crate) struct NotificationHandler {
    pub(crate) core: Core,
    pub(crate) watcher: Arc<InvoiceWatcher>,
}

impl NotificationHandler {
    pub(crate) async fn run_notifications(self, mut notifications: LightningNotifications) {
        while let Some(Some(notification)) = self.core.tasks.unless_stopped(notifications.recv()).await {
            self.handle(notification).await;
        }
    }

    async fn handle(&self, notification: LightningNotification) {
        match notification {
            LightningNotification::Settled(hash, settlement) => {
                let Some(id) = self.core.index.find(CorrelationKey::invoice(hash)) else { return };
                fail::fail_point!("settled");
                if settlement.preimage.is_some_and(|preimage| preimage.payment_hash() == hash) {
                    self.core.inputs.put(id, Input::Settled(settlement)).await;
                } else {
                    self.watcher.look_up_soon(id);
                }
            }
            LightningNotification::Sent(hash, paid) => {
                if let Some(id) = self.core.index.find(CorrelationKey::paying(hash)) {
                    self.core.inputs.put(id, Input::Paid(paid)).await;
                }
                // Another user of the same backend may have paid an invoice of the service.
                if let Some(id) = self.core.index.find(CorrelationKey::invoice(hash)) {
                    self.watcher.look_up_soon(id);
                }
            }
            LightningNotification::Reconnected => {
                info!("the Lightning backend sends notifications again; open invoices are looked up");
                self.watcher.look_up_all();
            }
        }
    }
}
