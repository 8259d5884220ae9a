//! Notifying the app of payments.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::cipher::Scheme;
use super::{Encryptions, NwcSession, wire};

/// A notification encrypted with NIP-04.
const NOTIFICATION_NIP04: u16 = 23_196;

/// A notification encrypted with NIP-44.
const NOTIFICATION_NIP44: u16 = 23_197;

/// Kind, encryption and text of each event that carries a notification.
pub(super) fn encodings(
    encryptions: Encryptions,
    notification_type: &str,
    notification: &Value,
) -> impl Iterator<Item = (u16, Scheme, String)> {
    let text = json!({"notification_type": notification_type, "notification": notification}).to_string();
    let old = (encryptions != Encryptions::Nip44).then(|| (NOTIFICATION_NIP04, Scheme::Nip04, text.clone()));
    let new = (encryptions != Encryptions::Nip04).then_some((NOTIFICATION_NIP44, Scheme::Nip44, text));
    old.into_iter().chain(new)
}

/// Notifies the app of each payment to or from the account.
pub(super) async fn run(session: Arc<NwcSession>) {
    let mut settlements = session.account().network().settlements();
    loop {
        let settlement = match settlements.recv().await {
            Ok(settlement) => settlement,
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "the wallet service missed payments and sends no notifications for them");
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        if !session.capabilities().notifications {
            continue;
        }
        let account = session.account();
        let hash = settlement.paid.payment_hash;
        if settlement.payee == account.name()
            && let Some(transaction) = account.incoming(hash)
        {
            session.notify("payment_received", &wire::transaction_json(&transaction));
        }
        if settlement.payer == account.name()
            && let Some(transaction) = account.outgoing(hash)
        {
            session.notify("payment_sent", &wire::transaction_json(&transaction));
        }
    }
}
