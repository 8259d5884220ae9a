//! Makes the requests of quotes and knows which are paid: the mint's side of [`QuotePayment`].

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use async_trait::async_trait;
use cdk::cdk_payment::{
    Bolt11Settings, CreateIncomingPaymentResponse, Error, Event, IncomingPaymentOptions, MakePaymentResponse,
    MintPayment, OutgoingPaymentOptions, PaymentIdentifier, PaymentQuoteResponse, SettingsResponse,
    WaitPaymentResponse,
};
use cdk::nuts::CurrencyUnit;
use cdk::util::unix_time;
use cdk::{Amount, Stream, StreamExt as _};
use parking_lot::Mutex;

use crate::invoice;
use crate::options::QuotePayment;

/// For how many seconds a quote can be paid when the mint does not say.
const USUAL_EXPIRY: u64 = 3_600;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct QuoteBackend {
    unit: CurrencyUnit,
    quotes: QuotePayment,
    /// Requests that may become paid while the mint runs.
    open: Arc<Mutex<Vec<Lookup>>>,
    streams: AtomicBool,
}

impl QuoteBackend {
    pub(crate) fn new(unit: CurrencyUnit, quotes: QuotePayment) -> Self {
        Self { unit, quotes, open: Arc::default(), streams: AtomicBool::new(false) }
    }

    fn is_paid(&self, lookup: &Lookup) -> bool {
        match &self.quotes {
            QuotePayment::Automatic => true,
            QuotePayment::Manual => false,
            QuotePayment::Invoices(source) => source.is_paid(&lookup.request),
        }
    }

    fn payment(&self, lookup: &Lookup) -> WaitPaymentResponse {
        received(&lookup.identifier(), lookup.amount, &self.unit)
    }
}

pub(crate) fn received(identifier: &PaymentIdentifier, amount: u64, unit: &CurrencyUnit) -> WaitPaymentResponse {
    WaitPaymentResponse {
        payment_identifier: identifier.clone(),
        payment_amount: Amount::new(amount, unit.clone()),
        // Each request is paid once.
        payment_id: identifier.to_string(),
    }
}

/// What a request is found by: the request itself and its amount, so that nothing must be remembered across a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lookup {
    amount: u64,
    request: String,
}

impl Lookup {
    fn identifier(&self) -> PaymentIdentifier {
        PaymentIdentifier::CustomId(format!("{}:{}", self.amount, self.request))
    }

    fn of(identifier: &PaymentIdentifier) -> anyhow::Result<Self> {
        let PaymentIdentifier::CustomId(text) = identifier else {
            return Err(anyhow!("not an identifier of this backend"));
        };
        let (amount, request) = text.split_once(':').context("not an identifier of this backend")?;
        Ok(Self { amount: amount.parse()?, request: request.to_owned() })
    }
}

/// What an amount costs in millisats. A unit that is no money costs a sat.
fn millisats(amount: u64, unit: &CurrencyUnit) -> Option<u64> {
    match unit {
        CurrencyUnit::Msat => Some(amount),
        _ => amount.checked_mul(1_000),
    }
}

#[async_trait]
impl MintPayment for QuoteBackend {
    type Err = Error;

    async fn get_settings(&self) -> Result<SettingsResponse, Error> {
        Ok(SettingsResponse {
            unit: self.unit.to_string(),
            bolt11: Some(Bolt11Settings { mpp: false, amountless: false, invoice_description: true }),
            bolt12: None,
            onchain: None,
            custom: HashMap::new(),
        })
    }

    async fn create_incoming_payment_request(
        &self,
        options: IncomingPaymentOptions,
    ) -> Result<CreateIncomingPaymentResponse, Error> {
        let IncomingPaymentOptions::Bolt11(options) = options else {
            return Err(Error::UnsupportedPaymentOption);
        };
        let amount = options.amount.value();
        let cost = millisats(amount, &self.unit).ok_or(Error::AmountMismatch)?;
        let description = options.description.unwrap_or_default();
        let now = unix_time();
        let expiry = options.unix_expiry.unwrap_or(now + USUAL_EXPIRY);
        let seconds = expiry.saturating_sub(now);
        let request = match &self.quotes {
            QuotePayment::Invoices(source) => source.make_invoice(cost, &description, seconds)?,
            QuotePayment::Automatic | QuotePayment::Manual => invoice::unpayable(cost, &description, now, seconds)?,
        };
        let lookup = Lookup { amount, request: request.clone() };
        let request_lookup_id = lookup.identifier();
        if matches!(self.quotes, QuotePayment::Invoices(_)) {
            self.open.lock().push(lookup);
        }
        Ok(CreateIncomingPaymentResponse { request_lookup_id, request, expiry: Some(expiry), extra_json: None })
    }

    /// The mint asks about a quote only every ten seconds: see [`wait_payment_event`](Self::wait_payment_event).
    async fn check_incoming_payment_status(
        &self,
        payment_identifier: &PaymentIdentifier,
    ) -> Result<Vec<WaitPaymentResponse>, Error> {
        let lookup = Lookup::of(payment_identifier)?;
        Ok(if self.is_paid(&lookup) { vec![self.payment(&lookup)] } else { Vec::new() })
    }

    async fn wait_payment_event(&self) -> Result<Pin<Box<dyn Stream<Item = Event> + Send>>, Error> {
        let QuotePayment::Invoices(source) = self.quotes.clone() else {
            return Ok(futures_util::stream::pending().boxed());
        };
        self.streams.store(true, Ordering::Relaxed);
        let (open, unit) = (Arc::clone(&self.open), self.unit.clone());
        let events = futures_util::stream::unfold((open, source), |(open, source)| async move {
            loop {
                tokio::time::sleep(POLL_INTERVAL).await;
                let paid = {
                    let mut open = open.lock();
                    let place = open.iter().position(|lookup| source.is_paid(&lookup.request));
                    place.map(|place| open.swap_remove(place))
                };
                if let Some(lookup) = paid {
                    return Some((lookup, (open, source)));
                }
            }
        });
        let events =
            events.map(move |lookup| Event::PaymentReceived(received(&lookup.identifier(), lookup.amount, &unit)));
        Ok(events.boxed())
    }

    fn is_payment_event_stream_active(&self) -> bool {
        self.streams.load(Ordering::Relaxed)
    }

    fn cancel_payment_event_stream(&self) {
        self.streams.store(false, Ordering::Relaxed);
    }

    /// This mint pays nothing: its tokens are redeemed by swapping them.
    async fn get_payment_quote(
        &self,
        _: &CurrencyUnit,
        _: OutgoingPaymentOptions,
    ) -> Result<PaymentQuoteResponse, Error> {
        Err(Error::UnsupportedPaymentOption)
    }

    async fn make_payment(&self, _: &CurrencyUnit, _: OutgoingPaymentOptions) -> Result<MakePaymentResponse, Error> {
        Err(Error::UnsupportedPaymentOption)
    }

    async fn check_outgoing_payment(&self, _: &PaymentIdentifier) -> Result<MakePaymentResponse, Error> {
        Err(Error::UnsupportedPaymentOption)
    }
}
