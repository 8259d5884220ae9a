//! An invoice or a payment as a NIP-47 backend describes it.
//!
//! Backends differ in how they write numbers and times, and in what they write where they have nothing to tell.

use serde_json::Value;
use usher_engine::ports::Settlement;
use usher_engine::request_body::field_reader::MAX_MILLISATS;
use usher_protocol::message::{PaymentHash, Preimage};

use super::InvalidResponse;

/// A NIP-47 transaction. A field of the wrong type is treated as absent, unless it is needed.
#[derive(Clone, Copy)]
pub(super) struct Transaction<'a>(pub(super) &'a Value);

/// A transaction has at least one of these fields.
const FIELDS: [&str; 6] = ["type", "state", "payment_hash", "invoice", "preimage", "settled_at"];

/// The largest integer that a floating-point number represents exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

/// The preimage that a transaction shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// It hashes to the payment hash.
    Valid(Preimage),
    /// It is well-formed and hashes to another payment hash.
    Wrong(Preimage),
    /// None, or what a backend writes in place of one: nothing, zeros, another text.
    None,
}

impl Transaction<'_> {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(whole_number)
    }

    /// The amount in millisats, if it names one.
    ///
    /// # Errors
    /// [`InvalidResponse`] if it names something that is no amount.
    pub(super) fn amount(&self) -> Result<Option<u64>, InvalidResponse> {
        match self.0.get("amount") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(value) => whole_number(value).map(Some).ok_or(InvalidResponse),
        }
    }

    pub(super) fn preimage(&self) -> Option<Preimage> {
        serde_json::from_value(Value::String(self.text("preimage")?.to_owned())).ok()
    }

    pub(super) fn proof(&self, hash: PaymentHash) -> Proof {
        match self.preimage() {
            Some(preimage) if preimage.payment_hash() == hash => Proof::Valid(preimage),
            Some(preimage) if preimage.as_bytes() != &[0; 32] => Proof::Wrong(preimage),
            Some(_) | None => Proof::None,
        }
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
        self.text("type").is_none_or(|kind| kind.eq_ignore_ascii_case(direction))
    }

    pub(super) fn state(&self) -> Option<String> {
        self.text("state").map(str::to_ascii_lowercase)
    }

    pub(super) fn is_settled(&self) -> bool {
        match self.text("state") {
            Some(state) => state.eq_ignore_ascii_case("settled"),
            None => self.0.get("settled_at").is_some_and(is_time),
        }
    }

    /// How an invoice was paid. An outgoing transaction of the backend itself has the fee of the payer, not of the payee.
    pub(super) fn settlement(&self, amount: Option<u64>, proof: Proof) -> Settlement {
        let fees_paid = self.number("fees_paid").filter(|_| self.may_be("incoming")).unwrap_or_default();
        let preimage = match proof {
            Proof::Valid(preimage) | Proof::Wrong(preimage) => Some(preimage),
            Proof::None => None,
        };
        Settlement { amount, skimmed_fee: 0, fees_paid, preimage }
    }
}

/// A whole number, also one that is written as `1000.0`, `1e3` or text; at most all bitcoin there are.
fn whole_number(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_u64().or_else(|| exact(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| exact(text.trim().parse().ok()?)),
        _ => None,
    };
    number.filter(|number| *number <= MAX_MILLISATS)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a small whole number")]
fn exact(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..=MAX_EXACT).contains(&number)).then_some(number as u64)
}

/// Whether it is a time, in whatever form, and not what programs write for none: nothing, 0, the years 1 and 1970.
fn is_time(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64().is_some_and(|at| at > 0.0),
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(at) => at > 0.0,
            Err(_) => is_date(text.trim()),
        },
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

fn is_date(text: &str) -> bool {
    let is_none = ["", "null", "none", "nil", "undefined", "false"].iter().any(|none| text.eq_ignore_ascii_case(none));
    !is_none && !text.starts_with("000") && !text.starts_with("1970-01-01")
}
