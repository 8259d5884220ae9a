//! What look-ups prove and what they do not prove.

use super::*;

/// From then on a request that was signed at [`NOW`] is void, whatever the clocks show.
const VOID: u64 = 60 + 60;

/// A payment without a reply.
fn unanswered() -> OutgoingPayment {
    let mut payment = sent();
    asks_to_look_up(payment.step(&replies(1, Err(unknown())), after(65)));
    payment
}

/// Feeds this look-up result until the operation ends; returns when it ended, its outcome and its reason.
fn looked_up_until_the_end(
    payment: &mut OutgoingPayment,
    result: &Input,
    from: UnixMillis,
) -> (UnixMillis, String, String) {
    let mut now = from;
    for _ in 0..30_000 {
        let outcome = payment.step(result, now);
        if payment.is_done() {
            let (outcome, reason) = told(outcome);
            return (now, outcome, reason);
        }
        assert_eq!(effects(outcome), [], "after {:?}", now.since(NOW));
        now = payment.wake_at().unwrap();
        asks_to_look_up(payment.step(&Input::Timer, now));
    }
    panic!("it does not end")
}

#[test]
fn unknown_outcome_is_looked_up_with_growing_intervals() {
    let mut payment = unanswered();
    let (end, outcome, _) = looked_up_until_the_end(&mut payment, &not_found(LookupCoverage::None), after(65));
    assert_eq!(outcome, "unknown");
    assert!(end >= after(3600 + 600), "the invoice has expired, and ten minutes more");
    let mut looked_up = Vec::new();
    loop {
        let now = payment.wake_at().unwrap();
        let got = effects(payment.step(&Input::Timer, now));
        if got == [Effect::Finish] {
            break;
        }
        assert!(matches!(got[..], [Effect::CallLightning(LightningRequest::LookUpPayment { .. })]), "{got:?}");
        assert_eq!(payment.step(&not_found(LookupCoverage::None), now), StepResult::Ignored);
        looked_up.push(now.since(end).as_secs());
    }
    assert_eq!(looked_up[..6], [60, 120, 300, 600, 1200, 3600]);
    assert_eq!(looked_up.last(), Some(&(14 * 24 * 3600)));
    // The backend shows it at last.
    let got = effects(
        payment.step(&Input::PaymentStatus(Ok(OutgoingPaymentStatus::Paid(shown(7)))), payment.wake_at().unwrap()),
    );
    assert_eq!(event(&got).1["status"], "paid");
}

#[test]
fn provably_unpaid_attempt_is_followed_by_another() {
    let mut payment = unanswered();
    // Not before the request is void.
    for secs in [65, 100, VOID - 1] {
        assert_eq!(effects(payment.step(&not_found(LookupCoverage::Ended), after(secs))), []);
        assert!(payment.wake_at().unwrap() <= after(VOID), "and it is looked up as soon as it is");
    }
    let now = after(VOID);
    asks_to_prepare(payment.step(&not_found(LookupCoverage::Ended), now));
    let got = effects(payment.step(&Input::PaymentPrepared(Ok(signed(now))), now));
    assert!(matches!(
        &got[..],
        [Effect::CallLightning(LightningRequest::Pay { attempt: 2, again: false, payment, .. })]
            if payment.until == now.secs() + 60
    ));
    // The replies to the first one count only when they are a proof.
    assert_eq!(payment.step(&replies(1, Err(refused())), now), StepResult::Ignored);
    let got = effects(payment.step(&replies(1, Ok(shown(7))), now));
    assert_eq!(event(&got).1["status"], "paid");
}

/// Looks up until the end: the wallet replies to no request and does not know the payment. How it ends, and after how many
/// attempts.
fn never_answered(coverage: LookupCoverage) -> (String, u32) {
    let mut payment = unanswered();
    let mut now = after(65);
    let mut attempts = 1;
    loop {
        let outcome = payment.step(&not_found(coverage), now);
        if payment.is_done() {
            assert!(now >= after(TTL));
            return (told(outcome).0, attempts);
        }
        if matches!(payment.phase, Phase::Waiting { .. }) {
            attempts += 1;
            effects(payment.step(&Input::PaymentPrepared(Ok(signed(now))), now));
            now = now.plus(Duration::from_secs(65));
            asks_to_look_up(payment.step(&replies(attempts, Err(unknown())), now));
        } else {
            now = payment.wake_at().unwrap();
            asks_to_look_up(payment.step(&Input::Timer, now));
        }
    }
}

#[test]
fn not_paid_requires_look_ups_that_find_pending_payments() {
    let (outcome, attempts) = never_answered(LookupCoverage::InProgress);
    assert!(outcome == "not_paid" && attempts > 1, "{outcome} {attempts}");
    // An attempt may be under way all the time and arrive later.
    let (outcome, attempts) = never_answered(LookupCoverage::Ended);
    assert!(outcome == "unknown" && attempts > 1, "{outcome} {attempts}");
    assert_eq!(never_answered(LookupCoverage::None), ("unknown".to_owned(), 1));
}

#[test]
fn doubtful_attempt_is_unknown_if_no_other_can_be_sent() {
    for (coverage, expected) in [(LookupCoverage::Ended, "unknown"), (LookupCoverage::InProgress, "not_paid")] {
        let mut payment = unanswered();
        asks_to_prepare(payment.step(&not_found(coverage), after(VOID)));
        // No connection until the end.
        let away = Input::PaymentPrepared(Err(LightningError::NotSent));
        assert_eq!(effects(payment.step(&away, after(VOID + 1))), []);
        assert_eq!(told(payment.step(&Input::Timer, after(TTL))).0, expected, "{coverage:?}");
    }
}

#[test]
fn payment_failed_error_needs_confirmation_by_look_ups() {
    for (result, expected) in [
        (is(OutgoingPaymentStatus::Failed), "not_paid"),
        (not_found(LookupCoverage::InProgress), "not_paid"),
        // It may be under way, and not be found until it has arrived.
        (not_found(LookupCoverage::Ended), "unknown"),
        (not_found(LookupCoverage::None), "unknown"),
        (Input::PaymentStatus(Err(unknown())), "unknown"),
    ] {
        let mut payment = sent();
        asks_to_look_up(payment.step(&replies(1, Err(failing())), after(1)));
        let (_, outcome, reason) = looked_up_until_the_end(&mut payment, &result, after(1));
        assert_eq!((outcome.as_str(), reason.as_str()), (expected, "timed out (PAYMENT_FAILED)"), "{result:?}");
    }
}

#[test]
fn pending_payment_that_disappears_is_unknown() {
    let mut payment = unanswered();
    assert_eq!(effects(payment.step(&is(OutgoingPaymentStatus::Pending), after(70))), []);
    let (end, outcome, _) = looked_up_until_the_end(&mut payment, &not_found(LookupCoverage::InProgress), after(VOID));
    assert_eq!(outcome, "unknown");
    assert!(end >= NOW.plus(MAX_PENDING_TIME));
}

#[test]
fn payment_that_the_backend_calls_over_without_proof_ends_ten_minutes_after_its_invoice() {
    for was_pending in [false, true] {
        let mut payment = unanswered();
        if was_pending {
            assert_eq!(effects(payment.step(&is(OutgoingPaymentStatus::Pending), after(70))), []);
        }
        let (end, outcome, reason) =
            looked_up_until_the_end(&mut payment, &is(OutgoingPaymentStatus::Unproven), after(VOID));
        assert_eq!(outcome, "unknown");
        assert!(end >= after(3600 + 600) && end < after(3600 + 700), "{:?}", end.since(NOW));
        assert_eq!(reason, "the wallet was asked to pay and cannot say whether it did");
        let got = effects(payment.step(&is(OutgoingPaymentStatus::Paid(shown(7))), payment.wake_at().unwrap()));
        assert_eq!(event(&got).1["status"], "paid");
    }
    // That it does not know the payment any more proves nothing then, and it is not asked to pay again.
    let mut payment = unanswered();
    assert_eq!(effects(payment.step(&is(OutgoingPaymentStatus::Unproven), after(VOID))), []);
    let gone = not_found(LookupCoverage::InProgress);
    assert_eq!(looked_up_until_the_end(&mut payment, &gone, after(VOID + 1)).1, "unknown");
    assert_eq!(payment.attempts, 1);
    // Its state does.
    let mut payment = unanswered();
    assert_eq!(effects(payment.step(&is(OutgoingPaymentStatus::Unproven), after(VOID))), []);
    assert_eq!(told(payment.step(&is(OutgoingPaymentStatus::Failed), after(VOID + 1))).0, "not_paid");
}

#[test]
fn look_up_with_a_wrong_preimage_proves_nothing() {
    let mut payment = sent();
    asks_to_look_up(payment.step(&replies(1, Err(refused())), NOW));
    assert_eq!(effects(payment.step(&is(OutgoingPaymentStatus::Paid(shown(8))), NOW)), []);
    assert_eq!(effects(payment.step(&not_found(LookupCoverage::Ended), after(VOID))), []);
}

#[test]
fn refusal_is_trusted_if_look_ups_fail() {
    let mut payment = sent();
    asks_to_look_up(payment.step(&replies(1, Err(refused())), NOW));
    let away = Input::PaymentStatus(Err(unknown()));
    let (end, outcome, reason) = looked_up_until_the_end(&mut payment, &away, NOW);
    assert_eq!((outcome.as_str(), reason.as_str()), ("not_paid", "no route"));
    assert!(end < after(60));
}

#[test]
fn payment_is_found_after_days_without_look_ups() {
    let mut payment = unanswered();
    let back = after(6 * 86_400);
    let mut now = after(65);
    while now < back {
        payment.step(&Input::PaymentStatus(Err(LightningError::NotSent)), now);
        now = payment.wake_at().unwrap();
        let got = effects(payment.step(&Input::Timer, now));
        assert!(!got.contains(&Effect::Finish), "forgotten after {:?}", now.since(NOW));
    }
    let got = effects(payment.step(&is(OutgoingPaymentStatus::Paid(shown(7))), now));
    assert_eq!(event(&got).1["status"], "paid");
}

#[test]
fn pauses_between_look_ups_after_the_end_stay_when_the_clock_leaps_ahead() {
    let (mut payment, now) = (sent(), after(400 * 24 * 3600));
    let away = Input::PaymentStatus(Err(unknown()));
    asks_to_look_up(payment.step(&replies(1, Err(unknown())), after(65)));
    assert_eq!(told(payment.step(&away, now)).0, "unknown");
    let leapt = payment.wake_at().unwrap().plus(Duration::from_secs(30 * 24 * 3600));
    asks_to_look_up(payment.step(&Input::Timer, leapt));
    assert_eq!(payment.wake_at().unwrap(), leapt.plus(Duration::from_secs(60)), "after 60 and 120 s");
}
