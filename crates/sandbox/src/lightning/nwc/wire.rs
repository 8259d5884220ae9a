use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::ErrorCode;
use crate::lightning::{Direction, InvoiceTerms, State, Transaction};

/// Seconds for which an invoice can be paid unless the app says otherwise.
const DEFAULT_EXPIRY: u64 = 3_600;

#[derive(Debug, Deserialize)]
pub(super) struct Call {
    pub(super) method: String,
    #[serde(default)]
    pub(super) params: Value,
}

impl Call {
    pub(super) fn params<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let params = if self.params.is_null() { json!({}) } else { self.params.clone() };
        serde_json::from_value(params)
            .map_err(|error| Refusal::new(ErrorCode::Other, format!("invalid parameters: {error}")))
    }
}

/// The parameters of `make_invoice`.
#[derive(Debug, Deserialize)]
pub struct MakeParams {
    /// Millisats.
    pub amount: u64,
    #[serde(default)]
    pub description: Option<String>,
    /// The SHA-256 of what the payment is for, in place of the description: 64 hexadecimal characters.
    #[serde(default)]
    pub description_hash: Option<PaymentHash>,
    /// Seconds for which the invoice can be paid.
    #[serde(default)]
    pub expiry: Option<u64>,
}

impl MakeParams {
    pub fn into_terms(self) -> InvoiceTerms {
        let description_hash = self.description_hash.map(|hash| *hash.as_bytes());
        InvoiceTerms { description_hash, ..InvoiceTerms::of(self.amount) }
            .described(self.description.unwrap_or_default())
            .for_seconds(self.expiry.unwrap_or(DEFAULT_EXPIRY))
    }
}

/// The parameters of `lookup_invoice`: one of the two.
#[derive(Debug, Deserialize)]
pub struct LookupParams {
    #[serde(default)]
    pub payment_hash: Option<PaymentHash>,
    #[serde(default)]
    pub invoice: Option<String>,
}

impl LookupParams {
    /// The payment hash that it names.
    pub fn hash(&self) -> Result<PaymentHash, Refusal> {
        match (&self.payment_hash, &self.invoice) {
            (Some(hash), _) => Ok(*hash),
            (None, Some(invoice)) => {
                invoice.parse().map_err(|_| not_found()).map(|invoice: Invoice| invoice.payment_hash())
            }
            (None, None) => Err(Refusal::new(ErrorCode::Other, "payment_hash or invoice is required")),
        }
    }
}

pub fn not_found() -> Refusal {
    Refusal::new(ErrorCode::NotFound, "no such invoice")
}

/// The parameters of `pay_invoice`.
#[derive(Debug, Deserialize)]
pub struct PayParams {
    pub invoice: String,
    /// Millisats, for an invoice without an amount.
    #[serde(default)]
    pub amount: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Response(pub Result<Value, Refusal>);

/// Why a request was refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub code: ErrorCode,
    /// The reason, for people.
    pub message: String,
}

impl Refusal {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl Response {
    /// A refusal with this code and reason.
    pub fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Err(Refusal::new(code, message)))
    }

    /// The text of the response; `method` as the request wrote it.
    pub(super) fn text(&self, method: &str) -> String {
        let (result, error) = match &self.0 {
            Ok(result) => (result.clone(), Value::Null),
            Err(refusal) => (Value::Null, json!({"code": refusal.code.as_str(), "message": refusal.message})),
        };
        json!({"result_type": method, "error": error, "result": result}).to_string()
    }
}

const fn state_name(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Settled => "settled",
        State::Expired => "expired",
        State::Failed => "failed",
    }
}

pub(super) fn open_invoice_json(invoice: Invoice, created_at: u64) -> Value {
    transaction_json(&Transaction {
        direction: Direction::Incoming,
        state: State::Pending,
        amount: invoice.amount(),
        preimage: None,
        fees_paid: 0,
        created_at,
        settled_at: None,
        invoice,
    })
}

/// A transaction as responses and notifications show it, with the preimage once it is settled.
pub fn transaction_json(transaction: &Transaction) -> Value {
    let Transaction { direction, invoice, .. } = transaction;
    let direction = match direction {
        Direction::Incoming => "incoming",
        Direction::Outgoing => "outgoing",
    };
    let mut value = json!({
        "type": direction,
        "state": state_name(transaction.state),
        "invoice": invoice.as_str(),
        "description": invoice.description(),
        "payment_hash": invoice.payment_hash().to_string(),
        "amount": transaction.amount.unwrap_or(0),
        "fees_paid": transaction.fees_paid,
        "created_at": transaction.created_at,
        "expires_at": invoice.expires_at(),
    });
    if let (Some(fields), Some(at)) = (value.as_object_mut(), transaction.settled_at) {
        fields.insert("settled_at".to_owned(), at.into());
        fields.insert("preimage".to_owned(), transaction.preimage.map(|preimage| preimage.to_hex()).into());
    }
    value
}
