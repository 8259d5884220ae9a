use super::*;
use crate::operations::fixtures::*;

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
    let mut refund = reread(&refund);
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

/// The wallet refuses the payment of the invoice that was named, and does not know it.
fn refuse(refund: &mut Refund, now: UnixMillis) -> Vec<Effect> {
    let signed = SignedPayment { request: "signed".to_owned(), until: now.secs() + 60 };
    effects(refund.step(&Input::PaymentPrepared(Ok(signed)), now));
    let refused = LightningError::Refused { again: true, reason: "no route".to_owned() };
    effects(refund.step(&Input::PaymentSent { attempt: 1, result: Err(refused) }, now));
    effects(refund.step(&Input::PaymentStatus(Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None))), now))
}

fn invoice_of(preimage: u8) -> Input {
    Input::Signal(Signal::RefundTo(invoice(5_000, Preimage::from_bytes([preimage; 32]), 300)))
}

#[test]
fn an_invoice_that_was_not_paid_makes_room_for_another() {
    let mut refund = asking();
    effects(refund.step(&invoice_of(7), NOW));
    let told = refuse(&mut refund, NOW);
    assert_eq!(told.len(), 1);
    let reason = "the invoice was not paid: no route";
    assert_eq!(event(&told).1, json!({ "status": "user_failed", "reason": reason, "request_id": "theirs" }));
    let mut refund = reread(&refund);
    assert_eq!(
        (refund.progress(), refund.asks_again(), status(&refund)),
        (RefundProgress::Asking, true, PaymentRecordStatus::Open)
    );
    assert!(!refund.is_done());
    assert_eq!((refund.wake_at(), refund.step(&Input::Timer, NOW)), (Some(END), StepResult::Ignored));
    let held = Spending { amount: 5_000, fees_allowed: 250, fees_paid: None, until: None };
    assert_eq!(refund.spending().unwrap(), held, "it holds its share of the budget");

    let keys = refund.correlations();
    effects(refund.step(&invoice_of(8), NOW));
    assert_eq!((refund.progress(), refund.asks_again()), (RefundProgress::Paying, false));
    assert!(keys.iter().all(|key| refund.correlations().contains(key)), "none is given up");
    assert_eq!(refund.step(&invoice_of(9), NOW), StepResult::Ignored);
    let paid = |n| Input::Paid(CompletedPayment { preimage: Preimage::from_bytes([n; 32]), fees_paid: None });
    let told = effects(refund.step(&paid(7), NOW));
    assert!(
        event(&told).1["reason"].as_str().unwrap().starts_with("an earlier invoice was paid after all"),
        "{told:?}"
    );
    assert_eq!(refund.progress(), RefundProgress::Paying);
    assert_eq!(event(&effects(refund.step(&paid(8), NOW))).1["status"], "paid");
    assert_eq!(refund.step(&invoice_of(9), NOW), StepResult::Ignored);
}

#[test]
fn an_invoice_that_was_paid_after_all_is_the_refund() {
    let mut refund = asking();
    for n in [7, 8, 8] {
        effects(refund.step(&invoice_of(n), NOW));
        refuse(&mut refund, NOW);
    }
    let mut refund = reread(&refund);
    let paid = Input::Paid(CompletedPayment { preimage: PREIMAGE, fees_paid: Some(3) });
    let told = effects(refund.step(&paid, NOW));
    assert_eq!((event(&told).1["status"].as_str(), told.last()), (Some("paid"), Some(&Effect::ClearOutbox)));
    assert_eq!((refund.progress(), status(&refund)), (RefundProgress::Paid, PaymentRecordStatus::Paid));
    assert_eq!(refund.step(&invoice_of(8), NOW), StepResult::Ignored);
}

#[test]
fn without_another_invoice_it_ends_as_its_last_payment_did() {
    let mut refund = asking();
    effects(refund.step(&invoice_of(7), NOW));
    refuse(&mut refund, NOW);
    let told = effects(refund.step(&Input::Timer, END));
    assert_eq!(
        (event(&told).1["status"].clone(), event(&told).1["outcome"].clone()),
        (json!("error"), json!("not_paid"))
    );
    assert_eq!((refund.progress(), status(&refund)), (RefundProgress::NotPaid, PaymentRecordStatus::NotPaid));
    assert!(refund.is_done());
    assert!(matches!(&effects(refund.step(&Input::Timer, END))[..], [Effect::CallLightning(_)]), "it is looked up");
    assert_eq!(refund.spending().unwrap().amount, 0);

    let mut refund = asking();
    for n in 0..=MAX_NOT_PAID {
        assert!(!refund.is_done());
        effects(refund.step(&invoice_of(u8::try_from(n).unwrap()), NOW));
        refuse(&mut refund, NOW);
    }
    assert!(refund.is_done(), "so many payments failed");
}

/// A payment with an unknown outcome counts as the refund.
#[test]
fn an_unknown_outcome_makes_room_for_no_other() {
    let mut refund = asking();
    effects(refund.step(&invoice_of(7), NOW));
    let signed = SignedPayment { request: "signed".to_owned(), until: NOW.secs() + 60 };
    effects(refund.step(&Input::PaymentPrepared(Ok(signed)), NOW));
    let silence = LightningError::Unknown("silence".to_owned());
    effects(refund.step(&Input::PaymentSent { attempt: 1, result: Err(silence) }, NOW));
    let late = NOW.plus(Duration::from_secs(30 * 24 * 3_600));
    let unknown = Input::PaymentStatus(Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None)));
    assert_eq!(event(&effects(refund.step(&unknown, late))).1["outcome"], "unknown");
    assert_eq!((refund.progress(), refund.step(&invoice_of(8), NOW)), (RefundProgress::Unknown, StepResult::Ignored));
}

#[test]
fn the_invoice_that_is_refunded_is_not_taken() {
    let paid = invoice(5_000, PREIMAGE, 300);
    let mut refund = asking();
    refund.refunded_invoice = Some(paid.as_str().to_owned());
    assert_eq!(refund.fault_of(&paid, NOW), Some(RefundInvoiceFault::Paid));
    assert_eq!(event(&effects(refund.step(&invoice_of(7), NOW))).1["status"], "user_failed");
    assert_eq!(refund.progress(), RefundProgress::Asking);
}

#[test]
fn the_wallet_is_asked_for_another_invoice() {
    let payer = Payer { main_key: user(1).public_key(), subkeys: Vec::new() };
    let mut refund = asking();
    refund.user_keys = Some(UserKeys::new(payer.main_key, &payer.subkeys));
    effects(refund.step(&invoice_of(7), NOW));
    let told = refuse(&mut refund, NOW);
    let [Effect::Emit(_), Effect::Send(again)] = &told[..] else { panic!("{told:?}") };
    assert!(again.content.contains("\"ours-1\""), "a wallet responds to each request once");
    assert!(refund.correlations().contains(&CorrelationKey::request("ours-1")));
}

#[test]
fn without_an_invoice_it_ends_and_holds_nothing_of_the_budget() {
    let mut refund = asking();
    assert_eq!(refund.step(&Input::Timer, NOW), StepResult::Ignored);
    let told = effects(refund.step(&Input::Timer, END));
    assert_eq!(event(&told).1["status"], "timeout");
    assert_eq!(told.last(), Some(&Effect::Finish));
    let mut refund = reread(&refund);
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
