//! The page of a payment link.

use super::error::LinkError;
use super::offer::about;
use super::start::PaymentLinks;
use super::{LinkAmount, LinkState, PaymentLink};
use crate::page_rules::KeyedPage;
use crate::ports::{CurrencyCode, StoreError};
use crate::price::Price;
use crate::registry::Operation;
use crate::{Origin, Requester, StreamId};

/// A payment link as its page shows it.
#[derive(Clone)]
pub struct LinkView {
    /// Its state.
    pub state: LinkState,
    /// The amount.
    pub amount: LinkAmount,
    /// The currency of the amount; `None` for millisats.
    pub currency: Option<CurrencyCode>,
    /// The current amounts in millisats; `None` without a rate, when nothing can be paid.
    pub millisats: Option<(u64, u64)>,
    /// About how much a fixed amount in sats is in the currency that pages also show.
    pub about: Option<Price>,
    /// What the payments are for.
    pub description: String,
    /// The LNURL-pay URL.
    pub lnurl_url: String,
}

impl PaymentLinks {
    /// A link for its page; `None` if it does not exist or the secret is wrong.
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
            about: match (terms.currency, terms.amount) {
                (None, LinkAmount::Fixed { amount }) => about(&self.checks, &self.pages, amount),
                _ => None,
            },
            description: terms.description.clone(),
            lnurl_url: self.pages.page_url(KeyedPage::Lnurl, id),
        }))
    }

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
