//! An invoice or a payment as a NIP-47 backend describes it.
//!
//! Backends differ in how they write numbers, times and absent values.

use serde_json::Value;
use usher_engine::ports::Settlement;
use usher_engine::request_body::field_reader::MAX_MILLISATS;
use usher_protocol::message::{PaymentHash, Preimage};

use super::error::InvalidResponse;

/// A NIP-47 transaction. A field of the wrong type counts as absent, unless it is required.
#[derive(Clone, Copy)]
pub(super) struct Transaction<'a>(pub(super) &'a Value);

/// A transaction has at least one of these fields.
const FIELDS: [&str; 6] = ["type", "state", "payment_hash", "invoice", "preimage", "settled_at"];

const STATES: [&str; 5] = ["pending", "accepted", "settled", "expired", "failed"];

/// The direction of the money, as seen by the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Incoming,
    Outgoing,
}

/// The largest integer that a floating-point number represents exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// It hashes to the payment hash.
    Valid(Preimage),
    /// Well-formed, but hashes to another payment hash.
    Wrong(Preimage),
    /// Absent, or a backend's placeholder: empty, zeros, another text.
    None,
}

impl Transaction<'_> {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(whole_number)
    }

    /// The amount in millisats, if present.
    ///
    /// # Errors
    /// [`InvalidResponse`] if the value is not an amount.
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

    /// Whether it is about this payment hash. A backend that returns none means the requested one; for one that returns
    /// zeros, the preimage decides.
    pub(super) fn is_about(&self, hash: PaymentHash) -> bool {
        let is_one = FIELDS.iter().any(|field| self.0.get(field).is_some());
        is_one
            && match self.text("payment_hash") {
                None => true,
                Some(zeros) if zeros.bytes().all(|byte| byte == b'0') => matches!(self.proof(hash), Proof::Valid(_)),
                Some(_) => self.payment_hash() == Some(hash),
            }
    }

    pub(super) fn direction(&self) -> Option<Direction> {
        let kind = self.text("type")?.to_ascii_lowercase();
        let begins = |words: [&str; 2]| words.iter().any(|word| kind.starts_with(word));
        match kind.as_str() {
            _ if begins(["in", "rec"]) => Some(Direction::Incoming),
            _ if begins(["out", "sen"]) => Some(Direction::Outgoing),
            _ => None,
        }
    }

    /// Whether it has this direction, or none.
    pub(super) fn may_be(&self, direction: Direction) -> bool {
        self.direction().is_none_or(|named| named == direction)
    }

    /// A state defined by NIP-47; other words are ignored.
    pub(super) fn state(&self) -> Option<&'static str> {
        let state = self.text("state")?;
        STATES.into_iter().find(|known| known.eq_ignore_ascii_case(state))
    }

    pub(super) fn is_settled(&self) -> bool {
        match self.state() {
            Some(state) => state == "settled",
            None => self.0.get("settled_at").is_some_and(is_time),
        }
    }

    /// How an invoice was paid. An outgoing transaction has the fee of the payer, not of the payee.
    pub(super) fn settlement(&self, amount: Option<u64>, proof: Proof) -> Settlement {
        // A payee's fee cannot be the whole amount.
        let is_fee = |fee: &u64| self.may_be(Direction::Incoming) && amount.is_none_or(|amount| *fee < amount);
        let fees_paid = self.number("fees_paid").filter(is_fee).unwrap_or_default();
        let preimage = match proof {
            Proof::Valid(preimage) | Proof::Wrong(preimage) => Some(preimage),
            Proof::None => None,
        };
        Settlement { amount, skimmed_fee: 0, fees_paid, preimage }
    }
}

/// A whole number, also written as `1000.0`, `1e3` or text; at most the number of millisats in existence.
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

/// Whether it is a time, in any form, and not a placeholder: empty, 0, a word, the years 1 and 1970.
fn is_time(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is_settled) => *is_settled,
        Value::Number(number) => number.as_f64().is_some_and(|at| at > 0.0),
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(at) => at.is_finite() && at > 0.0,
            Err(_) => is_date(text),
        },
        // The parts of a date, or seconds and a fraction.
        Value::Array(parts) => parts.iter().any(is_recent),
        Value::Object(parts) => parts.values().any(is_recent),
    }
}

fn is_recent(part: &Value) -> bool {
    match part {
        Value::Number(number) => number.as_f64().is_some_and(|number| number >= FIRST_YEAR),
        part => is_time(part),
    }
}

fn is_date(text: &str) -> bool {
    let numbers: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).collect();
    match numbers.iter().find(|digits| digits.len() >= 4) {
        Some(digits) => {
            // A year, alone or followed by more (20261128), or Unix time.
            let is_year = matches!(digits.len(), 4 | 6 | 8 | 12 | 14);
            let number = if is_year { digits.get(..4).unwrap_or_default() } else { digits };
            number.parse::<f64>().is_ok_and(|number| number >= FIRST_YEAR)
        }
        None => {
            let is_none = ["69", "70"].iter().any(|year| numbers.contains(year));
            text.trim().eq_ignore_ascii_case("true")
                || !is_none && numbers.iter().any(|digits| digits.contains(|c| c != '0'))
        }
    }
}

/// Lightning is younger than this.
const FIRST_YEAR: f64 = 2009.0;
