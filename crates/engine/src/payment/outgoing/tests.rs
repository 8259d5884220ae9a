mod any_order;
mod lookups;

use super::*;
use crate::operations::fixtures::*;

const TTL: u64 = 300;

fn started() -> OutgoingPayment {
    let (state, effects) =
        OutgoingPayment::start(invoice(5_000, PREIMAGE, 3600), Some("p-1".to_owned()), after(TTL), 250, NOW);
    assert!(matches!(
        &effects[..],
        [Effect::CallLightning(LightningRequest::PreparePayment { until, .. })]
            if *until == NOW.secs() + TTL
    ));
    state
}

fn signed(now: UnixMillis) -> SignedPayment {
    SignedPayment { request: "signed".to_owned(), until: now.secs() + 60 }
}

fn sent() -> OutgoingPayment {
    let mut payment = started();
    let got = effects(payment.step(&Input::PaymentPrepared(Ok(signed(NOW))), NOW));
    assert!(matches!(
        &got[..],
        [Effect::CallLightning(LightningRequest::Pay { attempt: 1, again: false, payment, .. })]
            if *payment == signed(NOW)
    ));
    payment
}

fn shown(byte: u8) -> CompletedPayment {
    CompletedPayment { preimage: Preimage::from_bytes([byte; 32]), fees_paid: Some(3) }
}

fn replies(attempt: u32, result: Result<CompletedPayment, LightningError>) -> Input {
    Input::PaymentSent { attempt, result }
}

fn is(status: OutgoingPaymentStatus) -> Input {
    Input::PaymentStatus(Ok(status))
}

fn not_found(coverage: LookupCoverage) -> Input {
    is(OutgoingPaymentStatus::Unknown(coverage))
}

fn unknown() -> LightningError {
    LightningError::Unknown("silence".to_owned())
}

fn refused() -> LightningError {
    LightningError::Refused { again: false, reason: "no route".to_owned() }
}

fn failing() -> LightningError {
    LightningError::Failed("timed out (PAYMENT_FAILED)".to_owned())
}

fn asks_to_look_up(outcome: StepResult) {
    assert!(matches!(&effects(outcome)[..], [Effect::CallLightning(LightningRequest::LookUpPayment { .. })]));
}

fn asks_to_prepare(outcome: StepResult) {
    assert!(matches!(&effects(outcome)[..], [Effect::CallLightning(LightningRequest::PreparePayment { .. })]));
}

/// The outcome and the reason in the final event.
fn told(outcome: StepResult) -> (String, String) {
    let data = event(&effects(outcome)).1;
    let word = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
    (word("outcome"), word("reason"))
}

#[test]
fn matching_preimage_proves_payment() {
    let mut payment = sent();
    let got = effects(payment.step(&replies(1, Ok(shown(7))), NOW));
    let data = json!({ "status": "paid", "preimage": PREIMAGE.to_hex(), "fees_paid": 3, "request_id": "p-1" });
    assert_eq!(event(&got), ("StatusUpdate", data));
    assert!(payment.is_done());
    assert_eq!(payment.step(&Input::Paid(shown(7)), NOW), StepResult::Ignored, "once");
    // Until the invoice has expired it is remembered: asked for again, it is this one.
    assert!(payment.wake_at().unwrap().secs() >= NOW.secs() + 3600);
    assert!(payment.wake_at().unwrap() >= NOW.plus(BUDGET_WINDOW), "as long as it counts towards the budget");
    let end = payment.wake_at().unwrap();
    assert_eq!(effects(payment.step(&Input::Timer, end)), [Effect::Finish]);
}

/// The share of the budget, and for how long; the amount is 5,000 and the largest allowed fee 250.
fn allocation(payment: &OutgoingPayment) -> (u64, Option<UnixMillis>) {
    let spending = payment.spending().unwrap();
    (spending.allocation(), spending.until)
}

#[test]
fn budget_share_counts_until_nonpayment_is_certain() {
    let day = |at: UnixMillis| Some(at.plus(BUDGET_WINDOW));
    let (mut paid, mut silent) = (started(), sent());
    assert_eq!(allocation(&paid), (5_250, None));
    assert_eq!(allocation(&sent()), (5_250, None));
    // The reported fee counts, even above the allowed one; an unreported fee counts as the allowed one.
    for (fees_paid, counts) in [(Some(3), 5_003), (Some(900), 5_900), (None, 5_250)] {
        paid = sent();
        let proof = CompletedPayment { preimage: PREIMAGE, fees_paid };
        effects(paid.step(&replies(1, Ok(proof)), after(2)));
        assert_eq!(allocation(&paid), (counts, day(after(2))));
    }
    let mut refused_payment = sent();
    asks_to_look_up(refused_payment.step(&replies(1, Err(refused())), NOW));
    assert_eq!(allocation(&refused_payment), (5_250, None), "not certain yet");
    assert_eq!(told(refused_payment.step(&not_found(LookupCoverage::None), after(1))).0, "not_paid");
    assert_eq!(allocation(&refused_payment).0, 0);
    // Paid after all.
    effects(refused_payment.step(&Input::Paid(shown(7)), after(500)));
    assert_eq!(allocation(&refused_payment), (5_003, day(after(500))));

    let (now, outcome) = loop {
        let now = silent.wake_at().unwrap();
        asks_to_look_up(silent.step(&Input::Timer, now));
        let outcome = effects(silent.step(&not_found(LookupCoverage::None), now));
        assert_eq!(allocation(&silent).0, 5_250);
        if !outcome.is_empty() {
            break (now, outcome);
        }
    };
    assert_eq!(event(&outcome).1["outcome"], "unknown");
    assert_eq!(allocation(&silent), (5_250, day(now)));
    let again = restored(Operation::OutgoingPayment(silent.clone()));
    assert_eq!(again.spending(), silent.spending(), "also after a restart");
}

#[test]
fn wrong_preimage_proves_nothing() {
    let mut payment = sent();
    asks_to_look_up(payment.step(&replies(1, Ok(shown(8))), NOW));
    assert!(!payment.is_done());
    assert_eq!(payment.step(&Input::Paid(shown(8)), NOW), StepResult::Ignored);
    assert_eq!(payment.step(&replies(1, Ok(shown(8))), NOW), StepResult::Ignored);
}

#[test]
fn without_a_connection_nothing_is_sent_and_it_ends_not_paid() {
    let mut payment = started();
    let mut now = NOW;
    let mut asked = 1;
    while now < after(TTL) {
        assert_eq!(effects(payment.step(&Input::PaymentPrepared(Err(LightningError::NotSent)), now)), []);
        now = payment.wake_at().unwrap();
        if now < after(TTL) {
            asks_to_prepare(payment.step(&Input::Timer, now));
            asked += 1;
        }
    }
    let (outcome, reason) = told(payment.step(&Input::Timer, now));
    assert_eq!((outcome.as_str(), reason.as_str()), ("not_paid", "the wallet cannot be reached"));
    assert!(asked > 5 && now == after(TTL), "{asked}");
    // A request that is signed after all is not sent.
    assert_eq!(payment.step(&Input::PaymentPrepared(Ok(signed(now))), now), StepResult::Ignored);
}

#[test]
fn payment_ends_when_the_invoice_expires() {
    let (mut payment, _) = OutgoingPayment::start(invoice(5_000, PREIMAGE, 100), None, after(TTL), 250, NOW);
    assert_eq!(effects(payment.step(&Input::PaymentPrepared(Err(LightningError::NotSent)), after(99))), []);
    assert_eq!(payment.wake_at().unwrap(), after(100));
    assert_eq!(told(payment.step(&Input::Timer, after(100))).0, "not_paid");
}

#[test]
fn unsent_request_is_prepared_again_after_a_restart() {
    let mut payment = started();
    asks_to_prepare(payment.step(&Input::Resumed, after(2)));
    // Nor does it matter how often, or whether the timer was due.
    asks_to_prepare(payment.step(&Input::Resumed, after(200)));
    assert_eq!(payment.step(&Input::Timer, after(200)), StepResult::Ignored);
    let got = effects(payment.step(&Input::PaymentPrepared(Ok(signed(after(200)))), after(200)));
    assert!(matches!(&got[..], [Effect::CallLightning(LightningRequest::Pay { again: false, .. })]));
    assert_eq!(told(started().step(&Input::Resumed, after(TTL))).0, "not_paid");
}

#[test]
fn possibly_sent_request_is_repeated_unchanged_until_it_expires() {
    let mut payment = sent();
    let got = effects(payment.step(&Input::Resumed, after(59)));
    assert!(matches!(
        &got[..],
        [Effect::CallLightning(LightningRequest::Pay { attempt: 1, again: true, payment, .. })]
            if *payment == signed(NOW)
    ));
    // A failure to send now proves nothing about earlier attempts.
    asks_to_look_up(payment.step(&replies(1, Err(LightningError::NotSent)), after(59)));

    let mut payment = sent();
    asks_to_look_up(payment.step(&Input::Resumed, after(60)));
    let mut payment = sent();
    let lease = payment.wake_at().unwrap();
    assert!(lease > after(60 + 5), "the adapter gives up before");
    asks_to_look_up(payment.step(&Input::Timer, lease));
}

#[test]
fn refusal_of_a_request_first_sent_after_a_restart_is_trusted() {
    let mut payment = started();
    // The first input after the restart is `Resumed`; its timer is due as well.
    asks_to_prepare(payment.step(&Input::Resumed, after(30)));
    assert_eq!(payment.step(&Input::Timer, after(30)), StepResult::Ignored);
    effects(payment.step(&Input::PaymentPrepared(Ok(signed(after(30)))), after(30)));
    asks_to_look_up(payment.step(&replies(1, Err(refused())), after(30)));
    let end = told(payment.step(&not_found(LookupCoverage::None), after(30)));
    assert_eq!(end, ("not_paid".to_owned(), "no route".to_owned()));
}

#[test]
fn refusal_during_a_look_up_is_still_a_refusal() {
    let mut payment = sent();
    let lease = payment.wake_at().unwrap();
    asks_to_look_up(payment.step(&Input::Timer, lease));
    assert_eq!(effects(payment.step(&not_found(LookupCoverage::None), lease)), []);
    asks_to_look_up(payment.step(&replies(1, Err(refused())), lease));
    assert_eq!(told(payment.step(&not_found(LookupCoverage::None), lease)).0, "not_paid");
    // Not when the payment has been seen.
    let mut payment = sent();
    payment.step(&Input::Timer, lease);
    payment.step(&is(OutgoingPaymentStatus::Pending), lease);
    assert_eq!(payment.step(&replies(1, Err(refused())), lease), StepResult::Ignored);
}

#[test]
fn refusal_of_a_repeated_request_proves_nothing() {
    let mut payment = sent();
    payment.step(&Input::Resumed, after(10));
    asks_to_look_up(payment.step(&replies(1, Err(refused())), after(11)));
    for _ in 0..5 {
        assert_eq!(effects(payment.step(&not_found(LookupCoverage::None), after(12))), []);
        assert_eq!(effects(payment.step(&Input::PaymentStatus(Err(unknown())), after(12))), []);
    }
}

#[test]
fn refusal_is_confirmed_by_a_look_up() {
    let mut payment = sent();
    asks_to_look_up(payment.step(&replies(1, Err(refused())), NOW));
    let got = effects(payment.step(&not_found(LookupCoverage::None), NOW));
    let data = json!({ "status": "error", "outcome": "not_paid", "reason": "no route", "request_id": "p-1" });
    assert_eq!(event(&got).1, data);

    let mut payment = sent();
    asks_to_look_up(payment.step(&replies(1, Err(refused())), NOW));
    assert_eq!(effects(payment.step(&is(OutgoingPaymentStatus::Pending), NOW)), []);
    let got = effects(payment.step(&is(OutgoingPaymentStatus::Paid(shown(7))), NOW));
    assert_eq!(event(&got).1["status"], "paid");
}

#[test]
fn request_reported_as_not_sent_is_prepared_again() {
    let mut payment = sent();
    assert_eq!(effects(payment.step(&replies(1, Err(LightningError::NotSent)), NOW)), []);
    let at = payment.wake_at().unwrap();
    asks_to_prepare(payment.step(&Input::Timer, at));

    // The reply comes when it is looked up already.
    let mut payment = sent();
    let lease = payment.wake_at().unwrap();
    asks_to_look_up(payment.step(&Input::Timer, lease));
    assert_eq!(effects(payment.step(&not_found(LookupCoverage::None), lease)), []);
    assert_eq!(effects(payment.step(&replies(1, Err(LightningError::NotSent)), lease)), []);
    let at = payment.wake_at().unwrap();
    asks_to_prepare(payment.step(&Input::Timer, at));
    // It does not apply to another attempt.
    effects(payment.step(&Input::PaymentPrepared(Ok(signed(at))), at));
    assert_eq!(payment.step(&replies(1, Err(LightningError::NotSent)), at), StepResult::Ignored);

    // It has no effect if the payment has been seen under way.
    let mut payment = sent();
    payment.step(&Input::Timer, lease);
    payment.step(&is(OutgoingPaymentStatus::Pending), lease);
    assert_eq!(payment.step(&replies(1, Err(LightningError::NotSent)), lease), StepResult::Ignored);
}

#[test]
fn stored_name_is_pinned() {
    let state = restored(Operation::OutgoingPayment(started())).to_state().unwrap();
    assert!(state.0.starts_with(r#"{"operation":"own_payment","#), "{}", state.0);
}
