use super::tests::{making, says, settled, success, terms};
use super::*;
use crate::operations::fixtures::*;

#[test]
fn without_a_payer_no_wallet_is_asked_and_none_is_heard() {
    let terms = PaymentTerms { payer: None, ..terms() };
    let (mut payment, _) = Payment::to_us(terms, 5_000, Network::Regtest, NOW);
    let made = payment.step(&Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 300))), NOW);
    assert_eq!(effects(made), []);
    let mut payment = reread(&payment);
    assert_eq!(payment.step(&says(PaymentStatus::Rejected { reason: None }), NOW), StepResult::Ignored);
    assert_eq!(payment.step(&success(Some(PREIMAGE)), NOW), StepResult::Ignored);
    let paid = effects(payment.step(&Input::Settled(settled(5_000, Some(PREIMAGE))), NOW));
    assert_eq!(event(&paid).1, json!({ "status": "paid", "preimage": PREIMAGE.to_hex(), "request_id": "theirs" }));
}

#[test]
fn a_payer_whose_keys_cannot_be_read_is_not_taken_for_none() {
    let mut state = serde_json::to_value(making()).unwrap();
    for name in ["asked", "main_key", "subkeys", "devices"] {
        let removed = state.as_object_mut().unwrap().remove(name).unwrap();
        assert!(serde_json::from_value::<Payment>(state.clone()).is_err(), "{name}");
        state[name] = removed;
    }
    assert_eq!(serde_json::from_value::<Payment>(state).unwrap(), making());
}
