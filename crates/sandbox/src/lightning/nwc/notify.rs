//! Telling of payments.

use std::sync::Arc;

use nostr::{EventBuilder, Kind, Tag};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use usher_protocol::message::PaymentHash;

use super::cipher::Scheme;
use super::serving::Shared;
use super::{Encryptions, wire};
use crate::lightning::mint;

/// A notification, encrypted by NIP-04.
const NOTIFICATION_NIP04: u16 = 23_196;

/// A notification, encrypted by NIP-44.
const NOTIFICATION_NIP44: u16 = 23_197;

/// Tells of each payment to or from the account.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut occurrences = shared.desk.account.world().occurrences();
    loop {
        let occurrence = match occurrences.recv().await {
            Ok(occurrence) => occurrence,
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "the wallet service does not tell of all payments");
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        if !shared.behaviour.lock().notifications {
            continue;
        }
        let account = &shared.desk.account;
        let hash = occurrence.paid.payment_hash;
        if occurrence.payee == account.name()
            && let Some(transaction) = account.incoming(hash)
        {
            shared.notify("payment_received", &wire::transaction(&transaction));
        }
        if occurrence.payer == account.name()
            && let Some(transaction) = account.outgoing(hash)
        {
            shared.notify("payment_sent", &wire::transaction(&transaction));
        }
    }
}

impl Shared {
    pub(super) fn notify(&self, notification_type: &str, notification: &Value) {
        let text = json!({"notification_type": notification_type, "notification": notification}).to_string();
        let encryptions = self.behaviour.lock().encryptions;
        if encryptions != Encryptions::Nip44 {
            self.send_notification(NOTIFICATION_NIP04, Scheme::Nip04, &text);
        }
        if encryptions != Encryptions::Nip04 {
            self.send_notification(NOTIFICATION_NIP44, Scheme::Nip44, &text);
        }
    }

    fn send_notification(&self, kind: u16, scheme: Scheme, text: &str) {
        let Some(content) = self.seal(scheme, text) else { return };
        let builder = EventBuilder::new(Kind::from_u16(kind), content).tag(Tag::public_key(self.keys.app.public_key()));
        if self.send(&self.keys.wallet, builder) {
            self.counts.send_modify(|counts| counts.notifications += 1);
        }
    }

    pub(super) fn claim_received(&self, hash: PaymentHash) -> bool {
        let Some(found) = self.desk.account.incoming(hash) else { return false };
        let mut value = wire::transaction(&found);
        if let Some(fields) = value.as_object_mut()
            && found.settled_at.is_none()
        {
            fields.insert("state".to_owned(), "settled".into());
            fields.insert("settled_at".to_owned(), self.desk.account.world().now().into());
            fields.insert("preimage".to_owned(), mint::preimage().to_hex().into());
        }
        self.notify("payment_received", &value);
        true
    }
}
