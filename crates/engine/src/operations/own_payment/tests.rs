use proptest::prelude::*;
use serde_json::json;
use usher_protocol::message::Preimage;

use super::super::fixtures::{NOW, effects, event, invoice};
use super::super::{Effect, Input, Operation, Outcome, WalletCall};
use super::*;

const PREIMAGE: Preimage = Preimage::from_bytes([7; 32]);

fn started() -> OwnPayment {
    let (state, effects) = OwnPayment::start(invoice(5_000, PREIMAGE, 3600), Some("p-1".to_owned()), NOW);
    assert!(matches!(&effects[..], [Effect::Ask(WalletCall::Pay { until, .. })] if *until == NOW.secs() + 60));
    state
}

fn shown(byte: u8) -> PaidInvoice {
    PaidInvoice { preimage: Preimage::from_bytes([byte; 32]), fees_paid: Some(3) }
}

fn unknown() -> LightningError {
    LightningError::Unknown("silence".to_owned())
}

fn refused() -> LightningError {
    LightningError::Refused { again: false, reason: "no route".to_owned() }
}

fn asks_to_look_up(outcome: Outcome) {
    assert!(matches!(&effects(outcome)[..], [Effect::Ask(WalletCall::LookUpPayment(_))]));
}

#[test]
fn the_preimage_is_the_proof() {
    let mut payment = started();
    let got = effects(payment.step(&Input::Paid(Ok(shown(7))), NOW));
    let data = json!({ "status": "paid", "preimage": PREIMAGE.to_hex(), "fees_paid": 3, "request_id": "p-1" });
    assert_eq!(event(&got), ("StatusUpdate", data));
    assert!(payment.is_done());
    assert_eq!(payment.step(&Input::Paid(Ok(shown(7))), NOW), Outcome::Ignored, "once");
    // Until the invoice has expired it is remembered: asked for again, it is this one.
    assert!(payment.wake_at().secs() >= NOW.secs() + 3600);
    let end = payment.wake_at();
    assert_eq!(effects(payment.step(&Input::Timer, end)), [Effect::Finish]);
}

#[test]
fn a_preimage_of_something_else_proves_nothing() {
    let mut payment = started();
    asks_to_look_up(payment.step(&Input::Paid(Ok(shown(8))), NOW));
    assert!(!payment.is_done());
    assert_eq!(payment.step(&Input::Paid(Ok(shown(8))), NOW), Outcome::Ignored);
}

#[test]
fn a_wallet_that_was_not_reached_is_asked_again_for_two_minutes() {
    let mut payment = started();
    let mut now = NOW;
    let mut asked = 1;
    while !payment.is_done() {
        let got = effects(payment.step(&Input::Paid(Err(LightningError::NotSent)), now));
        if payment.is_done() {
            assert_eq!(event(&got).1["outcome"], "not_paid");
            break;
        }
        assert_eq!(got, []);
        now = payment.wake_at();
        let got = effects(payment.step(&Input::Timer, now));
        assert!(matches!(&got[..], [Effect::Ask(WalletCall::Pay { .. })]));
        asked += 1;
    }
    assert!(asked > 5 && now < NOW.plus(REACHING), "{asked}");
}

#[test]
fn a_refusal_is_confirmed_before_it_is_believed() {
    let mut payment = started();
    asks_to_look_up(payment.step(&Input::Paid(Err(refused())), NOW));
    let got = effects(payment.step(&Input::PaymentStatus(Ok(OutgoingStatus::Unknown)), NOW));
    let data = json!({ "status": "error", "outcome": "not_paid", "reason": "no route", "request_id": "p-1" });
    assert_eq!(event(&got).1, data);

    let mut payment = started();
    asks_to_look_up(payment.step(&Input::Paid(Err(refused())), NOW));
    assert_eq!(effects(payment.step(&Input::PaymentStatus(Ok(OutgoingStatus::Pending)), NOW)), []);
    let got = effects(payment.step(&Input::PaymentStatus(Ok(OutgoingStatus::Paid(shown(7)))), NOW));
    assert_eq!(event(&got).1["status"], "paid");
}

#[test]
fn what_the_wallet_says_has_failed_is_not_believed_to_be_unpaid_until_a_look_up_says_so() {
    let failing = || LightningError::Failed("timed out (PAYMENT_FAILED)".to_owned());
    let away = Input::PaymentStatus(Err(unknown()));
    for status in [OutgoingStatus::Unknown, OutgoingStatus::Failed] {
        let mut payment = started();
        asks_to_look_up(payment.step(&Input::Paid(Err(failing())), NOW));
        let mut now = NOW;
        // The wallet cannot be asked for a while.
        for _ in 0..10 {
            assert_eq!(effects(payment.step(&away, now)), []);
            now = payment.wake_at();
            asks_to_look_up(payment.step(&Input::Timer, now));
        }
        let got = effects(payment.step(&Input::PaymentStatus(Ok(status)), now));
        let data = event(&got).1;
        assert_eq!((&data["outcome"], &data["reason"]), (&json!("not_paid"), &json!("timed out (PAYMENT_FAILED)")));
    }
    // Or never again.
    let mut payment = started();
    payment.step(&Input::Paid(Err(failing())), NOW);
    let mut now = NOW;
    let data = loop {
        let got = effects(payment.step(&away, now));
        if payment.is_done() {
            break event(&got).1;
        }
        now = payment.wake_at();
        payment.step(&Input::Timer, now);
    };
    assert_eq!((&data["outcome"], &data["reason"]), (&json!("unknown"), &json!("timed out (PAYMENT_FAILED)")));
}

#[test]
fn after_a_crash_it_is_looked_up_and_not_sent() {
    asks_to_look_up(started().step(&Input::Resumed, NOW));
    let mut payment = started();
    let lease = payment.wake_at();
    asks_to_look_up(payment.step(&Input::Timer, lease));
}

#[test]
fn what_was_not_sent_after_all_is_no_mystery() {
    // The answer comes when it is looked up already: the line to the wallet was long.
    let checking = || {
        let mut payment = started();
        let lease = payment.wake_at();
        asks_to_look_up(payment.step(&Input::Timer, lease));
        assert_eq!(effects(payment.step(&Input::PaymentStatus(Ok(OutgoingStatus::Unknown)), lease)), []);
        (payment, lease)
    };
    let (mut payment, now) = checking();
    assert_eq!(effects(payment.step(&Input::Paid(Err(LightningError::NotSent)), now)), []);
    let at = payment.wake_at();
    assert!(matches!(&effects(payment.step(&Input::Timer, at))[..], [Effect::Ask(WalletCall::Pay { .. })]));

    let (mut payment, _) = checking();
    let late = NOW.plus(REACHING);
    let got = effects(payment.step(&Input::Paid(Err(LightningError::NotSent)), late));
    assert_eq!(event(&got).1["outcome"], "not_paid");

    // It says nothing of a payment that the wallet has been seen to make.
    let (mut payment, now) = checking();
    payment.step(&Input::PaymentStatus(Ok(OutgoingStatus::Pending)), now);
    assert_eq!(payment.step(&Input::Paid(Err(LightningError::NotSent)), now), Outcome::Ignored);
}

#[test]
fn what_nobody_can_say_ends_as_unknown_and_may_still_be_paid() {
    let mut payment = started();
    asks_to_look_up(payment.step(&Input::Paid(Err(unknown())), NOW));
    let mut now = NOW;
    let mut told = Vec::new();
    for _ in 0..10_000 {
        told = effects(payment.step(&Input::PaymentStatus(Ok(OutgoingStatus::Unknown)), now));
        if payment.is_done() {
            break;
        }
        now = payment.wake_at();
        asks_to_look_up(payment.step(&Input::Timer, now));
    }
    assert_eq!(event(&told).1["outcome"], "unknown");
    assert!(now >= NOW.plus(Duration::from_secs(3600 + 600)), "the invoice has expired, and ten minutes more");
    let got = effects(payment.step(&Input::Paid(Ok(shown(7))), now));
    assert_eq!(event(&got).1["status"], "paid");
}

#[test]
fn what_was_paid_is_found_when_nobody_could_ask_for_days() {
    let mut payment = started();
    payment.step(&Input::Paid(Err(unknown())), NOW);
    let back = NOW.plus(Duration::from_secs(6 * 86_400));
    let mut now = NOW;
    while now < back {
        payment.step(&Input::PaymentStatus(Err(LightningError::NotSent)), now);
        now = payment.wake_at();
        let got = effects(payment.step(&Input::Timer, now));
        assert!(!got.contains(&Effect::Finish), "forgotten after {:?}", now.since(NOW));
    }
    let got = effects(payment.step(&Input::PaymentStatus(Ok(OutgoingStatus::Paid(shown(7)))), now));
    assert_eq!(event(&got).1["status"], "paid");
}

fn input() -> impl Strategy<Value = Input> {
    let paid = prop_oneof![Just(7_u8), Just(8)].prop_map(shown);
    let failure = prop_oneof![Just(LightningError::NotSent), Just(refused()), Just(unknown())];
    let status = prop_oneof![
        paid.clone().prop_map(OutgoingStatus::Paid),
        Just(OutgoingStatus::Pending),
        Just(OutgoingStatus::Failed),
        Just(OutgoingStatus::Unknown),
    ];
    prop_oneof![
        4 => Just(Input::Timer),
        1 => Just(Input::Resumed),
        1 => paid.prop_map(|paid| Input::Paid(Ok(paid))),
        3 => failure.clone().prop_map(|failure| Input::Paid(Err(failure))),
        3 => status.prop_map(|status| Input::PaymentStatus(Ok(status))),
        1 => failure.prop_map(|failure| Input::PaymentStatus(Err(failure))),
    ]
}

proptest! {
    #[test]
    fn it_is_asked_for_again_only_when_it_was_not_sent(inputs in prop::collection::vec(input(), 0..60)) {
        let mut operation = Operation::OwnPayment(started());
        let mut now = NOW;
        // The request that is out, as far as anybody knows.
        let (mut may_be_out, mut ends, mut paid) = (true, 0, 0);
        for input in inputs {
            if input_is_timer(&input) {
                now = operation.wake_at().unwrap_or(now).max(now);
            }
            let not_sent = matches!(input, Input::Paid(Err(LightningError::NotSent)));
            if let Outcome::Stepped(effects) = operation.step(&input, now) {
                if not_sent {
                    may_be_out = false;
                }
                for effect in effects {
                    match effect {
                        Effect::Ask(WalletCall::Pay { .. }) => {
                            prop_assert!(!may_be_out, "sent while an earlier request may be under way");
                            may_be_out = true;
                        }
                        Effect::Emit(event) if event.data.contains("\"paid\"") => paid += 1,
                        Effect::Emit(_) => ends += 1,
                        Effect::Finish => return Ok(()),
                        _ => {}
                    }
                }
            }
            prop_assert!(paid <= 1 && ends <= 1);
            prop_assert!(operation.is_done() == (paid + ends > 0));
            let stored = operation.to_state().unwrap();
            prop_assert_eq!(&Operation::from_state(&stored).unwrap(), &operation);
        }
    }
}

fn input_is_timer(input: &Input) -> bool {
    matches!(input, Input::Timer)
}
