//! Makes the requests of quotes and knows which are paid: the mint's side of [`QuotePayment`].

use std::collections::HashMap;
use std::pin::Pin;

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

use crate::invoice;
use crate::options::QuotePayment;

/// For how many seconds a quote can be paid when the mint does not say.
const USUAL_EXPIRY: u64 = 3_600;

pub(crate) struct QuoteBackend {
    unit: CurrencyUnit,
    quotes: QuotePayment,
}

impl QuoteBackend {
    pub(crate) const fn new(unit: CurrencyUnit, quotes: QuotePayment) -> Self {
        Self { unit, quotes }
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
        let request = invoice::unpayable(cost, &description, now, seconds)?;
        let request_lookup_id = Lookup { amount, request: request.clone() }.identifier();
        Ok(CreateIncomingPaymentResponse { request_lookup_id, request, expiry: Some(expiry), extra_json: None })
    }

    async fn check_incoming_payment_status(
        &self,
        payment_identifier: &PaymentIdentifier,
    ) -> Result<Vec<WaitPaymentResponse>, Error> {
        let lookup = Lookup::of(payment_identifier)?;
        Ok(match self.quotes {
            QuotePayment::Automatic => vec![self.payment(&lookup)],
            QuotePayment::Manual => Vec::new(),
        })
    }

    async fn wait_payment_event(&self) -> Result<Pin<Box<dyn Stream<Item = Event> + Send>>, Error> {
        Ok(futures_util::stream::pending().boxed())
    }

    fn is_payment_event_stream_active(&self) -> bool {
        false
    }

    fn cancel_payment_event_stream(&self) {}

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
