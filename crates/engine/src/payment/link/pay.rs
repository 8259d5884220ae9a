//! A payer's request for an invoice: on the page, or with a wallet (LNURL-pay, LUD-06).

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use url::Url;
use usher_protocol::bolt11::Invoice;

use super::error::LinkError;
use super::offer::Fixed;
use super::start::PaymentLinks;
use super::{LinkState, LinkTerms};
use crate::kernel::core::Core;
use crate::kernel::request_errors::StartError;
use crate::machine::{Input, Signal};
use crate::page_rules::KeyedPage;
use crate::payment::expiry::payment_expiry;
use crate::payment::operation::{Payment, PaymentOfLink, PaymentTerms};
use crate::ports::StoreError;
use crate::registry::Operation;
use crate::{ClientNetwork, Origin, StreamId};

/// How long a wallet's request waits for its invoice: wallets give up after ten seconds or more.
const PATIENCE: Duration = Duration::from_secs(8);

/// Longest comment of a payer, in characters (LUD-12), which is part of a URL.
pub const MAX_COMMENT_CHARS: usize = 255;

type MadeLink = (LinkTerms, Option<Origin>);

/// A payment requested by a payer.
#[derive(Clone, Debug)]
pub struct LinkPaymentStarted {
    /// Its stream.
    pub payment: StreamId,
    /// The secret in its page's address.
    pub page_secret: String,
}

/// What a wallet can pay at a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LnurlOffer {
    /// The minimum, in millisats.
    pub least: u64,
    /// The maximum, in millisats.
    pub most: u64,
    /// The metadata (LUD-06): the text of a JSON array.
    pub metadata: String,
    /// The callback URL.
    pub url: String,
}

/// An invoice for a wallet.
#[derive(Clone, Debug)]
pub struct LnurlInvoice {
    /// The invoice.
    pub invoice: Invoice,
    /// The page of the payment, with its receipt.
    pub page_url: String,
}

/// The invoice for which a wallet waits. Dropping it, also when the wallet disconnects, withdraws the payment, because
/// nobody would see the invoice.
struct UnseenInvoice<'a> {
    core: &'a Core,
    payment: Option<StreamId>,
}

impl Drop for UnseenInvoice<'_> {
    fn drop(&mut self) {
        let Some(payment) = self.payment else { return };
        let inputs = self.core.inputs.clone();
        self.core.tasks.spawn(async move { inputs.put(payment, Input::Signal(Signal::CancelPayment)).await });
    }
}

impl PaymentLinks {
    /// Starts a payment on the link's page. `amount` is the payer's choice, in the link's unit, unless the link fixes
    /// it. The invoice is created afterwards, and shown on the payment's page.
    pub async fn pay(
        &self,
        id: StreamId,
        secret: &str,
        amount: Option<u64>,
        network: ClientNetwork,
    ) -> Result<LinkPaymentStarted, LinkError> {
        let (terms, origin) = self.payable(KeyedPage::Link, id, secret).await?;
        let fixed = self.chosen(&terms, amount)?;
        let (payment, _) = self.start((terms, origin), fixed, (None, None), network).await?;
        Ok(LinkPaymentStarted { payment, page_secret: self.pages.page_secret(KeyedPage::Payment, payment) })
    }

    /// The offer for a wallet. `identifier` is the service's Lightning address, if the link is for that.
    pub async fn offer(&self, id: StreamId, secret: &str, identifier: Option<&str>) -> Result<LnurlOffer, LinkError> {
        let (terms, _) = self.payable(KeyedPage::Lnurl, id, secret).await?;
        let (least, most) = self.offered(&terms)?;
        let url = format!("{}/invoice", self.pages.page_url(KeyedPage::Lnurl, id));
        Ok(LnurlOffer { least, most, metadata: metadata(&terms, identifier)?, url })
    }

    /// The offer of the service's Lightning address, as [`offer`](Self::offer).
    pub async fn address_offer(&self, identifier: &str) -> Result<LnurlOffer, LinkError> {
        let id = StreamId::LIGHTNING_ADDRESS;
        self.offer(id, &self.pages.page_secret(KeyedPage::Lnurl, id), Some(identifier)).await
    }

    /// An invoice for a wallet, over this many millisats.
    pub async fn invoice(
        self: &Arc<Self>,
        id: StreamId,
        secret: &str,
        millisats: u64,
        comment: Option<&str>,
        identifier: Option<&str>,
        network: ClientNetwork,
    ) -> Result<LnurlInvoice, LinkError> {
        let (mut terms, origin) = self.payable(KeyedPage::Lnurl, id, secret).await?;
        let fixed = self.accepted(&terms, millisats)?;
        let comment = comment.map(clean_comment).transpose()?.filter(|comment| !comment.is_empty());
        let metadata = metadata(&terms, identifier)?;
        if terms.description.is_empty() {
            terms.description = identifier.unwrap_or_default().to_owned();
        }
        // A wallet's disconnect does not interrupt the start, but withdraws the payment.
        let links = Arc::clone(self);
        let start = async move { links.start((terms, origin), fixed, (comment, Some(metadata)), network).await };
        let started = self.core.tasks.run_to_end(start).await;
        let (payment, invoice) =
            started.unwrap_or(Err(StoreError::Unexpected("a payment at a link does not start").into()))?;
        let mut unseen = UnseenInvoice { core: &self.core, payment: Some(payment) };
        let invoice = tokio::select! {
            // Creating it is not retried.
            made = invoice => made.map_err(|_| LinkError::Refused)?,
            () = self.core.clock.sleep(PATIENCE) => return Err(LinkError::NoInvoice),
        };
        unseen.payment = None;
        Ok(LnurlInvoice { invoice, page_url: self.pages.page_url(KeyedPage::Payment, payment) })
    }

    /// The terms of an open link, and its creator.
    async fn payable(&self, page: KeyedPage, id: StreamId, secret: &str) -> Result<MadeLink, LinkError> {
        let (link, origin) = self.find_link(page, id, secret).await?.ok_or(LinkError::NotFound)?;
        match link.state(self.core.clock.now()) {
            LinkState::Open if self.has_lightning => Ok((link.terms().clone(), origin)),
            LinkState::Open => Err(LinkError::NoInvoice),
            over => Err(LinkError::Over(over)),
        }
    }

    /// Starts a payment, with the payer's comment and the metadata whose hash is in the invoice.
    async fn start(
        &self,
        (terms, origin): MadeLink,
        (millisats, price): Fixed,
        (comment, metadata): (Option<String>, Option<String>),
        network: ClientNetwork,
    ) -> Result<(StreamId, oneshot::Receiver<Invoice>), LinkError> {
        let (now, payment) = (self.core.clock.now(), self.core.ids.stream_id());
        let (place, invoice) = self.payments.begin(terms.stream, payment, network)?;
        let return_url = terms.return_url.as_deref().and_then(|url| with_payment(url, payment));
        let of_link = PaymentOfLink { link: terms.stream, payment, comment, metadata, renews: None };
        let terms = PaymentTerms {
            payer: None,
            request_id: self.core.ids.token(),
            reference: terms.reference,
            description: terms.description,
            subscription: None,
            of_link: Some(of_link),
            expires_at: payment_expiry(None, now),
        };
        let (state, effects) = Payment::to_us(terms, millisats, self.network, now);
        let state = state.returning_to(return_url).priced(price);
        // It belongs to the link's creator.
        match self.starter.create_new(payment, origin, Operation::LinkPayment(state), effects, None).await {
            Ok(_) => {
                place.keep();
                Ok((payment, invoice))
            }
            Err(StartError::TooManyOpen | StartError::TooManyEnded) => {
                Err(LinkError::Busy { retry_after: Duration::from_secs(60) })
            }
            Err(StartError::Store(error)) => Err(error.into()),
            Err(_) => Err(StoreError::Unexpected("a payment at a link does not start").into()),
        }
    }
}

/// The metadata shown by wallets and hashed in the invoice: always the same for the same link, so that both match.
fn metadata(terms: &LinkTerms, identifier: Option<&str>) -> Result<String, LinkError> {
    if terms.stream != StreamId::LIGHTNING_ADDRESS {
        return Ok(json!([["text/plain", terms.description]]).to_string());
    }
    // Without a name there is no Lightning address.
    let identifier = identifier.ok_or(LinkError::NotFound)?;
    Ok(json!([["text/plain", identifier], ["text/identifier", identifier]]).to_string())
}

fn clean_comment(comment: &str) -> Result<String, LinkError> {
    let line: String =
        comment.trim().chars().map(|char| if matches!(char, '\n' | '\r' | '\t') { ' ' } else { char }).collect();
    let is_fine = line.chars().count() <= MAX_COMMENT_CHARS && !line.chars().any(char::is_control);
    if is_fine { Ok(line) } else { Err(LinkError::Comment) }
}

fn with_payment(return_url: &str, payment: StreamId) -> Option<String> {
    let mut url = Url::parse(return_url).ok()?;
    url.query_pairs_mut().append_pair("payment_id", &payment.to_string());
    Some(url.into())
}
