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
    /// Nothing was ever signed (NUT-09).
    NothingToRestore,
    /// The quote has this state: `PAID`, `UNPAID` or `ISSUED` (NUT-04).
    QuoteState(&'static str),
    Field(&'static str, Value),
    /// The top-level field is not there.
    NoField(&'static str),
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
            Self::NothingToRestore => *body = json!({ "outputs": [], "signatures": [] }),
            Self::QuoteState(state) => body["state"] = json!(state),
            Self::Field(name, value) => body[*name] = value.clone(),
            Self::NoField(name) => {
                if let Some(body) = body.as_object_mut() {
                    body.remove(*name);
                }
            }
            Self::OtherKeys => each(body, "keysets", |keyset| {
                for key in keyset["keys"].as_object_mut().into_iter().flat_map(|keys| keys.values_mut()) {
                    *key = json!(SOME_POINT);
                }
            }),
        }
    }
}

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
