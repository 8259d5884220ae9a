//! The inbox: finds the operation to which a wallet's message belongs.
//!
//! Most of what strangers send ends here, at the price of one look into a map.

use std::sync::Arc;

use tokio::sync::mpsc;
use usher_protocol::handshake_url::decode_token;
use usher_protocol::message::WalletMessage;

use super::Engine;
use super::scan_limiter::{Admission, Scan};
use crate::operations::Input;
use crate::ports::{CorrelationKey, Inbound};
use crate::{StreamId, UnixMillis};

impl Engine {
    /// Takes in messages until everything stops; what has arrived by then is still handed to the workers, for a wallet
    /// may have sent it once and for all.
    pub(super) async fn take_in(self: Arc<Self>, mut inbox: mpsc::Receiver<Inbound>) {
        loop {
            let inbound = tokio::select! {
                inbound = inbox.recv() => inbound,
                () = self.stop.cancelled() => break,
            };
            let Some(inbound) = inbound else { break };
            self.hand_on(inbound).await;
        }
        inbox.close();
        while let Some(inbound) = inbox.recv().await {
            self.hand_on(inbound).await;
        }
        self.stop.cancelled().await;
        self.drained.cancel();
    }

    async fn hand_on(&self, inbound: Inbound) {
        let Inbound { event_id, author, created_at, message, via } = inbound;
        // Before the operation is looked for: while that is being asked for, it is found by one of both.
        let asked = match &message {
            WalletMessage::CloseSubscription(_) => self.index.parties.of(&author),
            _ => Vec::new(),
        };
        let operation = self.operation_of(&message);
        if !via.copy {
            self.counts.received(operation.is_some() || !asked.is_empty());
        }
        let sent_at = UnixMillis::from_secs(created_at);
        let Some(id) = operation else {
            for id in asked {
                // Not recorded as an event that has been handled: each of them may be meant.
                self.workers.input(id, Input::Wallet { author, sent_at, message: message.clone() }).await;
            }
            return;
        };
        let message = match message {
            // One that never ends is open to everybody who knows its token.
            WalletMessage::KeyHandshake(handshake) if self.index.get(id).is_some_and(|open| open.wake_at.is_none()) => {
                let scan = Scan { author, event: event_id, sent_at, handshake, via };
                match self.scans.admit(id, scan, self.moment(), &*self.randomness) {
                    Admission::Accepted(scan) => self.take_scan(id, scan).await,
                    Admission::Copy => {}
                    Admission::Waits | Admission::Refused => self.warn_of_refusals(),
                }
                return;
            }
            // Only a scan of a reusable handshake is of use once more.
            _ if via.copy => return,
            message => message,
        };
        self.workers.wallet(id, Input::Wallet { author, sent_at, message }, event_id).await;
    }

    fn operation_of(&self, message: &WalletMessage) -> Option<StreamId> {
        match message {
            WalletMessage::KeyHandshake(handshake) => {
                let find = |token: &str| self.index.find(CorrelationKey::token(token));
                // Some wallets send the token as it stands in the URL.
                find(&handshake.token).or_else(|| find(&decode_token(&handshake.token)?))
            }
            WalletMessage::AuthResponse(response) => self.index.find(CorrelationKey::challenge(&response.challenge)),
            WalletMessage::SubkeyProof { about, .. } => self.outgoing.sender_of(about),
            WalletMessage::PaymentResponse(response) | WalletMessage::PaymentConfirmation(response) => {
                self.index.find(CorrelationKey::request(&response.request_id))
            }
            WalletMessage::RecurringResponse(response) => {
                self.index.find(CorrelationKey::request(&response.request_id))
            }
            WalletMessage::InvoiceResponse(response) => {
                self.index.find(CorrelationKey::request(&response.request.inner.request_id))
            }
            WalletMessage::CloseSubscription(close) => {
                self.index.find(CorrelationKey::subscription(&close.subscription_id))
            }
            // Nothing asks for these yet.
            _ => None,
        }
    }
}
