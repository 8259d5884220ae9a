//! What is removed, and when. The library keeps all its payments and invoices in memory, so the ones that nobody needs
//! any more are removed from it.
//!
//! - An unpaid invoice leaves the library's memory when nobody can pay it any more. Its row in the adapter's own records
//!   stays, so that a look-up still says that it is dead.
//! - A payment that came without an invoice of the service (anybody can send one, of any amount) leaves it a day later.
//! - What the library notes of transactions on the chain stays: it would note it again.
//! - Records leave the disk, and what belongs to them the library's memory, after [`RETENTION`].

use std::sync::Arc;
use std::time::Duration;

use ldk_node::lightning::ln::channelmanager::PaymentId;
use ldk_node::payment::{PaymentDetails, PaymentDirection, PaymentKind, PaymentStatus};
use tokio_util::sync::CancellationToken;
use usher_protocol::message::PaymentHash;

use crate::invoices::ACCEPTED_AFTER_EXPIRY;
use crate::node_context::NodeContext;

/// How long payments are kept after they have ended and their invoices have expired: longer than anybody asks for them.
const RETENTION: u64 = 90 * 24 * 3600;

/// How often what is older is removed.
const INTERVAL: Duration = Duration::from_secs(600);

/// Removes records until `stop`.
pub(crate) async fn run(inner: Arc<NodeContext>, stop: CancellationToken) {
    let mut due = tokio::time::interval(INTERVAL);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = due.tick() => {}
        }
        let (inner, stop) = (Arc::clone(&inner), stop.clone());
        let _ = tokio::task::spawn_blocking(move || inner.clean_up(&stop)).await;
    }
}

impl NodeContext {
    /// Removes everything that is due. Blocks.
    fn clean_up(&self, stop: &CancellationToken) {
        let now = self.now();
        // The library tells an expired invoice by the time of the last block it has seen.
        if self.check_sync().is_ok() {
            self.remove_dead_invoices(now, stop);
        }
        self.remove_old_records(now.saturating_sub(RETENTION), stop);
    }

    /// Removes the unpaid invoices that nobody can pay any more, and payments without an invoice, from the library's memory.
    /// Blocks.
    fn remove_dead_invoices(&self, now: u64, stop: &CancellationToken) {
        let changed_before = now.saturating_sub(ACCEPTED_AFTER_EXPIRY);
        let old = self.node().list_payments_with_filter(|payment: &&PaymentDetails| {
            payment.direction == PaymentDirection::Inbound
                && payment.latest_update_timestamp < changed_before
                && !matches!(payment.kind, PaymentKind::Onchain { .. })
        });
        let dead = old.into_iter().take_while(|_| !stop.is_cancelled()).filter(|payment| {
            let hash = PaymentHash::from_bytes(payment.id.0);
            // Without a record no invoice was handed out: the process ended before, it was made to learn a price, or there
            // was none.
            matches!(self.store.invoice_expiry(hash), Ok(None))
                || payment.status != PaymentStatus::Succeeded && self.is_dead(hash, now)
        });
        let removed = dead.filter(|payment| self.node().remove_payment(&payment.id).is_ok()).count();
        if removed > 0 {
            tracing::debug!(removed, "unpaid invoices that nobody can pay any more, and payments without an invoice");
        }
    }

    /// Removes the records that ended before `until`, and what the library keeps of them. Blocks.
    fn remove_old_records(&self, until: u64, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            let Ok(hashes) = self.store.remove_old_records(until) else { return };
            if hashes.is_empty() {
                return;
            }
            for hash in hashes {
                let _ = self.node().remove_payment(&PaymentId(*hash.as_bytes()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ldk_node::lightning_invoice::Bolt11Invoice;
    use tempfile::TempDir;
    use usher_engine::ports::{InvoiceStatus, Lightning as _, SystemClock, WantedInvoice};
    use usher_lightning_network::Network;

    use super::*;
    use crate::EmbeddedLightning;
    use crate::testing::options;

    const DAY: u64 = 24 * 3600;

    async fn invoice(backend: &EmbeddedLightning, expiry: u32) -> Bolt11Invoice {
        let wanted = WantedInvoice {
            amount: 50_000_000,
            description: "Tea".to_owned(),
            hashed: None,
            is_for_anybody: false,
            expiry,
        };
        let making = async {
            loop {
                match backend.make_invoice(&wanted).await {
                    Ok(invoice) => return invoice.as_str().parse().unwrap(),
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), making).await.expect("an invoice")
    }

    /// The provider sends a payment for which there is no invoice.
    async fn gift(network: &Network, backend: &EmbeddedLightning) -> PaymentId {
        let (node, provider) = (backend.inner.node(), Arc::clone(network.provider.node()));
        let id = node.node_id();
        let sending = async {
            loop {
                let provider = Arc::clone(&provider);
                let sent = tokio::task::spawn_blocking(move || provider.spontaneous_payment().send(1_000, id, None));
                if let Ok(sent) = sent.await.unwrap() {
                    return sent;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let sent = tokio::time::timeout(Duration::from_secs(60), sending).await.expect("a channel");
        let arriving = async {
            while node.payment(&sent).is_none_or(|payment| payment.status != PaymentStatus::Succeeded) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), arriving).await.expect("the payment");
        sent
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn unpaid_invoices_leave_the_memory_when_they_are_dead_and_paid_ones_stay() {
        let (network, folder) = (Network::start_copy().await.unwrap(), TempDir::new().unwrap());
        let (backend, _notifications) =
            EmbeddedLightning::start(options(&network, folder.path()), Arc::new(SystemClock)).await.unwrap();
        let paid = invoice(&backend, 600).await;
        network.payer.pay(&paid).await.unwrap();
        let gift = gift(&network, &backend).await;
        let (short, long) = (invoice(&backend, 600).await, invoice(&backend, 3 * 24 * 3600).await);
        let hash = |invoice: &Bolt11Invoice| PaymentHash::from_bytes(*invoice.payment_hash().as_ref());
        let inner = &backend.inner;
        let in_memory = |invoice: &Bolt11Invoice| inner.node().payment(&PaymentId(*hash(invoice).as_bytes())).is_some();
        let clean_up = async |now: u64| {
            let inner = Arc::clone(inner);
            let work = move || inner.remove_dead_invoices(now, &CancellationToken::new());
            tokio::task::spawn_blocking(work).await.unwrap();
        };

        clean_up(inner.now() + DAY).await;
        assert!(in_memory(&short), "a payment that was late could still arrive");
        let tomorrow = inner.now() + DAY + 1_200;
        clean_up(tomorrow).await;
        assert_eq!([&paid, &short, &long].map(in_memory), [true, false, true]);
        assert!(inner.node().payment(&gift).is_none(), "nobody asked for it");
        assert!(inner.is_dead(hash(&short), tomorrow), "its record stays");
        // By today's clock it could still be paid; it is gone, and nobody says that it is open.
        assert_eq!(backend.look_up_invoice(hash(&short)).await, Ok(InvoiceStatus::Unknown));
        assert!(matches!(backend.look_up_invoice(hash(&paid)).await, Ok(InvoiceStatus::Settled(_))));
        backend.stop().await;
    }
}
