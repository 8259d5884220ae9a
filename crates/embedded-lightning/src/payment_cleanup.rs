//! Removal of old payments and invoices. The library keeps all of them in memory, so unneeded ones are removed:
//!
//! - An unpaid invoice is removed from the library's memory once it can no longer be paid. Its row in the adapter's
//!   records stays, so that a look-up still reports it as dead.
//! - A payment received without an invoice of the service (anybody can send one, of any amount) is removed a day later.
//! - The library's records of on-chain transactions stay: it would recreate them.
//! - Records are removed from disk, with the library's payments, after [`RETENTION`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use ldk_node::lightning::ln::channelmanager::PaymentId;
use ldk_node::payment::{PaymentDetails, PaymentDirection, PaymentKind, PaymentStatus};
use tokio_util::sync::CancellationToken;
use usher_protocol::message::PaymentHash;

use crate::invoices::ACCEPTED_AFTER_EXPIRY;
use crate::node_context::NodeContext;

/// How long payments are kept after they ended and their invoices expired; nobody queries them later.
const RETENTION: u64 = 90 * 24 * 3600;

const INTERVAL: Duration = Duration::from_secs(600);

pub(crate) async fn run(inner: Arc<NodeContext>, stop: CancellationToken) {
    let mut due = tokio::time::interval(INTERVAL);
    let (begun_at, began) = (inner.now(), Instant::now());
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = due.tick() => {}
        }
        let (inner, stop) = (Arc::clone(&inner), stop.clone());
        // A wall clock that leaps makes nothing old: an invoice that was removed could still be paid.
        let now = inner.now().min(begun_at.saturating_add(began.elapsed().as_secs()));
        let _ = tokio::task::spawn_blocking(move || inner.clean_up(now, &stop)).await;
    }
}

impl NodeContext {
    fn clean_up(&self, now: u64, stop: &CancellationToken) {
        // The library judges expiry by the time of the last block that it has seen.
        if self.check_sync().is_ok() {
            self.remove_dead_invoices(now, stop);
        }
        self.remove_old_records(now.saturating_sub(RETENTION), stop);
    }

    /// Removes dead unpaid invoices, and payments without an invoice, from the library's memory. Blocks.
    fn remove_dead_invoices(&self, now: u64, stop: &CancellationToken) {
        let changed_before = now.saturating_sub(ACCEPTED_AFTER_EXPIRY);
        let old = self.node().list_payments_with_filter(|payment: &&PaymentDetails| {
            payment.direction == PaymentDirection::Inbound
                && payment.latest_update_timestamp < changed_before
                && !matches!(payment.kind, PaymentKind::Onchain { .. })
        });
        let dead = old.into_iter().take_while(|_| !stop.is_cancelled()).filter(|payment| {
            let hash = PaymentHash::from_bytes(payment.id.0);
            // Without a record no invoice was issued: the process ended before, the invoice was created to learn a
            // price, or there was none.
            matches!(self.store.invoice_expiry(hash), Ok(None))
                || payment.status != PaymentStatus::Succeeded && self.is_dead(hash, now)
        });
        let removed = dead.filter(|payment| self.node().remove_payment(&payment.id).is_ok()).count();
        if removed > 0 {
            tracing::debug!(removed, "unpaid invoices that nobody can pay any more, and payments without an invoice");
        }
    }

    /// Removes records that ended before `until`, and the library's payments for them. Blocks.
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

    /// Makes the provider send a payment without an invoice.
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
        // It could still be paid by the clock, but is removed and not reported as open.
        assert_eq!(backend.look_up_invoice(hash(&short)).await, Ok(InvoiceStatus::Unknown));
        assert!(matches!(backend.look_up_invoice(hash(&paid)).await, Ok(InvoiceStatus::Settled(_))));
        backend.stop().await;
    }
}
