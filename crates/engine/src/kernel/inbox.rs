//! The inbox: finds the operation of a wallet's message. Most messages of unauthenticated peers end here, at the cost
//! of a map look-up.

use std::sync::Arc;

use tokio::sync::mpsc;
use usher_protocol::message::WalletMessage;

use super::admission::Admission;
use super::outbox::Outbox;
use crate::kernel::core::Core;
use crate::machine::Input;
use crate::ports::Inbound;
use crate::registry::Operation;
use crate::{StreamId, UnixMillis};

pub(crate) struct Inbox {
    pub(crate) core: Core,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) admission: Arc<dyn Admission>,
}

impl Inbox {
    /// Handles messages, also those left when the engine stops: a wallet may have sent them only once.
    pub(crate) async fn run_inbox(self, mut inbox: mpsc::Receiver<Inbound>) {
        while let Some(Some(inbound)) = self.core.tasks.unless_stopped(inbox.recv()).await {
            self.dispatch(inbound).await;
        }
        inbox.close();
        while let Some(inbound) = inbox.recv().await {
            self.dispatch(inbound).await;
        }
        self.core.tasks.stopped().await;
        self.core.tasks.set_inbox_drained();
    }

    async fn dispatch(&self, inbound: Inbound) {
        let (author, copy) = (inbound.author, inbound.via.copy);
        // A copy over another relay does not show what the wallet has received since.
        if !copy {
            self.outbox.record_activity(author);
        }
        // Read before the look-up: if the operation is about to be started, one of the two finds it.
        let requests = if Operation::comes_early(&inbound.message) {
            self.core.index.with_participant(&author)
        } else {
            Vec::new()
        };
        let operation = self.operation_of(&inbound.message);
        if !copy {
            self.core.metrics.received(operation.is_some() || !requests.is_empty());
        }
        let sent_at = UnixMillis::from_secs(inbound.created_at);
        match operation {
            Some(id) => {
                if self.admission.admits(id, &inbound) {
                    let input = Input::Wallet { author, sent_at, message: inbound.message };
                    self.core.inputs.put_message(id, input, inbound.event_id).await;
                }
            }
            None => {
                for id in requests {
                    // Not recorded as a handled event: it may be meant for any of them.
                    self.core.inputs.put(id, Input::Wallet { author, sent_at, message: inbound.message.clone() }).await;
                }
            }
        }
    }

    fn operation_of(&self, message: &WalletMessage) -> Option<StreamId> {
        match message {
            WalletMessage::SubkeyProof { about, .. } => self.outbox.sender_of(about),
            message => Operation::keys_of(message).into_iter().find_map(|key| self.core.index.find(key)),
        }
    }
}
