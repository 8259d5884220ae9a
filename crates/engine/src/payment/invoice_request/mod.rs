//! A request for an invoice from a user.
//!
//! ```text
//! asking ──valid invoice───▶ finished   InvoiceResponse {invoice, payment_hash, amount}
//! asking ──invalid invoice─▶ finished   StatusUpdate {status: error, reason}
//! asking ──expired─────────▶ finished   StatusUpdate {status: timeout}
//! ```
//!
//! Before the app gets the invoice, its signature, amount, network and expiry are checked. A crash before the reply is
//! committed loses nothing: the request is sent again, and the wallet repeats its reply.

pub(crate) mod start;

use std::fmt;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{self, Currency, InvoiceResponse, ServiceMessage, WalletMessage};
use usher_protocol::subkey::Permission;

use crate::UnixMillis;
use crate::event_data::{EventData, InvoiceData, PaymentData};
use crate::operations::conversation::Conversation;
use crate::operations::{Effect, Input, StateMachine, StepResult, emit, millis};
use crate::ports::{CorrelationKey, OperationKind};

/// The terms of a request for an invoice.
#[derive(Clone, Debug)]
pub struct InvoiceTerms {
    /// The user's key.
    pub main_key: PublicKey,
    /// Keys that may reply for it without a proof.
    pub subkeys: Vec<PublicKey>,
    /// Our random id of the request.
    pub request_id: String,
    /// The app's own reference, repeated in events.
    pub reference: Option<String>,
    /// Millisats.
    pub amount: u64,
    /// What it is for.
    pub description: Option<String>,
    /// Until when the user can reply.
    pub expires_at: UnixMillis,
}

/// The state of an invoice request.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvoiceRequest {
    #[serde(flatten)]
    conversation: Conversation,
    request_id: String,
    reference: Option<String>,
    amount: u64,
    description: Option<String>,
    #[serde(with = "millis")]
    expires_at: UnixMillis,
    network: Network,
}

impl fmt::Debug for InvoiceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InvoiceRequest").field("amount", &self.amount).finish_non_exhaustive()
    }
}

impl StateMachine for InvoiceRequest {
    fn kind(&self) -> OperationKind {
        OperationKind::InvoiceRequest
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
        Self::step(self, input, now)
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        Some(self.expires_at())
    }

    fn correlations(&self) -> Vec<CorrelationKey> {
        vec![self.correlation()]
    }
}

impl InvoiceRequest {
    /// Requests an invoice on `network`.
    pub fn start(terms: InvoiceTerms, network: Network) -> (Self, Vec<Effect>) {
        let state = Self {
            conversation: Conversation::new(terms.main_key, &terms.subkeys),
            request_id: terms.request_id,
            reference: terms.reference,
            amount: terms.amount,
            description: terms.description,
            expires_at: terms.expires_at,
            network,
        };
        let ask = state.ask();
        (state, vec![ask])
    }

    pub(crate) const fn expires_at(&self) -> UnixMillis {
        self.expires_at
    }

    pub(crate) fn correlation(&self) -> CorrelationKey {
        CorrelationKey::request(&self.request_id)
    }

    pub(crate) fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Timer if now >= self.expires_at => self.end("timeout", "the user did not answer in time", now),
            _ if now >= self.expires_at => StepResult::Ignored,
            Input::Wallet { author, message: WalletMessage::InvoiceResponse(response), .. } => {
                self.answered(author, response, now)
            }
            Input::Wallet { author, message: WalletMessage::SubkeyProof { proof, .. }, .. }
                if self.conversation.prove(author, proof, Permission::Payment, now) =>
            {
                StepResult::Stepped(vec![self.ask_too(author)])
            }
            _ => StepResult::Ignored,
        }
    }

    fn answered(&self, author: &PublicKey, response: &InvoiceResponse, now: UnixMillis) -> StepResult {
        if response.request.inner.request_id != self.request_id || !self.conversation.may_pay(author, now) {
            return StepResult::Ignored;
        }
        match self.read(response, now) {
            Ok(invoice) => {
                let data = EventData::Invoice(InvoiceData {
                    invoice: invoice.as_str().to_owned(),
                    payment_hash: invoice.payment_hash().to_string(),
                    amount: self.amount,
                    request_id: self.reference.clone(),
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
        let data = PaymentData::failed(status, Some(reason), self.reference.as_deref());
        StepResult::Stepped(vec![emit(data, now), Effect::Finish])
    }

    fn ask(&self) -> Effect {
        Effect::Send(self.conversation.message(&self.message(), self.expires_at))
    }

    /// The same to a key that has just proven itself.
    fn ask_too(&self, proven: &PublicKey) -> Effect {
        Effect::SendAlso(self.conversation.message_to_proven(proven, &self.message(), self.expires_at))
    }

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
