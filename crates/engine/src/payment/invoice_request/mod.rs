//! A request to a user for an invoice.
//!
//! ```text
//! asking ──valid invoice───▶ finished   InvoiceResponse {invoice, payment_hash, amount}
//! asking ──invalid invoice─▶ finished   StatusUpdate {status: error, reason}
//! asking ──expired─────────▶ finished   StatusUpdate {status: timeout}
//! ```
//!
//! Before the app gets the invoice, its signature, amount, network and expiry are checked. A crash before the reply is
//! committed loses nothing: the request is repeated, and so is the wallet's reply.

pub(crate) mod start;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{self, Currency, InvoiceResponse, ServiceMessage, WalletMessage};
use usher_protocol::subkey::Permission;

use crate::UnixMillis;
use crate::event_data::{EventData, InvoiceData, PaymentData};
use crate::machine::user_keys::UserKeys;
use crate::machine::{Effect, Input, StateMachine, StepResult, emit};
use crate::ports::CorrelationKey;
use crate::price::Price;
use crate::request_body;
use crate::request_body::{CurrencyName, Description, Identifier, Key, Millisats, Subkeys, UnixSeconds};

request_body! {
    /// Asks a user for an invoice.
    #[derive(Clone, Debug)]
    pub struct RequestInvoice, RequestInvoiceDraft = "InvoiceRequest", example {
        "recipient_key": "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
        "subkeys": [],
        "content": { "amount": 10000, "currency": "millisats", "description": "Refund" },
    } {
        /// Whose wallet makes the invoice: 64 hex characters.
        main_key as "recipient_key": Key,
        /// Keys that may respond for it without a proof of delegation; usually none, at most 8.
        subkeys: Subkeys,
        /// What the invoice is for.
        content: InvoiceContent,
    }
}

request_body! {
    /// What the invoice is for.
    #[derive(Clone, Debug)]
    pub struct InvoiceContent, InvoiceContentDraft = "InvoiceRequestContent" {
        /// In millisats, sats, or the minor unit of `currency`, such as cents. It may come to at most `limits.max_amount_millisats`.
        amount: Millisats,
        /// `millisats`, `sats`, or the code of a currency (ISO 4217) that `rates.currencies` lists; in either case. What `amount`
        /// comes to in millisats is fixed now, and rounded up to a whole sat: the invoice must be for that.
        currency: CurrencyName,
        /// At most 639 bytes of UTF-8.
        description: Option<Description>,
        /// Unix seconds until which the user can respond: at most 24 hours ahead, by default five minutes.
        expires_at: Option<UnixSeconds>,
        /// Your own reference, repeated in the events.
        reference as "request_id": Option<Identifier>,
    }
}

/// The state of an invoice request.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvoiceRequest {
    #[serde(flatten)]
    #[serde(rename = "conversation")]
    user_keys: UserKeys,
    request_id: String,
    reference: Option<String>,
    /// Millisats.
    amount: u64,
    description: Option<String>,
    expires_at: UnixMillis,
    network: Network,
    /// The price, if not requested in millisats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    price: Option<Price>,
}

usher_protocol::debug_shows!(InvoiceRequest { amount });

impl StateMachine for InvoiceRequest {
    fn is_about(&self, user: &PublicKey) -> bool {
        self.user_keys.is_with(user)
    }

    fn keys_of(message: &WalletMessage) -> Vec<CorrelationKey> {
        match message {
            WalletMessage::InvoiceResponse(response) => {
                vec![CorrelationKey::request(&response.request.inner.request_id)]
            }
            _ => Vec::new(),
        }
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Timer if now >= self.expires_at => self.end("timeout", "the user did not answer in time", now),
            _ if now >= self.expires_at => StepResult::Ignored,
            Input::Wallet { author, message: WalletMessage::InvoiceResponse(response), .. } => {
                self.answered(author, response, now)
            }
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. }
                if self.user_keys.prove(author, proof, Permission::Payment, now) =>
            {
                StepResult::Stepped(vec![self.ask_too(author)])
            }
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(self.expires_at)
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![CorrelationKey::request(&self.request_id)]
    }
}

impl InvoiceRequest {
    /// Requests an invoice of this amount in millisats on `network`; `request_id` is a random id.
    pub fn start(
        request: RequestInvoice,
        (amount, price): (u64, Option<Price>),
        request_id: String,
        expires_at: UnixMillis,
        network: Network,
    ) -> (Self, Vec<Effect>) {
        let InvoiceContent { description, reference, .. } = request.content;
        let user_keys = UserKeys::new(request.main_key, &request.subkeys);
        let state = Self { user_keys, request_id, reference, amount, description, expires_at, network, price };
        let ask = state.ask();
        (state, vec![ask])
    }

    fn answered(&self, author: &PublicKey, response: &InvoiceResponse, now: UnixMillis) -> StepResult {
        if response.request.inner.request_id != self.request_id || !self.user_keys.may_pay(author, now) {
            return StepResult::Ignored;
        }
        match self.read(response, now) {
            Ok(invoice) => {
                let data = EventData::Invoice(InvoiceData {
                    invoice: invoice.as_str().to_owned(),
                    payment_hash: invoice.payment_hash().to_string(),
                    request_id: self.reference.clone(),
                    ..InvoiceData::of_amount(self.amount, self.price.as_ref())
                });
                StepResult::Stepped(vec![emit(data, now), Effect::Finish])
            }
            Err(fault) => self.end("error", &format!("the wallet's invoice does not fit: it {fault}"), now),
        }
    }

    fn read(&self, response: &InvoiceResponse, now: UnixMillis) -> Result<Invoice, String> {
        let invoice: Invoice =
            response.invoice.parse().map_err(|error: usher_protocol::bolt11::InvoiceError| error.to_string())?;
        if invoice.amount() != Some(self.amount) {
            return Err("is for another amount".to_owned());
        }
        if invoice.network() != self.network {
            return Err(format!("is for the network {}", invoice.network()));
        }
        if invoice.is_expired(now.secs()) {
            return Err("has expired".to_owned());
        }
        if response.payment_hash.is_some_and(|hash| hash != invoice.payment_hash()) {
            return Err("has another payment hash than the wallet says".to_owned());
        }
        Ok(invoice)
    }

    fn end(&self, status: &str, reason: &str, now: UnixMillis) -> StepResult {
        let data = PaymentData::failed_at(self.price.as_ref(), status, Some(reason), self.reference.as_deref());
        StepResult::Stepped(vec![emit(data, now), Effect::Finish])
    }

    fn ask(&self) -> Effect {
        Effect::Send(self.user_keys.message(&self.message(), self.expires_at))
    }

    /// The message for a key that has just proven itself.
    fn ask_too(&self, proven: &PublicKey) -> Effect {
        Effect::SendAlso(self.user_keys.message_to_proven(proven, &self.message(), self.expires_at))
    }

    /// Always in millisats: a wallet that converts by itself would create an invoice of another amount.
    fn message(&self) -> ServiceMessage {
        ServiceMessage::InvoiceRequest(message::InvoiceRequest {
            request_id: self.request_id.clone(),
            amount: self.amount,
            currency: Currency::Millisats,
            current_exchange_rate: None,
            expires_at: self.expires_at.secs(),
            description: self.description.clone(),
            refund_invoice: None,
        })
    }
}

#[cfg(test)]
mod tests;
