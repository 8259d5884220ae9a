//! Dispatches due alarms to the parts that handle them.

use std::sync::Arc;

use super::clock_changes::ClockChanges;
use super::inputs::Inputs;
use super::invoice_watcher::InvoiceWatcher;
use super::outbox::Outbox;
use super::tasks::Tasks;
use super::timers::{Alarm, Due, Timers};
use super::webhook_dispatcher::WebhookDispatcher;
use crate::StreamId;
use crate::operations::Input;
use crate::ports::Clock;

/// Dispatches alarms.
pub(crate) struct Alarms {
    pub(crate) timers: Arc<Timers>,
    pub(crate) inputs: Inputs,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) watcher: Arc<InvoiceWatcher>,
    pub(crate) webhooks: Arc<WebhookDispatcher>,
    pub(crate) clock_changes: Arc<ClockChanges>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: Tasks,
}

impl Alarms {
    /// Hands [`Input::Resumed`] to operations whose reply from the Lightning backend or the ticket wallet was lost with the
    /// previous process, and only then dispatches alarms, until the engine stops. An operation that its alarm had woken first would take its new
    /// request for the one whose reply was lost.
    ///
    /// While the clock is not trusted, these operations wait together with those whose alarms are held back.
    pub(crate) async fn run(self, mut resumed: Vec<StreamId>) {
        if !self.clock_changes.is_holding() {
            self.hand_out_resumed(std::mem::take(&mut resumed)).await;
        }
        while let Some(due) = self.tasks.unless_stopped(self.timers.next(&*self.clock)).await {
            match due {
                Due::Alarms(alarms) => {
                    for (id, alarm) in alarms {
                        self.dispatch(id, alarm).await;
                    }
                }
                Due::SetBack(by) => {
                    self.clock_changes.set_back(by);
                    if self.clock_changes.is_put_right() {
                        self.release(std::mem::take(&mut resumed)).await;
                    }
                }
                Due::HeldLongEnough => self.release(std::mem::take(&mut resumed)).await,
                Due::SetForward(by) => self.clock_changes.set_forward(by),
            }
        }
    }

    async fn release(&self, resumed: Vec<StreamId>) {
        self.hand_out_resumed(resumed).await;
        self.clock_changes.release();
    }

    async fn hand_out_resumed(&self, resumed: Vec<StreamId>) {
        for id in resumed {
            if self.tasks.unless_stopped(self.inputs.put(id, Input::Resumed)).await.is_none() {
                return;
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
