//! Creates a payment link.

use std::sync::Arc;

use usher_protocol::bolt11::Network;

use super::open_payments::OpenPayments;
use super::recent_rates::RecentRates;
use super::{LinkAmount, LinkTerms, PaymentLink};
use crate::field_value_checks::{CheckedRequest, FieldChecks, PriceFields};
use crate::kernel::core::Core;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::idempotency::IdempotentRequest;
use crate::kernel::open_set::OpenSet;
use crate::kernel::request_errors::StartError;
use crate::kernel::starter::Starter;
use crate::page_rules::{KeyedPage, PageRules};
use crate::ports::StoreError;
use crate::price::SAT;
use crate::registry::Operation;
use crate::request_body;
use crate::request_body::field_reader::MAX_MILLISATS;
use crate::request_body::{
    CurrencyName, Description, Identifier, Millisats, PaymentCount, RequestedCurrency, UnixSeconds, WebUrl,
};
use crate::{FieldErrors, Requester, StreamId, UnixMillis};

request_body! {
    /// Creates a payment link: either with `amount`, or with `min` and `max`.
    #[derive(Clone, Debug)]
    pub struct PaymentLinkRequest, PaymentLinkDraft = "PaymentLinkRequest", example {
        "amount": 10000,
        "description": "One coffee",
    } {
        /// What each payer pays, in the unit of `currency`: millisats, sats, or a minor unit such as cents. Whole sats only.
        amount: Option<Millisats>,
        /// The least that a payer may choose, as `amount` counts; with `max`.
        min: Option<Millisats>,
        /// The most that a payer may choose, as `amount` counts; with `min`. A payment may come to at most
        /// `limits.max_amount_millisats`.
        max: Option<Millisats>,
        /// `millisats` (default), `sats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What a
        /// payment comes to in millisats is fixed when its payer asks for the invoice, and rounded up to a whole sat.
        currency: Option<CurrencyName>,
        /// What the payments are for; payers and their wallets show it. At most 639 bytes of UTF-8 (BOLT 11).
        description: Description,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
        /// Unix seconds from which no more invoices are given out. By default, the link is open until it is closed.
        expires_at: Option<UnixSeconds>,
        /// After how many payments no more invoices are given out.
        max_payments: Option<PaymentCount>,
        /// Where the page of a payment leads the payer's browser at the end, with the link's `stream_id` and the payment's
        /// `payment_id` in the query. It must be under one of `pages.return_urls`.
        return_url: Option<WebUrl>,
    }
}

impl CheckedRequest for PaymentLinkRequest {
    type Found = LinkAmount;

    async fn check(
        draft: &PaymentLinkDraft,
        _: &Requester,
        checks: &FieldChecks,
        errors: &mut FieldErrors,
    ) -> Result<Option<LinkAmount>, StoreError> {
        let unit = draft.currency.unwrap_or(RequestedCurrency::Millisats);
        let currency = Some(unit);
        let fields = |amount| PriceFields { amount, currency: "/currency" };
        let read = |pointer: &str, value: Option<u64>, errors: &FieldErrors| value.is_some() || errors.names(pointer);
        let has = ["/amount", "/min", "/max"];
        let [amount, min, max] = [draft.amount, draft.min, draft.max];
        let [has_amount, has_min, has_max] =
            [read(has[0], amount, errors), read(has[1], min, errors), read(has[2], max, errors)];
        let in_unit = |amount: u64| if unit == RequestedCurrency::Sats { amount.saturating_mul(SAT) } else { amount };
        let taken = match (has_amount, has_min, has_max) {
            (true, false, false) => {
                checks.price(fields("/amount"), amount, currency, errors);
                amount.map(|amount| LinkAmount::Fixed { amount: in_unit(amount) })
            }
            (true, _, _) => errors.reject("/amount", "cannot be together with min and max"),
            (false, false, false) => errors.reject("/amount", "is required, unless there are min and max"),
            (false, true, false) => errors.reject("/max", "is required together with min"),
            (false, false, true) => errors.reject("/min", "is required together with max"),
            (false, true, true) => {
                checks.price(fields("/max"), max, currency, errors);
                if min == Some(0) {
                    errors.add("/min", "must be more than zero");
                } else if min.zip(max).is_some_and(|(min, max)| min > max) {
                    errors.add("/min", "must not be more than max");
                }
                min.zip(max).map(|(min, max)| LinkAmount::Chosen { min: in_unit(min), max: in_unit(max) })
            }
        };
        for (pointer, amount) in has.into_iter().zip([amount, min, max]) {
            let is_whole = amount.is_none_or(|amount| unit != RequestedCurrency::Millisats || amount % SAT == 0);
            if !is_whole && !errors.names(pointer) {
                errors.add(pointer, "must be whole sats: a multiple of 1000 millisats");
            }
        }
        if draft.expires_at.is_some_and(|at| UnixMillis::from_secs(at) <= checks.core.clock.now()) {
            errors.add("/expires_at", "must be in the future");
        }
        Ok(taken)
    }
}

/// Payment links.
pub struct PaymentLinks {
    pub(crate) core: Core,
    pub(crate) starter: Arc<Starter>,
    pub(crate) feed: Arc<EventFeed>,
    pub(crate) checks: Arc<FieldChecks>,
    pub(crate) pages: Arc<PageRules>,
    pub(crate) network: Network,
    pub(crate) has_lightning: bool,
    pub(crate) open: Arc<OpenSet>,
    pub(crate) payments: OpenPayments,
    pub(crate) rates: RecentRates,
}

/// A payment link that was created.
#[derive(Clone, Debug)]
pub struct PaymentLinkCreated {
    /// Its stream.
    pub stream_id: StreamId,
    /// Its page.
    pub page_url: String,
    /// The URL at which wallets ask for what they may pay.
    pub lnurl_url: String,
}

impl PaymentLinks {
    /// Creates a payment link.
    pub async fn create(
        &self,
        requester: &Requester,
        request: PaymentLinkRequest,
        once: Option<IdempotentRequest<PaymentLinkCreated>>,
    ) -> Result<PaymentLinkCreated, StartError> {
        let (request, amount) = self.checks.check(requester, request).await?;
        if !self.has_lightning {
            return Err(StartError::NoLightning);
        }
        let stream_id = self.core.ids.stream_id();
        let terms = LinkTerms {
            stream: stream_id,
            amount,
            currency: match request.currency {
                Some(RequestedCurrency::Iso(currency)) => Some(currency),
                Some(RequestedCurrency::Millisats | RequestedCurrency::Sats | RequestedCurrency::Unknown) | None => {
                    None
                }
            },
            in_sats: request.currency == Some(RequestedCurrency::Sats),
            description: request.description,
            reference: request.reference,
            return_url: self.pages.link_return_url(request.return_url.as_deref(), stream_id)?,
            expires_at: request.expires_at.map(UnixMillis::from_secs),
            max_payments: request.max_payments,
        };
        let created = self.created(stream_id);
        let record = once.map(|once| once.record(&created, self.core.clock.now()));
        let operation = Operation::PaymentLink(PaymentLink::new(terms));
        self.starter.create_new(stream_id, requester.origin(), operation, Vec::new(), record).await?;
        Ok(created)
    }

    /// Creates the link of the service's Lightning address, if missing: for any amount up to the service's maximum.
    pub(crate) async fn open_lightning_address(&self) -> Result<(), StoreError> {
        let stream = StreamId::LIGHTNING_ADDRESS;
        if self.core.store.operation(&Requester::Service, stream).await?.is_some() {
            return Ok(());
        }
        let terms = LinkTerms {
            stream,
            amount: LinkAmount::Chosen { min: SAT, max: MAX_MILLISATS },
            currency: None,
            in_sats: false,
            description: String::new(),
            reference: None,
            return_url: None,
            expires_at: None,
            max_payments: None,
        };
        let operation = Operation::PaymentLink(PaymentLink::new(terms));
        match self.starter.create_new(stream, None, operation, Vec::new(), None).await {
            Ok(_) => Ok(()),
            Err(StartError::Store(error)) => Err(error),
            Err(refusal) => {
                tracing::warn!(%refusal, "the Lightning address does not work until the next start");
                Ok(())
            }
        }
    }

    pub(super) fn created(&self, stream_id: StreamId) -> PaymentLinkCreated {
        PaymentLinkCreated {
            stream_id,
            page_url: self.pages.page_url(KeyedPage::Link, stream_id),
            lnurl_url: self.pages.page_url(KeyedPage::Lnurl, stream_id),
        }
    }
}
