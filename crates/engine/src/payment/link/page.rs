//! The page of a payment link.

use super::pay::LinkError;
use super::start::PaymentLinks;
use super::{LinkAmount, LinkState, PaymentLink};
use crate::operations::Operation;
use crate::page_rules::KeyedPage;
use crate::ports::{CurrencyCode, StoreError};
use crate::{Origin, Requester, StreamId};

/// A payment link as its page shows it.
#[derive(Clone)]
pub struct LinkView {
    /// How it stands.
    pub state: LinkState,
    /// What a payer pays.
    pub amount: LinkAmount,
    /// The currency of the amount; `None`: millisats.
    pub currency: Option<CurrencyCode>,
    /// What an amount in a currency comes to now, in millisats; `None` without a rate, when nothing can be paid.
    pub millisats: Option<(u64, u64)>,
    /// What the payments are for.
    pub description: String,
    /// The URL at which wallets ask for what they may pay.
    pub lnurl_url: String,
}

impl PaymentLinks {
    /// A link for its page; `None` when there is none, or the secret is another.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn page(&self, id: StreamId, secret: &str) -> Result<Option<LinkView>, StoreError> {
        let Some((link, _)) = self.find_link(KeyedPage::Link, id, secret).await? else { return Ok(None) };
        let terms = link.terms();
        let millisats = match self.offered(terms) {
            Ok(bounds) => Some(bounds),
            Err(LinkError::Store(error)) => return Err(error),
            Err(_) => None,
        };
        Ok(Some(LinkView {
            state: link.state(self.core.clock.now()),
            amount: terms.amount,
            currency: terms.currency,
            millisats,
            description: terms.description.clone(),
            lnurl_url: self.pages.page_url(KeyedPage::Lnurl, id),
        }))
    }

    /// The link, and who made it.
    pub(super) async fn find_link(
        &self,
        page: KeyedPage,
        id: StreamId,
        secret: &str,
    ) -> Result<Option<(PaymentLink, Option<Origin>)>, StoreError> {
        if !self.pages.is_secret(page, id, secret) {
            return Ok(None);
        }
        match self.core.readable(&Requester::Service, id).await? {
            Some((stored, Operation::PaymentLink(link))) => Ok(Some((link, stored.origin))),
            _ => Ok(None),
        }
    }
}
