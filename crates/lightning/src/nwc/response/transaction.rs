//! An invoice or a payment as a NIP-47 backend describes it.

use serde_json::Value;
use usher_engine::ports::Settlement;
use usher_protocol::message::{PaymentHash, Preimage};

/// A NIP-47 transaction. A field of the wrong type is treated as absent, unless it is needed.
#[derive(Clone, Copy)]
pub(super) struct Transaction<'a>(pub(super) &'a Value);

/// A transaction has at least one of these fields.
const FIELDS: [&str; 6] = ["type", "state", "payment_hash", "invoice", "preimage", "settled_at"];

impl Transaction<'_> {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(super) fn preimage(&self) -> Option<Preimage> {
        serde_json::from_value(Value::String(self.text("preimage")?.to_owned())).ok()
    }

    pub(super) fn payment_hash(&self) -> Option<PaymentHash> {
        serde_json::from_value(Value::String(self.text("payment_hash")?.to_owned())).ok()
    }

    /// Whether it is about this payment hash. A backend that names none means the one that was requested.
    pub(super) fn is_about(&self, hash: PaymentHash) -> bool {
        let is_one = FIELDS.iter().any(|field| self.0.get(field).is_some());
        is_one && (self.text("payment_hash").is_none() || self.payment_hash() == Some(hash))
    }

    /// Whether it has this direction, or names none.
    pub(super) fn may_be(&self, direction: &str) -> bool {
        self.text("type").is_none_or(|kind| kind == direction)
    }

    pub(super) fn state(&self) -> Option<String> {
        self.text("state").map(str::to_ascii_lowercase)
    }

    pub(super) fn is_settled(&self) -> bool {
        match self.text("state") {
            Some(state) => state.eq_ignore_ascii_case("settled"),
            None => self.number("settled_at").is_some_and(|at| at > 0),
        }
    }

    pub(super) fn settlement(&self) -> Settlement {
        Settlement { amount: self.number("amount"), skimmed_fee: 0, preimage: self.preimage() }
    }
}
