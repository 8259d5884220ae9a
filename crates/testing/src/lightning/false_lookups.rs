//! Look-ups that are not true.

use serde_json::Value;
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::ErrorCode;
use usher_sandbox::lightning::nwc::Refusal;

use super::LookupLie;

/// What a look-up returns instead of the true result.
pub(super) fn look_up(mut value: Value, lie: LookupLie) -> Result<Value, Refusal> {
    match lie {
        LookupLie::ForgetPayments if value["type"] == "outgoing" => {
            return Err(Refusal::new(ErrorCode::NotFound, "no such invoice"));
        }
        LookupLie::ForgetPayments => {}
        LookupLie::PaymentsAsInvoices => value["type"] = "incoming".into(),
        LookupLie::SettledWithWrongPreimage => {
            value["settled_at"] = value.get("settled_at").unwrap_or(&value["created_at"]).clone();
            value["state"] = "settled".into();
            value["preimage"] = Preimage::from_bytes(rand::random()).to_hex().into();
        }
    }
    Ok(value)
}
