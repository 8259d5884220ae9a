//! Dispatches due alarms to the parts that handle them.

use std::sync::Arc;

use super::inputs::Inputs;
use super::invoice_watcher::InvoiceWatcher;
use super::outbox::Outbox;
use super::tasks::Tasks;
use super::timers::{Alarm, Timers};
use super::webhook_dispatcher::WebhookDispatcher;
use crate::StreamId;
use crate::operations::Input;

pub(crate) struct Alarms {
    pub(crate) timers: Arc<Timers>,
    pub(crate) inputs: Inputs,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) webhooks: Arc<WebhookDispatcher>,
    pub(crate) tasks: Tasks,
}

impl Alarms {
    /// Hands [`Input::Resumed`] to operations whose reply was lost with the previous process, and only then dispatches
    /// alarms: an operation woken by its alarm first would take its new request for the one whose reply was lost.
    pub(crate) async fn run(self, resumed: Vec<StreamId>) {
        for id in resumed {
            if self.tasks.unless_stopped(self.inputs.put(id, Input::Resumed)).await.is_none() {
                return;
            }
        }
        while let Some(due) = self.tasks.unless_stopped(self.timers.next()).await {
            for (id, alarm) in due {
                self.dispatch(id, alarm).await;
            }
        }
    }

    async fn dispatch(&self, id: StreamId, alarm: Alarm) {
        match alarm {
            Alarm::Wake => self.inputs.put(id, Input::Timer).await,
            Alarm::Resend => self.outbox.resend(id).await,
            Alarm::LookUp => self.watcher.due(id),
            Alarm::Deliver => self.webhooks.due(id),
        }
    }
}
