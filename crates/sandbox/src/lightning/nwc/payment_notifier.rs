use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;

use super::service_context::NwcServiceContext;
use super::wire;

/// Notifies the app of each payment to or from the account.
pub(super) async fn run(context: Arc<NwcServiceContext>) {
    let mut settlements = context.account().settlements();
    loop {
        let settlement = match settlements.recv().await {
            Ok(settlement) => settlement,
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "the wallet service missed payments and sends no notifications for them");
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        if !context.capabilities().notifications {
            continue;
        }
        let account = context.account();
        let hash = settlement.paid.payment_hash;
        if settlement.payee == account.name()
            && let Some(transaction) = account.incoming(hash)
        {
            context.notify("payment_received", &wire::transaction_json(&transaction));
        }
        if settlement.payer == account.name()
            && let Some(transaction) = account.outgoing(hash)
        {
            context.notify("payment_sent", &wire::transaction_json(&transaction));
        }
    }
}
