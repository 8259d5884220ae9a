//! NIP-47 in JSON.

use serde::Deserialize;
use serde_json::{Value, json};
use usher_protocol::message::PaymentHash;

use super::ErrorCode;
use crate::lightning::{Direction, State, Transaction};

/// A request.
#[derive(Debug, Deserialize)]
pub(super) struct Call {
    pub(super) method: String,
    #[serde(default)]
    pub(super) params: Value,
}

#[derive(Deserialize)]
pub(super) struct MakeParams {
    pub(super) amount: u64,
    #[serde(default)]
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) expiry: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct LookupParams {
    #[serde(default)]
    pub(super) payment_hash: Option<PaymentHash>,
    #[serde(default)]
    pub(super) invoice: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct PayParams {
    pub(super) invoice: String,
    #[serde(default)]
    pub(super) amount: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ListParams {
    pub(super) from: Option<u64>,
    pub(super) until: Option<u64>,
    pub(super) limit: Option<usize>,
    pub(super) offset: Option<usize>,
    pub(super) unpaid: Option<bool>,
    #[serde(rename = "type")]
    pub(super) direction: Option<Direction>,
}

/// What is answered.
#[derive(Clone, Debug)]
pub(super) struct Answer(pub(super) Result<Value, Refusal>);

/// Why not.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

impl Answer {
    /// The answer's text; `method` as the request wrote it.
    pub(super) fn text(&self, method: &str) -> String {
        let (result, error) = match &self.0 {
            Ok(result) => (result.clone(), Value::Null),
            Err(refusal) => (Value::Null, json!({"code": refusal.code.as_str(), "message": refusal.message})),
        };
        json!({"result_type": method, "error": error, "result": result}).to_string()
    }
}

/// The words of NIP-47 for a state.
pub(super) const fn state(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Settled => "settled",
        State::Expired => "expired",
        State::Failed => "failed",
    }
}

/// A transaction as `lookup_invoice`, `list_transactions` and notifications show it. A preimage is shown when it
/// proves something.
pub(super) fn transaction(transaction: &Transaction) -> Value {
    let Transaction { direction, invoice, .. } = transaction;
    let direction = match direction {
        Direction::Incoming => "incoming",
        Direction::Outgoing => "outgoing",
    };
    let mut value = json!({
        "type": direction,
        "state": state(transaction.state),
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
