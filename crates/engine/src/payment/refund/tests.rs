use serde_json::json;
use usher_protocol::message::Preimage;

use super::*;
use crate::operations::LightningRequest;
use crate::operations::fixtures::{NOW, effects, event, invoice};
use crate::ports::CompletedPayment;

const PREIMAGE: Preimage = Preimage::from_bytes([7; 32]);
const END: UnixMillis = UnixMillis(NOW.0 + 600_000);

fn asking() -> Refund {
    let refund = Refund::new(RefundTerms {
        payment: StreamId::SUBSCRIPTIONS,
        refunded_invoice: None,
        amount: 5_000,
        description: "Coffee".to_owned(),
        reference: Some("theirs".to_owned()),
        payer: None,
        request_id: "ours".to_owned(),
        expires_at: END,
        fees_allowed: 250,
        network: Network::Regtest,
    });
    assert_eq!(refund.begin(), []);
    refund
}

fn named(amount: u64) -> Input {
    Input::Signal(Signal::RefundTo(invoice(amount, PREIMAGE, 300)))
}

fn stored(refund: &Refund) -> Refund {
    serde_json::from_value(serde_json::to_value(refund).unwrap()).unwrap()
}

fn status(refund: &Refund) -> PaymentRecordStatus {
    refund.payment_record().unwrap().status
}

#[test]
fn the_first_invoice_that_fits_is_paid_and_no_other() {
    let mut refund = asking();
    assert_eq!(refund.spending().unwrap(), Spending { amount: 5_000, fees_allowed: 250, fees_paid: None, until: None });
    for wrong in [4_999, 5_001] {
        let told = effects(refund.step(&named(wrong), NOW));
        assert_eq!(event(&told).1["status"], "user_failed");
        assert_eq!(refund.progress(), RefundProgress::Asking);
    }
    let begun = effects(refund.step(&named(5_000), NOW));
    assert_eq!(event(&begun).1, json!({ "status": "user_approved", "request_id": "theirs" }));
    assert!(matches!(begun.last(), Some(Effect::CallLightning(LightningRequest::PreparePayment { .. }))));
    let mut refund = stored(&refund);
    assert_eq!((refund.progress(), status(&refund)), (RefundProgress::Paying, PaymentRecordStatus::Open));
    assert!(refund.correlations().contains(&CorrelationKey::paying(PREIMAGE.payment_hash())));
    let other = Input::Signal(Signal::RefundTo(invoice(5_000, Preimage::from_bytes([8; 32]), 300)));
    assert_eq!(refund.step(&other, NOW), StepResult::Ignored);

    let paid = Input::Paid(CompletedPayment { preimage: PREIMAGE, fees_paid: Some(3) });
    let told = effects(refund.step(&paid, NOW));
    assert_eq!(event(&told).1["status"], "paid");
    let record = refund.payment_record().unwrap();
    assert_eq!((record.status, record.settled, record.fee), (PaymentRecordStatus::Paid, Some(5_000), Some(3)));
    assert_eq!((record.kind, record.refund_of), (PaymentKind::Refund, Some(StreamId::SUBSCRIPTIONS)));
    assert_eq!(refund.step(&paid, NOW), StepResult::Ignored);
}

#[test]
fn an_invoice_of_another_payment_leaves_it_asking() {
    let mut refund = asking();
    let told = effects(refund.step(&Input::CorrelationTaken, NOW));
    assert_eq!(event(&told).1["status"], "user_failed");
    assert_eq!(refund.progress(), RefundProgress::Asking);
}

#[test]
fn without_an_invoice_it_ends_and_holds_nothing_of_the_budget() {
    let mut refund = asking();
    assert_eq!(refund.step(&Input::Timer, NOW), StepResult::Ignored);
    let told = effects(refund.step(&Input::Timer, END));
    assert_eq!(event(&told).1["status"], "timeout");
    assert_eq!(told.last(), Some(&Effect::Finish));
    let mut refund = stored(&refund);
    assert_eq!((refund.progress(), status(&refund)), (RefundProgress::Expired, PaymentRecordStatus::NotPaid));
    assert_eq!(refund.spending().unwrap().amount, 0);
    assert_eq!(refund.step(&named(5_000), END), StepResult::Ignored);
}

#[test]
fn faults_are_reported_twenty_times_at_most() {
    let mut refund = asking();
    let reported = (0..100).filter(|_| refund.step(&named(1), NOW) != StepResult::Ignored).count();
    assert_eq!(reported, usize::from(MAX_FAILURES));
    assert!(matches!(refund.step(&named(5_000), NOW), StepResult::Stepped(_)), "one that fits is taken all the same");
}
