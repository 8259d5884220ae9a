//! False results of requests.

use serde_json::{Value, json};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::nwc::{MakeParams, Refusal, transaction_json};
use usher_sandbox::lightning::{Account, Direction, ErrorCode, MakeError, State, Transaction};

use super::LookupLie;
use crate::lightning::false_invoice::{InvoiceLie, false_invoice};
use crate::lightning::unrelated_preimage::unrelated_preimage;

/// The result of `make_invoice` with an invoice that does not match the request.
pub(super) fn made_invoice(account: &Account, params: MakeParams, lie: InvoiceLie) -> Result<Value, Refusal> {
    let made = false_invoice(account, &params.into_terms(), lie).map_err(|error| match error {
        MakeError::Full => Refusal::new(ErrorCode::Internal, error.to_string()),
        _ => Refusal::new(ErrorCode::Other, error.to_string()),
    })?;
    let Ok(invoice) = made.invoice.parse::<Invoice>() else {
        return Ok(json!({"type": "incoming", "invoice": made.invoice}));
    };
    let mut value = transaction_json(&Transaction {
        direction: Direction::Incoming,
        state: State::Pending,
        amount: invoice.amount(),
        preimage: None,
        fees_paid: 0,
        created_at: account.now(),
        settled_at: None,
        invoice,
    });
    set(&mut value, "payment_hash", made.payment_hash.to_string().into());
    Ok(value)
}

/// What a look-up returns instead of the true result.
pub(super) fn look_up(truth: Value, lie: LookupLie) -> Result<Value, Refusal> {
    let not_found = || Refusal::new(ErrorCode::NotFound, "no such invoice");
    let mut value = truth;
    match lie {
        LookupLie::Forget => return Err(not_found()),
        LookupLie::ForgetPayments if value["type"] == "outgoing" => return Err(not_found()),
        LookupLie::ForgetPayments => {}
        LookupLie::PaymentsAsInvoices => set(&mut value, "type", "incoming".into()),
        LookupLie::Settled => claim_settled(&mut value, None),
        LookupLie::SettledWithWrongPreimage => claim_settled(&mut value, Some(unrelated_preimage())),
        LookupLie::Pending => claim_unsettled(&mut value, "pending"),
        LookupLie::Failed => claim_unsettled(&mut value, "failed"),
        LookupLie::Expired => claim_unsettled(&mut value, "expired"),
        LookupLie::OtherHash => {
            set(&mut value, "payment_hash", unrelated_preimage().payment_hash().to_string().into());
        }
    }
    Ok(value)
}

/// A receipt whose preimage does not belong to the payment.
pub(super) fn with_wrong_preimage(mut receipt: Value) -> Value {
    set(&mut receipt, "preimage", unrelated_preimage().to_hex().into());
    receipt
}

/// A transaction that claims to be settled now, with an unrelated preimage unless it really is.
pub(super) fn claimed_payment(transaction: &Transaction, now: u64) -> Value {
    let mut value = transaction_json(transaction);
    if transaction.settled_at.is_none() {
        set(&mut value, "state", "settled".into());
        set(&mut value, "settled_at", now.into());
        set(&mut value, "preimage", unrelated_preimage().to_hex().into());
    }
    value
}

fn claim_settled(value: &mut Value, preimage: Option<Preimage>) {
    set(value, "state", "settled".into());
    if value.get("settled_at").is_none() {
        let created_at = value["created_at"].clone();
        set(value, "settled_at", created_at);
    }
    if let Some(preimage) = preimage {
        set(value, "preimage", preimage.to_hex().into());
    }
}

fn claim_unsettled(value: &mut Value, state: &str) {
    set(value, "state", state.into());
    if let Some(fields) = value.as_object_mut() {
        fields.remove("settled_at");
        fields.remove("preimage");
    }
}

fn set(value: &mut Value, field: &str, to: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(field.to_owned(), to);
    }
}
