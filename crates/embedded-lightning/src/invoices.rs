//! Invoices of the service, created only if they can be paid.

use std::sync::Arc;

use ldk_node::NodeError;
use ldk_node::bitcoin::hashes::{Hash as _, sha256};
use ldk_node::lightning::ln::channelmanager::PaymentId;
use ldk_node::lightning_invoice::{Bolt11Invoice, Bolt11InvoiceDescription, Description, Sha256};
use ldk_node::payment::{PaymentDirection, PaymentKind, PaymentStatus};
use usher_engine::ports::{InvoiceStatus, LightningError, Settlement, WantedInvoice};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::{PaymentHash, Preimage};

use crate::liquidity::{Receivable, receivable};
use crate::node_context::{NodeContext, OLDEST_SYNC};

/// How long after its expiry an invoice may still be paid: the library accepts payments for two hours, by the time of
/// blocks, which may lag by hours.
pub(crate) const ACCEPTED_AFTER_EXPIRY: u64 = 24 * 3600;

impl NodeContext {
    /// Creates an invoice that is payable now, over a channel that exists or that the provider opens for it. Blocks.
    pub(crate) fn make_invoice(&self, wanted: &WantedInvoice) -> Result<Invoice, LightningError> {
        self.check_sync()?;
        let description = if let Some(text) = &wanted.hashed {
            Bolt11InvoiceDescription::Hash(Sha256(sha256::Hash::hash(text.as_bytes())))
        } else {
            let description = Description::new(wanted.description.clone())
                .map_err(|_| definite("the description is too long for an invoice"))?;
            Bolt11InvoiceDescription::Direct(description)
        };
        if let Some(invoice) = self.make_plain(wanted, &description, |free| free.at_once)? {
            return Ok(invoice);
        }
        let limit = self.opening_fee_limit(wanted.amount);
        let opened = self.node().bolt11_payment().receive_via_jit_channel(
            wanted.amount,
            &description,
            wanted.expiry,
            Some(limit),
        );
        match opened {
            Ok(invoice) => self.remember(&invoice, 0),
            Err(error) => match self.make_plain(wanted, &description, |free| free.in_parts)? {
                Some(invoice) => Ok(invoice),
                None => Err(self.unpayable(error, wanted.amount, limit)),
            },
        }
    }

    /// Creates an invoice paid over existing channels, if `room` suffices, and reserves that amount unless anybody can
    /// request the invoice.
    fn make_plain(
        &self,
        wanted: &WantedInvoice,
        description: &Bolt11InvoiceDescription,
        room: impl FnOnce(Receivable) -> u64,
    ) -> Result<Option<Invoice>, LightningError> {
        let _reserving = self.reserving.lock();
        if room(self.free_inbound()?) < wanted.amount {
            return Ok(None);
        }
        let made = self.node().bolt11_payment().receive(wanted.amount, description, wanted.expiry);
        let invoice = made.map_err(|error| LightningError::Failed(error.to_string()))?;
        let reserved = if wanted.is_for_anybody { 0 } else { wanted.amount };
        self.remember(&invoice, reserved).map(Some)
    }

    /// The inbound capacity not reserved by open invoices.
    pub(crate) fn free_inbound(&self) -> Result<Receivable, LightningError> {
        let reserved = self.store.reserved_inbound(self.now());
        let reserved = reserved.map_err(|error| LightningError::Failed(error.to_string()))?;
        Ok(receivable(&self.node().list_channels()).without(reserved))
    }

    /// Stores until when an invoice can be paid and what it reserves, and parses it as the engine does.
    fn remember(&self, invoice: &Bolt11Invoice, reserved_inbound: u64) -> Result<Invoice, LightningError> {
        let invoice: Invoice = invoice
            .to_string()
            .parse()
            .map_err(|error| LightningError::Failed(format!("the invoice made cannot be read: {error}")))?;
        self.store
            .record_invoice(invoice.payment_hash(), invoice.expires_at(), reserved_inbound)
            .map_err(|error| LightningError::Failed(error.to_string()))?;
        Ok(invoice)
    }

    /// Why no invoice is issued, for the operator.
    pub(crate) fn unpayable(&self, error: NodeError, amount: u64, limit: u64) -> LightningError {
        let free = self.free_inbound().map_or(0, |free| free.at_once);
        let room = format!(
            "the channels can receive {free} msat more than open invoices ask for, and this invoice asks for {amount} msat"
        );
        match error {
            NodeError::LiquiditySourceUnavailable => {
                refused(format!("{room}, and no liquidity provider is configured"))
            }
            NodeError::LiquidityFeeTooHigh => refused(format!(
                "{room}, and the liquidity provider wants more than {limit} msat for opening a channel"
            )),
            NodeError::LiquidityRequestFailed => refused(format!(
                "{room}, and the liquidity provider opens no channel for this amount, or does not accept \
                     wallet.embedded.api_key: see the log"
            )),
            NodeError::ConnectionFailed => refused(format!("{room}, and the liquidity provider cannot be reached")),
            error => refused(format!("{room}, and the liquidity provider opens no channel: {error}")),
        }
    }

    pub(crate) fn check_sync(&self) -> Result<(), LightningError> {
        let synced = self.node().status().latest_lightning_wallet_sync_timestamp;
        let oldest = self.now().saturating_sub(OLDEST_SYNC);
        if synced.is_some_and(|at| at >= oldest) {
            return Ok(());
        }
        Err(refused("the Lightning node has not heard from its chain source for an hour or since the first start"))
    }

    pub(crate) fn look_up_invoice(&self, hash: PaymentHash) -> Result<InvoiceStatus, LightningError> {
        let payment = self.node().payment(&PaymentId(*hash.as_bytes()));
        let Some(payment) = payment.filter(|payment| payment.direction == PaymentDirection::Inbound) else {
            // Once dead, an unpaid invoice is removed from the library's memory (`payment_cleanup.rs`).
            return Ok(if self.is_dead(hash, self.now()) { InvoiceStatus::Dead } else { InvoiceStatus::Unknown });
        };
        if payment.status == PaymentStatus::Succeeded {
            return Ok(self.settlement(hash).map_or(InvoiceStatus::Open, InvoiceStatus::Settled));
        }
        // A failed attempt does not end an invoice: the payer may retry until it expires.
        Ok(if self.is_dead(hash, self.now()) { InvoiceStatus::Dead } else { InvoiceStatus::Open })
    }

    /// Whether an unpaid invoice can no longer be paid; `false` if unknown.
    pub(crate) fn is_dead(&self, hash: PaymentHash, now: u64) -> bool {
        let expiry = self.store.invoice_expiry(hash).ok().flatten();
        expiry.is_some_and(|at| at.saturating_add(ACCEPTED_AFTER_EXPIRY) < now)
    }

    /// How an invoice was paid, if it was.
    pub(crate) fn settlement(&self, hash: PaymentHash) -> Option<Settlement> {
        let payment = self.node().payment(&PaymentId(*hash.as_bytes()))?;
        if payment.direction != PaymentDirection::Inbound || payment.status != PaymentStatus::Succeeded {
            return None;
        }
        let (preimage, skimmed) = match payment.kind {
            PaymentKind::Bolt11 { preimage, .. } => (preimage, 0),
            PaymentKind::Bolt11Jit { preimage, counterparty_skimmed_fee_msat, .. } => {
                (preimage, counterparty_skimmed_fee_msat.unwrap_or(0))
            }
            _ => return None,
        };
        Some(Settlement {
            amount: payment.amount_msat,
            skimmed_fee: skimmed,
            fees_paid: 0,
            preimage: preimage.map(|preimage| Preimage::from_bytes(preimage.0)),
        })
    }
}

/// A failure for which a retry may help.
fn refused(reason: impl Into<String>) -> LightningError {
    LightningError::Refused { again: true, reason: reason.into() }
}

/// A failure for which a retry does not help.
fn definite(reason: &str) -> LightningError {
    LightningError::Refused { again: false, reason: reason.to_owned() }
}

pub(crate) async fn blocking<T: Send + 'static>(
    inner: &Arc<NodeContext>,
    runtime: &tokio::runtime::Handle,
    work: impl FnOnce(&NodeContext) -> Result<T, LightningError> + Send + 'static,
) -> Result<T, LightningError> {
    let broke = || LightningError::Unknown("the Lightning node broke; restart the service".to_owned());
    if inner.is_broken() {
        return Err(broke());
    }
    let inner = Arc::clone(inner);
    runtime.spawn_blocking(move || work(&inner)).await.unwrap_or_else(|_| Err(broke()))
}
