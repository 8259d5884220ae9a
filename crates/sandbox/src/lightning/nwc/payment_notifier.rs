//! Notifying the app of payments.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;

use super::session::NwcSession;
use super::wire;

/// Notifies the app of each payment to or from the account.
pub(super) async fn run(session: Arc<NwcSession>) {
    let mut settlements = session.account().settlements();
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
