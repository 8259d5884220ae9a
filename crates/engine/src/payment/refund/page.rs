//! The page of a refund, on which the payer names an invoice.

use std::time::Duration;

use usher_protocol::bolt11::Invoice;
use usher_protocol::payee;

use super::{Refund, RefundInvoiceFault, RefundProgress};
use crate::machine::{Input, Signal, StateMachine as _};
use crate::page_rules::KeyedPage;
use crate::payment::Payments;
use crate::ports::{PayeeError, StoreError};
use crate::registry::Operation;
use crate::{ClientNetwork, Requester, StreamId};

/// The data of a refund page.
#[derive(Clone)]
pub struct RefundView {
    /// The progress of the refund.
    pub progress: RefundProgress,
    /// Millisats.
    pub amount: u64,
    /// What the refunded payment was for.
    pub description: String,
    /// Whether the payer's wallet also gets a request for an invoice.
    pub asks_wallet: bool,
    /// Whether an earlier invoice could not be paid, so that another is requested.
    pub asks_again: bool,
    /// The time left to name an invoice.
    pub time_left: Duration,
}

/// Why a refund rejects an invoice.
#[derive(Debug, thiserror::Error)]
pub enum RefundInvoiceError {
    /// There is no such refund, or the secret is wrong.
    #[error("there is no such refund")]
    NotFound,
    /// The refund no longer accepts an invoice.
    #[error("the refund has an invoice, or has ended")]
    Over,
    /// The text is neither an invoice nor a Lightning address.
    #[error("it is neither a Lightning invoice nor a Lightning address")]
    NoPayee,
    /// Too many look-ups of Lightning addresses for this refund, this network or in total.
    #[error("too many Lightning addresses are asked at the moment")]
    Busy,
    /// The Lightning address provides no invoice for this amount.
    #[error(transparent)]
    Address(PayeeError),
    /// The invoice is unusable.
    #[error(transparent)]
    Fault(#[from] RefundInvoiceFault),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Payments {
    /// The address of a refund's page. Anybody with this address can receive the money.
    pub fn refund_page_url(&self, id: StreamId) -> String {
        self.pages.page_url(KeyedPage::Refund, id)
    }

    /// The data of a refund's page, also before its approval. `None` if the id or the secret is wrong.
    pub async fn refund_page(&self, id: StreamId, secret: &str) -> Result<Option<RefundView>, StoreError> {
        let Some((refund, progress)) = self.find_refund(id, secret).await? else { return Ok(None) };
        Ok(Some(RefundView {
            progress,
            amount: refund.amount,
            asks_wallet: refund.user_keys.is_some(),
            asks_again: refund.asks_again(),
            time_left: refund.expires_at.since(self.core.clock.now()),
            description: refund.description,
        }))
    }

    /// Pays a refund to this invoice, or to an invoice of this Lightning address or LNURL, as wallets copy them. The
    /// refund's page shows the progress. Of two concurrent invoices, the first is paid.
    pub async fn refund_to(
        &self,
        id: StreamId,
        secret: &str,
        payee: &str,
        network: ClientNetwork,
    ) -> Result<(), RefundInvoiceError> {
        let (refund, progress) = self.find_refund(id, secret).await?.ok_or(RefundInvoiceError::NotFound)?;
        let now = self.core.clock.now();
        if progress != RefundProgress::Asking || now >= refund.expires_at {
            return Err(RefundInvoiceError::Over);
        }
        let payee = payee::plain(payee);
        let invoice = match &self.payees {
            Some(payees) if payee.contains('@') || payee.starts_with("lnurl1") => {
                let _place = self.address_lookups.begin(id, network).ok_or(RefundInvoiceError::Busy)?;
                let made = payees.invoice(&payee, refund.amount).await.map_err(|error| match error {
                    PayeeError::NoAddress => RefundInvoiceError::NoPayee,
                    error => RefundInvoiceError::Address(error),
                })?;
                payee::plain(&made)
            }
            _ => payee,
        };
        let invoice: Invoice = invoice.parse().map_err(|_| RefundInvoiceError::NoPayee)?;
        if let Some(fault) = refund.fault_of(&invoice, now) {
            return Err(fault.into());
        }
        if self.core.is_unpayable(invoice.payment_hash(), id).await? {
            return Err(RefundInvoiceFault::Paid.into());
        }
        self.core.inputs.put(id, Input::Signal(Signal::RefundTo(invoice))).await;
        Ok(())
    }

    async fn find_refund(&self, id: StreamId, secret: &str) -> Result<Option<(Refund, RefundProgress)>, StoreError> {
        if !self.pages.is_secret(KeyedPage::Refund, id, secret) {
            return Ok(None);
        }
        match self.core.readable(&Requester::Service, id).await? {
            Some((_, Operation::Refund(refund))) => {
                let progress = refund.progress();
                Ok(Some((refund, progress)))
            }
            Some((_, Operation::HeldPayment(held))) => Ok(held.refund().map(|refund| {
                let progress =
                    if held.is_done() { RefundProgress::NotApproved } else { RefundProgress::AwaitingApproval };
                (refund.clone(), progress)
            })),
            _ => Ok(None),
        }
    }
}
