//! False responses of a mint.

use std::collections::HashMap;

use serde_json::{Value, json};

/// The base point of secp256k1: a valid point that signs nothing.
pub(super) const SOME_POINT: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/// How a response is not true. Where the response has nothing of the kind, it stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub enum FalseResponse {
    /// Every signature claims twice its amount.
    DoubledAmounts,
    /// The last signature is missing.
    FewerSignatures,
    /// Every signature claims another keyset.
    OtherKeyset,
    /// Every signature is another point: proofs made of it are worthless. Its DLEQ proof is the honest one's.
    ForgedSignatures,
    /// Every signature has a DLEQ proof (NUT-12) that proves nothing.
    WrongDleq,
    /// No signature has a DLEQ proof.
    NoDleq,
    /// Every proof has this state: `SPENT`, `UNSPENT`, `PENDING` or something else (NUT-07).
    ProofState(&'static str),
    /// These proofs, by their points Y in hex, have these states.
    StatesOf(HashMap<String, &'static str>),
    /// A state for one proof fewer than was asked for.
    FewerStates,
    /// Nothing was ever signed (NUT-09).
    NothingToRestore,
    /// The quote has this state: `PAID`, `UNPAID` or `ISSUED` (NUT-04).
    QuoteState(&'static str),
    /// The top-level field has this value.
    Field(&'static str, Value),
    /// The top-level field is not there.
    NoField(&'static str),
    /// The fee of every keyset, in thousandths for each input (NUT-02).
    InputFee(u64),
    /// Every key of every keyset is another point (NUT-01).
    OtherKeys,
}

impl FalseResponse {
    /// Changes an honest body.
    pub(super) fn apply(&self, body: &mut Value) {
        match self {
            Self::DoubledAmounts => each(body, "signatures", |signature| {
                let amount = signature["amount"].as_u64().unwrap_or(1);
                signature["amount"] = json!(amount.saturating_mul(2));
            }),
            Self::FewerSignatures => {
                shorten(body, "signatures");
                shorten(body, "outputs");
            }
            Self::OtherKeyset => each(body, "signatures", |signature| flip_last_digit(&mut signature["id"])),
            Self::ForgedSignatures => each(body, "signatures", |signature| signature["C_"] = json!(SOME_POINT)),
            Self::WrongDleq => each(body, "signatures", |signature| flip_last_digit(&mut signature["dleq"]["e"])),
            Self::NoDleq => each(body, "signatures", |signature| {
                if let Some(signature) = signature.as_object_mut() {
                    signature.remove("dleq");
                }
            }),
            Self::ProofState(state) => each(body, "states", |proof| proof["state"] = json!(state)),
            Self::StatesOf(states) => each(body, "states", |proof| {
                if let Some(state) = proof["Y"].as_str().and_then(|y| states.get(y)) {
                    proof["state"] = json!(state);
                }
            }),
            Self::FewerStates => shorten(body, "states"),
            Self::NothingToRestore => *body = json!({ "outputs": [], "signatures": [] }),
            Self::QuoteState(state) => body["state"] = json!(state),
            Self::Field(name, value) => body[*name] = value.clone(),
            Self::NoField(name) => {
                if let Some(body) = body.as_object_mut() {
                    body.remove(*name);
                }
            }
            Self::InputFee(fee) => each(body, "keysets", |keyset| keyset["input_fee_ppk"] = json!(fee)),
            Self::OtherKeys => each(body, "keysets", |keyset| {
                for key in keyset["keys"].as_object_mut().into_iter().flat_map(|keys| keys.values_mut()) {
                    *key = json!(SOME_POINT);
                }
            }),
        }
    }
}

/// Changes each element of an array of the body.
fn each(body: &mut Value, array: &str, change: impl FnMut(&mut Value)) {
    body.get_mut(array).and_then(Value::as_array_mut).into_iter().flatten().for_each(change);
}

fn shorten(body: &mut Value, array: &str) {
    if let Some(elements) = body.get_mut(array).and_then(Value::as_array_mut) {
        elements.pop();
    }
}

/// Another number in the same form.
fn flip_last_digit(hex: &mut Value) {
    if let Some(text) = hex.as_str() {
        let (start, last) = text.split_at(text.len().saturating_sub(1));
        *hex = json!(format!("{start}{}", if last == "0" { "1" } else { "0" }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed() -> Value {
        let signature = |amount: u64| json!({ "amount": amount, "id": "00ad268c4d1f5826", "C_": "02aa", "dleq": { "e": "10", "s": "20" } });
        json!({ "outputs": [1, 2], "signatures": [signature(1), signature(4)] })
    }

    fn with(lie: &FalseResponse) -> Value {
        let mut body = signed();
        lie.apply(&mut body);
        assert_ne!(body, signed(), "{lie:?}");
        body
    }

    #[test]
    fn only_the_named_signature_field_is_changed() {
        for (lie, field, value) in [
            (FalseResponse::DoubledAmounts, "amount", json!(8)),
            (FalseResponse::OtherKeyset, "id", json!("00ad268c4d1f5820")),
            (FalseResponse::ForgedSignatures, "C_", json!(SOME_POINT)),
            (FalseResponse::WrongDleq, "dleq", json!({ "e": "11", "s": "20" })),
        ] {
            let mut body = with(&lie);
            assert_eq!(body["signatures"][1][field], value);
            body["signatures"] = body["signatures"]
                .as_array()
                .unwrap()
                .iter()
                .zip(signed()["signatures"].as_array().unwrap())
                .map(|(changed, honest)| {
                    let mut changed = changed.clone();
                    changed[field] = honest[field].clone();
                    changed
                })
                .collect();
            assert_eq!(body, signed());
        }
        assert!(with(&FalseResponse::NoDleq)["signatures"][0].get("dleq").is_none());
        assert_eq!(with(&FalseResponse::FewerSignatures)["signatures"].as_array().unwrap().len(), 1);
        assert_eq!(with(&FalseResponse::NothingToRestore), json!({ "outputs": [], "signatures": [] }));
    }

    #[test]
    fn missing_fields_are_not_added() {
        for lie in [
            FalseResponse::DoubledAmounts,
            FalseResponse::WrongDleq,
            FalseResponse::ProofState("SPENT"),
            FalseResponse::OtherKeys,
        ] {
            let mut body = json!({ "quote": "x" });
            lie.apply(&mut body);
            assert_eq!(body, json!({ "quote": "x" }));
        }
    }
}
