//! Dispatches due timers to the parts that handle them.

use std::sync::Arc;

use super::input_queue::InputQueue;
use super::invoice_watcher::InvoiceWatcher;
use super::outbox::Outbox;
use super::tasks::Tasks;
use super::timers::{TimerKind, Timers};
use super::webhook_dispatcher::WebhookDispatcher;
use crate::StreamId;
use crate::machine::Input;

pub(crate) struct TimerDispatcher {
    pub(crate) timers: Arc<Timers>,
    pub(crate) inputs: InputQueue,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) webhooks: Arc<WebhookDispatcher>,
    pub(crate) tasks: Tasks,
}

impl TimerDispatcher {
    /// Passes [`Input::Resumed`] to operations whose reply was lost with the previous process, and only then dispatches
    /// timers: otherwise an operation woken by its timer would mistake its new request for the one whose reply was
    /// lost.
    pub(crate) async fn run(self, resumed: Vec<StreamId>) {
        for id in resumed {
            if self.tasks.unless_stopped(self.inputs.put(id, Input::Resumed)).await.is_none() {
                return;
            }
        }
        while let Some(due) = self.tasks.unless_stopped(self.timers.next()).await {
            for (id, kind) in due {
                self.dispatch(id, kind).await;
            }
        }
    }

    async fn dispatch(&self, id: StreamId, kind: TimerKind) {
        match kind {
            TimerKind::Wake => self.inputs.put(id, Input::Timer).await,
            TimerKind::Resend => self.outbox.resend(id).await,
            TimerKind::LookUp => self.watcher.due(id),
            TimerKind::Deliver => self.webhooks.due(id),
        }
    }
}
