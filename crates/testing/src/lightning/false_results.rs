//! Results that are not true, and invoices that do not match the request.

use serde_json::{Value, json};
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::{PaymentHash, Preimage};
use usher_sandbox::lightning::nwc::{MakeParams, Refusal, transaction_json};
use usher_sandbox::lightning::{Account, Direction, ErrorCode, InvoiceTerms, MakeError, State, Transaction};

use super::{InvoiceLie, LookupLie};

/// A preimage that belongs to no payment.
pub(super) fn unrelated_preimage() -> Preimage {
    Preimage::from_bytes(rand::random())
}

/// Makes a false invoice for a request with these terms; its text, and what is claimed to be its payment hash.
fn false_invoice(
    account: &Account,
    mut terms: InvoiceTerms,
    lie: InvoiceLie,
) -> Result<(String, PaymentHash), MakeError> {
    match lie {
        InvoiceLie::LessAmount => terms.amount = terms.amount.map(|amount| amount.saturating_sub(1)),
        InvoiceLie::MoreAmount => terms.amount = terms.amount.map(|amount| amount.saturating_add(1)),
        InvoiceLie::NoAmount => terms.amount = None,
        InvoiceLie::OtherNetwork => terms.network = Network::Bitcoin,
        InvoiceLie::Expired => {
            let now = account.now();
            terms.created_at = Some(now.saturating_sub(terms.expiry.saturating_add(3_600)));
        }
        InvoiceLie::OtherHash => {}
        InvoiceLie::Garbage => return Ok(("lnbcrt1notaninvoice".to_owned(), unrelated_preimage().payment_hash())),
    }
    let invoice = account.make_invoice(&terms)?;
    let payment_hash = match lie {
        InvoiceLie::OtherHash => unrelated_preimage().payment_hash(),
        _ => invoice.payment_hash(),
    };
    Ok((invoice.as_str().to_owned(), payment_hash))
}

/// The result of `make_invoice` with an invoice that does not match the request.
pub(super) fn made_invoice(account: &Account, params: MakeParams, lie: InvoiceLie) -> Result<Value, Refusal> {
    let (text, payment_hash) = false_invoice(account, params.into_terms(), lie).map_err(|error| match error {
        MakeError::Full => Refusal::new(ErrorCode::Internal, error.to_string()),
        _ => Refusal::new(ErrorCode::Other, error.to_string()),
    })?;
    let Ok(invoice) = text.parse::<Invoice>() else {
        return Ok(json!({"type": "incoming", "invoice": text}));
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
    set(&mut value, "payment_hash", payment_hash.to_string().into());
    Ok(value)
}

/// What a look-up returns instead of the true result.
pub(super) fn look_up(truth: Value, lie: LookupLie) -> Result<Value, Refusal> {
    let mut value = truth;
    match lie {
        LookupLie::ForgetPayments if value["type"] == "outgoing" => {
            return Err(Refusal::new(ErrorCode::NotFound, "no such invoice"));
        }
        LookupLie::ForgetPayments => {}
        LookupLie::PaymentsAsInvoices => set(&mut value, "type", "incoming".into()),
        LookupLie::SettledWithWrongPreimage => {
            let settled_at = value.get("settled_at").unwrap_or(&value["created_at"]).clone();
            claim_settled(&mut value, settled_at);
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
        claim_settled(&mut value, now.into());
    }
    value
}

fn claim_settled(value: &mut Value, settled_at: Value) {
    set(value, "state", "settled".into());
    set(value, "settled_at", settled_at);
    set(value, "preimage", unrelated_preimage().to_hex().into());
}

fn set(value: &mut Value, field: &str, to: Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(field.to_owned(), to);
    }
}
