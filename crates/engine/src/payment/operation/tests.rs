use lightning_invoice::Currency as Coin;
use proptest::prelude::*;
use serde_json::json;
use usher_protocol::subkey::Permission;

use super::*;
use crate::operations::fixtures::{NOW, cannot_read, device, effects, event, invoice, invoice_on, payment_says, user};
use crate::operations::{ChargeEnd, Charged, Effect, Input, LightningRequest, Operation, Signal, StepResult};
use crate::ports::{InvoiceStatus, LightningError, PaymentRecordStatus, Settlement, WantedInvoice};

pub(super) const PREIMAGE: Preimage = Preimage::from_bytes([7; 32]);
const WRONG: Preimage = Preimage::from_bytes([8; 32]);
const END: UnixMillis = UnixMillis(NOW.0 + 300_000);

pub(super) fn terms() -> PaymentTerms {
    PaymentTerms {
        payer: Some(Payer { main_key: user(1).public_key(), subkeys: vec![user(2).public_key()] }),
        request_id: "ours".to_owned(),
        reference: Some("theirs".to_owned()),
        description: "Coffee".to_owned(),
        subscription: None,
        of_link: None,
        expires_at: END,
    }
}

pub(super) fn making() -> Payment {
    let (payment, effects) = Payment::to_us(terms(), 5_000, Network::Regtest, NOW);
    let description = "Coffee".to_owned();
    let wanted = WantedInvoice { amount: 5_000, description, hashed: None, is_for_anybody: false, expiry: 300 };
    assert_eq!(effects, [Effect::CallLightning(LightningRequest::MakeInvoice(wanted))]);
    payment
}

fn asking() -> Payment {
    let mut payment = making();
    let made = effects(payment.step(&Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 300))), NOW));
    let [Effect::Send(message)] = &made[..] else { panic!("{made:?}") };
    assert_eq!((message.kind, message.until), (28_000, END));
    let content: serde_json::Value = serde_json::from_str(&message.content).unwrap();
    assert_eq!((&content["amount"], &content["request_id"]), (&json!(5_000), &json!("ours")));
    assert_eq!(payment.watched(), Some(PREIMAGE.payment_hash()));
    payment
}

pub(super) fn says(status: PaymentStatus) -> Input {
    payment_says(&user(1), "ours", status)
}

pub(super) fn success(preimage: Option<Preimage>) -> Input {
    says(PaymentStatus::Success { preimage })
}

fn failed(reason: &str) -> Input {
    says(PaymentStatus::Failed { reason: Some(reason.to_owned()) })
}

pub(super) fn settled(amount: u64, preimage: Option<Preimage>) -> Settlement {
    Settlement { amount: Some(amount), skimmed_fee: 0, fees_paid: 0, preimage }
}

fn looked_up(status: InvoiceStatus) -> Input {
    Input::InvoiceStatus(Ok(status))
}

fn status(effects: &[Effect]) -> String {
    event(effects).1["status"].as_str().unwrap().to_owned()
}

/// Whole sats are enough. What a liquidity provider or the wallet kept was paid by the payer; wallets report the amount
/// before that or after it.
#[test]
fn settlement_is_paid_once_if_it_is_enough_and_what_was_kept_is_told() {
    for (asked, amount, skimmed_fee, fees_paid, expected) in [
        (5_000, Some(5_000), 0, 0, Some((None, None))),
        (5_000, Some(4_999), 0, 0, None),
        (5_000, Some(3_000), 2_000, 0, Some((Some(3_000), Some(2_000)))),
        (5_000, Some(2_999), 2_000, 0, None),
        (5_000, Some(5_000), 0, 400, Some((Some(4_600), Some(400)))),
        (5_000, Some(4_600), 0, 400, Some((Some(4_600), Some(400)))),
        (5_000, None, 0, 400, Some((Some(4_600), Some(400)))),
        (5_000, Some(4_599), 0, 400, None),
        (1_500, Some(1_000), 0, 0, Some((None, None))),
        (1_500, Some(999), 0, 0, None),
    ] {
        let mut payment = Payment::to_us(terms(), asked, Network::Regtest, NOW).0;
        payment.step(&Input::InvoiceMade(Ok(invoice(asked, PREIMAGE, 300))), NOW);
        let settlement = Settlement { amount, skimmed_fee, fees_paid, preimage: Some(PREIMAGE) };
        let result = payment.step(&Input::Settled(settlement.clone()), NOW);
        let Some((received, kept)) = expected else {
            assert_eq!(result, StepResult::Ignored, "{settlement:?}");
            continue;
        };
        let got = effects(result);
        let mut data = json!({ "status": "paid", "preimage": PREIMAGE.to_hex(), "request_id": "theirs" });
        for (name, value) in [("amount_received", received), ("skimmed_fee", kept)] {
            if let Some(value) = value {
                data[name] = json!(value);
            }
        }
        assert_eq!(event(&got).1, data, "{settlement:?}");
        assert!(got.contains(&Effect::Finish) && payment.is_done());
        if fees_paid > 0 {
            let record = payment.payment_record().unwrap();
            assert_eq!((record.amount, record.settled, record.fee), (5_000, Some(4_600), Some(400)));
        }
    }
}

#[test]
fn underpayment_or_wrong_preimage_is_not_a_settlement() {
    let mut payment = asking();
    for settlement in [settled(4_999, Some(PREIMAGE)), settled(5_000, Some(WRONG))] {
        assert_eq!(payment.step(&Input::Settled(settlement.clone()), NOW), StepResult::Ignored);
        payment.step(&looked_up(InvoiceStatus::Open), NOW);
        assert_eq!(effects(payment.step(&looked_up(InvoiceStatus::Settled(settlement.clone())), NOW)), []);
        assert_eq!(payment.step(&looked_up(InvoiceStatus::Settled(settlement)), NOW), StepResult::Ignored, "no write");
    }
}

#[test]
fn contradictory_settlement_is_looked_up_again_and_never_silently_not_paid() {
    for contradiction in [
        InvoiceStatus::Disputed,
        InvoiceStatus::Settled(settled(5_000, Some(WRONG))),
        InvoiceStatus::Settled(settled(1, None)),
    ] {
        let mut payment = asking();
        effects(payment.step(&Input::Timer, END));
        let mut now = END;
        let outcome = loop {
            let outcome = effects(payment.step(&looked_up(contradiction.clone()), now));
            if payment.is_done() {
                break outcome;
            }
            now = payment.wake_at();
            let got = effects(payment.step(&Input::Timer, now));
            if payment.is_done() {
                break got;
            }
        };
        assert!(now >= END.plus(super::CLOSING));
        let (_, data) = event(&outcome);
        assert_eq!((&data["status"], &data["outcome"]), (&json!("error"), &json!("unknown")));
        assert_eq!(payment.payment_record().unwrap().status, PaymentRecordStatus::Unknown);
        // It is not forgotten while the wallet insists.
        let leaving = payment.wake_at();
        effects(payment.step(&Input::Timer, leaving));
        assert_eq!(payment.step(&looked_up(contradiction), leaving), StepResult::Ignored);
        let mut late = payment.clone();
        let got = effects(late.step(&looked_up(InvoiceStatus::Settled(settled(5_000, Some(PREIMAGE)))), leaving));
        assert_eq!(status(&got), "paid");
        assert_eq!(effects(payment.step(&looked_up(InvoiceStatus::Open), leaving)), [Effect::Finish]);
        assert_eq!(payment.payment_record().unwrap().status, PaymentRecordStatus::NotPaid);
    }
}

#[test]
fn finished_payment_is_removed_only_after_a_conclusive_look_up() {
    let over = || {
        let mut payment = asking();
        payment.step(&says(PaymentStatus::Rejected { reason: None }), NOW);
        let leaving = payment.wake_at();
        assert!(leaving >= NOW.plus(super::LINGER));
        // The Lightning backend could not be reached so far: the payment waits for the next reply.
        assert_eq!(effects(payment.step(&Input::Timer, leaving)), []);
        assert!(payment.is_done() && payment.watched().is_some());
        (payment, leaving)
    };
    let (mut payment, at) = over();
    assert_eq!(payment.step(&Input::InvoiceStatus(Err(LightningError::NotSent)), at), StepResult::Ignored);
    let later = at.plus(Duration::from_secs(3 * 86_400));
    let got = effects(payment.step(&looked_up(InvoiceStatus::Settled(settled(5_000, Some(PREIMAGE)))), later));
    assert_eq!(status(&got), "paid", "an outage of days");
    assert!(got.contains(&Effect::Finish));

    let (mut payment, at) = over();
    assert_eq!(effects(payment.step(&looked_up(InvoiceStatus::Open), at)), [Effect::Finish]);

    // A backend that never replies again is given up.
    let (mut payment, at) = over();
    let end = payment.wake_at();
    assert_eq!(end, at.plus(super::MAX_LINGER));
    assert_eq!(effects(payment.step(&Input::Timer, end)), [Effect::Finish]);
}

#[test]
fn claim_of_payment_only_triggers_a_look_up() {
    for preimage in [None, Some(WRONG), Some(PREIMAGE)] {
        let mut payment = asking();
        let pause = |at: UnixMillis| Effect::Pause(at.plus(Duration::from_secs(300)));
        assert_eq!(effects(payment.step(&success(preimage), NOW)), [Effect::LookUp, pause(NOW)]);
        assert_eq!(payment.step(&success(preimage), NOW), StepResult::Ignored, "not again at once");
        let later = NOW.plus(Duration::from_secs(6));
        assert_eq!(effects(payment.step(&success(preimage), later)), [Effect::LookUp, pause(later)]);
        assert!(!payment.is_done());
    }
    // If the Lightning backend reports the settlement without a preimage, the payer's preimage is the proof.
    let mut payment = asking();
    payment.step(&success(Some(PREIMAGE)), NOW);
    let got = effects(payment.step(&looked_up(InvoiceStatus::Settled(settled(5_000, None))), NOW));
    assert_eq!(event(&got).1["preimage"], PREIMAGE.to_hex());
}

#[test]
fn approval_failure_and_rejection_are_reported() {
    let mut payment = asking();
    assert_eq!(status(&effects(payment.step(&says(PaymentStatus::Approved), NOW))), "user_approved");
    assert_eq!(payment.step(&says(PaymentStatus::Approved), NOW), StepResult::Ignored);
    assert_eq!(event(&effects(payment.step(&failed("a"), NOW))).1["reason"], "a");
    assert_eq!(payment.step(&failed("a"), NOW), StepResult::Ignored, "the same twice is one");
    for number in 1..super::wallet_messages::MAX_FAILURES {
        assert_eq!(status(&effects(payment.step(&failed(&format!("{number}")), NOW))), "user_failed");
    }
    assert_eq!(payment.step(&failed("once too often"), NOW), StepResult::Ignored);
    let got = effects(payment.step(&says(PaymentStatus::Rejected { reason: None }), NOW));
    assert_eq!(event(&got).1["paid_late_until"], NOW.secs() + 24 * 3600);
    assert!(got.contains(&Effect::ClearOutbox) && !got.contains(&Effect::Finish));
    assert!(payment.is_done() && payment.watched().is_some(), "money may come");
    assert_eq!(payment.step(&says(PaymentStatus::Approved), NOW), StepResult::Ignored);
    let got = effects(payment.step(&Input::Settled(settled(5_000, Some(PREIMAGE))), NOW));
    assert_eq!(status(&got), "paid");
}

#[test]
fn reply_pauses_repetition_for_five_minutes() {
    let pause = Effect::Pause(NOW.plus(Duration::from_secs(300)));
    for answer in [says(PaymentStatus::Approved), failed("a"), success(None), success(Some(PREIMAGE))] {
        let mut own = asking();
        assert!(effects(own.step(&answer, NOW)).contains(&pause), "{answer:?}");
        // A device that cannot decrypt the request is known to be the user's, but it is not asked.
        let (key, proof) = device(&user(1), 4, Permission::Payment);
        assert_eq!(own.step(&cannot_read(key, proof), NOW), StepResult::Stepped(Vec::new()));
    }
    // Of another's invoice a claim without proof ends nothing; it is no reason to make the wallet pay again.
    let (mut other, _) = Payment::of_invoice(terms(), 5_000, invoice(5_000, PREIMAGE, 300));
    assert_eq!(effects(other.step(&success(None), NOW)), [pause]);
    assert_eq!(other.step(&success(None), NOW), StepResult::Ignored, "the same twice is one");
    assert_eq!(status(&effects(other.step(&success(Some(PREIMAGE)), NOW))), "paid");
    // After the end there is no message to postpone.
    let mut over = asking();
    over.step(&says(PaymentStatus::Rejected { reason: None }), NOW);
    assert_eq!(effects(over.step(&success(None), NOW)), [Effect::LookUp]);
}

#[test]
fn only_the_users_messages_are_accepted() {
    let mut payment = asking();
    let stranger = payment_says(&user(9), "ours", PaymentStatus::Rejected { reason: None });
    assert_eq!(payment.step(&stranger, NOW), StepResult::Ignored);
    let other = payment_says(&user(1), "another", PaymentStatus::Rejected { reason: None });
    assert_eq!(payment.step(&other, NOW), StepResult::Ignored);
    // A device may log in, and not pay.
    let (key, proof) = device(&user(1), 3, Permission::Auth);
    assert_eq!(payment.step(&cannot_read(key, proof), NOW), StepResult::Ignored);
    let (key, proof) = device(&user(1), 4, Permission::Payment);
    let got = effects(payment.step(&cannot_read(key, proof), NOW));
    assert!(matches!(&got[..], [Effect::SendAlso(message)] if message.recipients == [key]));
    let named = payment_says(&user(2), "ours", PaymentStatus::Approved);
    assert_eq!(status(&effects(payment.step(&named, NOW))), "user_approved");
}

#[test]
fn invoice_is_looked_up_once_more_before_the_timeout() {
    let asked = |payment: &mut Payment, at| {
        let got = effects(payment.step(&Input::Timer, at));
        assert_eq!(
            got,
            [Effect::ClearOutbox, Effect::CallLightning(LightningRequest::LookUpInvoice(PREIMAGE.payment_hash()))]
        );
    };
    let mut payment = asking();
    assert_eq!(payment.step(&Input::Timer, UnixMillis(END.0 - 1)), StepResult::Ignored);
    asked(&mut payment, END);
    let got = effects(payment.step(&looked_up(InvoiceStatus::Settled(settled(5_000, Some(PREIMAGE)))), END));
    assert_eq!(status(&got), "paid");

    for answer in [InvoiceStatus::Open, InvoiceStatus::Dead, InvoiceStatus::Unknown] {
        let mut payment = asking();
        asked(&mut payment, END);
        assert_eq!(status(&effects(payment.step(&looked_up(answer), END))), "timeout");
        assert!(payment.is_done() && payment.watched().is_some());
        let got = effects(payment.step(&Input::Settled(settled(5_000, Some(PREIMAGE))), END));
        assert_eq!(status(&got), "paid", "money is money");
    }

    // A silent backend delays the end by a minute, also if the service was down at that time.
    // A charge that the service makes by itself has more time, for there may be very many of them.
    let charge = Some(Charge { number: 1, due: 7, attempt: 0 });
    let link = SubscriptionLink { subscription_id: "s".to_owned(), charge };
    let linger = END.plus(super::LINGER);
    for (begin, link, patience) in
        [(END, None, super::CLOSING), (linger, None, super::CLOSING), (END, Some(link), super::CLOSING_CHARGE)]
    {
        let mut payment = asking();
        payment.subscription = link;
        asked(&mut payment, begin);
        let mut now = begin;
        while !payment.is_done() {
            payment.step(&Input::InvoiceStatus(Err(LightningError::NotSent)), now);
            now = payment.wake_at();
            payment.step(&Input::Timer, now);
        }
        assert!(now >= begin.plus(patience) && now <= begin.plus(patience + super::CLOSING));
    }
}

#[test]
fn mismatching_invoice_is_never_shown() {
    let bad =
        [invoice(4_999, PREIMAGE, 300), invoice(5_001, PREIMAGE, 300), invoice_on(Coin::Bitcoin, 5_000, PREIMAGE, 300)];
    for bad in bad {
        let mut payment = making();
        let got = effects(payment.step(&Input::InvoiceMade(Ok(bad)), NOW));
        assert_eq!(status(&got), "error");
        assert!(got.contains(&Effect::Finish));
    }
    let mut payment = making();
    let got = effects(payment.step(&Input::CorrelationTaken, NOW));
    assert_eq!(status(&got), "error");
}

#[test]
fn payment_expires_with_its_invoice() {
    let mut payment = making();
    let made = effects(payment.step(&Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 100))), NOW));
    let [Effect::Send(message)] = &made[..] else { panic!("{made:?}") };
    let end = NOW.plus(Duration::from_secs(100));
    let content: serde_json::Value = serde_json::from_str(&message.content).unwrap();
    assert_eq!((&content["expires_at"], message.until), (&json!(end.secs().to_string()), end));
    assert_eq!(payment.wake_at(), end, "nobody can pay it later");
    // As a rule it is asked for in the middle of a second, and lives as long as the request.
    let now = UnixMillis(NOW.0 + 900);
    let (mut payment, got) = Payment::to_us(terms(), 5_000, Network::Regtest, now);
    assert!(matches!(&got[..], [Effect::CallLightning(LightningRequest::MakeInvoice(new))] if new.expiry == 300));
    payment.step(&Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 300))), now);
    assert_eq!(payment.wake_at(), END);
}

#[test]
fn failed_invoice_creation_is_retried_for_a_minute() {
    let refused = |again| LightningError::Refused { again, reason: "no".to_owned() };
    let mut payment = making();
    assert_eq!(status(&effects(payment.step(&Input::InvoiceMade(Err(refused(false))), NOW))), "error");
    for failure in [refused(true), LightningError::NotSent, LightningError::Unknown("silence".to_owned())] {
        let mut payment = making();
        let (mut now, mut asked) = (NOW, 1);
        let told = loop {
            let got = effects(payment.step(&Input::InvoiceMade(Err(failure.clone())), now));
            if payment.is_done() {
                break got;
            }
            now = payment.wake_at();
            let got = effects(payment.step(&Input::Timer, now));
            assert!(matches!(&got[..], [Effect::CallLightning(LightningRequest::MakeInvoice(_))]));
            asked += 1;
        };
        assert_eq!(status(&told), "error");
        assert!(asked > 5 && now < NOW.plus(super::MAKING), "{asked}");
    }
    // A wallet of whole sats refuses with any code, or leaves the fraction out.
    let made = invoice(5_000, PREIMAGE, 300);
    for refusal in [Err(LightningError::Unknown("INTERNAL".to_owned())), Ok(made)] {
        let (mut payment, _) = Payment::to_us(terms(), 5_500, Network::Regtest, NOW);
        let told = effects(payment.step(&Input::InvoiceMade(refusal), NOW));
        assert!(event(&told).1["reason"].as_str().unwrap().contains("whole sats only"), "{told:?}");
        assert!(payment.is_done());
    }
    // After a crash it is asked at once, else when the lease has run out.
    let mut payment = making();
    assert!(matches!(
        &effects(payment.step(&Input::Resumed, NOW))[..],
        [Effect::CallLightning(LightningRequest::MakeInvoice(_))]
    ));
}

#[test]
fn charge_retries_invoice_creation_for_half_of_its_time() {
    // No user waits for it, and all monthly payments fall due at the same instant.
    let charge = Some(Charge { number: 1, due: 7, attempt: 0 });
    let subscription = Some(SubscriptionLink { subscription_id: "s".to_owned(), charge });
    let end = NOW.plus(Duration::from_secs(3600));
    let terms = PaymentTerms { subscription, expires_at: end, ..terms() };
    let mut payment = Payment::to_us(terms, 5_000, Network::Regtest, NOW).0;
    let (mut now, mut asked) = (NOW, 1);
    while !payment.is_done() {
        payment.step(&Input::InvoiceMade(Err(LightningError::NotSent)), now);
        if !payment.is_done() {
            now = payment.wake_at();
            payment.step(&Input::Timer, now);
            asked += 1;
        }
    }
    let half = Duration::from_secs(1800);
    assert!(now >= NOW.plus(half - Duration::from_secs(60)) && now <= NOW.plus(half), "{now:?}");
    assert!((30..=45).contains(&asked), "{asked}");
}

#[test]
fn external_invoice_is_paid_only_with_a_valid_preimage() {
    let external = || Payment::of_invoice(terms(), 5_000, invoice(5_000, PREIMAGE, 7200)).0;
    let mut payment = external();
    assert_eq!(payment.watched(), None);
    assert!(!effects(payment.step(&success(None), NOW)).iter().any(|effect| matches!(effect, Effect::Emit(_))));
    assert_eq!(payment.step(&success(Some(WRONG)), NOW), StepResult::Ignored);
    let got = effects(payment.step(&success(Some(PREIMAGE)), NOW));
    assert_eq!(status(&got), "paid");
    assert!(!got.contains(&Effect::Finish), "remembered until nobody can ask for it again");
    assert!(payment.wake_at().secs() >= NOW.secs() + 7200);
    assert_eq!(payment.step(&success(Some(PREIMAGE)), NOW), StepResult::Ignored);

    let mut payment = external();
    assert_eq!(status(&effects(payment.step(&Input::Timer, END))), "timeout");
    assert_eq!(status(&effects(payment.step(&success(Some(PREIMAGE)), END))), "paid");
}

#[test]
fn subscription_is_notified_of_its_payments() {
    let link = |charge| Some(SubscriptionLink { subscription_id: "s".to_owned(), charge });
    let charge = Charge { number: 2, due: 7, attempt: 1 };
    for charge in [None, Some(charge)] {
        let terms = PaymentTerms { subscription: link(charge), ..terms() };
        let mut payment = Payment::to_us(terms, 5_000, Network::Regtest, NOW).0;
        payment.step(&Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 300))), NOW);
        let signals = |effects: &[Effect]| -> Vec<Signal> {
            let signals = effects.iter().filter_map(|effect| match effect {
                Effect::Signal(key, signal) => Some((key, signal.clone())),
                _ => None,
            });
            signals
                .map(|(key, signal)| {
                    assert_eq!(*key, CorrelationKey::subscription("s"));
                    signal
                })
                .collect()
        };
        let (key, proof) = device(&user(1), 4, Permission::Payment);
        let proven = signals(&effects(payment.step(&cannot_read(key, proof.clone()), NOW)));
        assert_eq!(proven, [Signal::DeviceProven { key, proof }]);
        let rejected = signals(&effects(payment.step(&says(PaymentStatus::Rejected { reason: None }), NOW)));
        let paid = signals(&effects(payment.step(&Input::Settled(settled(5_000, Some(PREIMAGE))), NOW)));
        match charge {
            None => {
                assert_eq!(rejected, [Signal::NotPaid { request_id: "ours".to_owned() }]);
                assert_eq!(paid, [Signal::Paid { request_id: "ours".to_owned() }]);
            }
            Some(charge) => {
                let end = ChargeEnd::Failed { status: "user_rejected".to_owned(), reason: None, may_be_paid: false };
                assert_eq!(rejected, [Signal::Charged(Charged { charge, end, price: None })]);
                assert_eq!(
                    paid,
                    [Signal::Charged(Charged { charge, end: ChargeEnd::Paid(Some(PREIMAGE)), price: None })]
                );
            }
        }
    }
}

#[test]
fn withdrawn_payment_is_not_requested_but_still_reports_money() {
    let withdrawn = Input::Signal(Signal::CancelPayment);
    let mut payment = asking();
    assert_eq!(effects(payment.step(&withdrawn, NOW)), [Effect::ClearOutbox]);
    assert_eq!(payment.step(&withdrawn, NOW), StepResult::Ignored);
    let (key, proof) = device(&user(1), 4, Permission::Payment);
    assert_eq!(payment.step(&cannot_read(key, proof), NOW), StepResult::Ignored, "no device is asked either");
    assert_eq!(status(&effects(payment.step(&Input::Settled(settled(5_000, Some(PREIMAGE))), NOW))), "paid");

    let made = Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 300)));
    let failure = Input::InvoiceMade(Err(LightningError::NotSent));
    for input in [made, failure, Input::Timer] {
        let mut payment = making();
        assert_eq!(effects(payment.step(&withdrawn, NOW)), []);
        let now = payment.wake_at();
        let got = effects(payment.step(&input, now));
        assert_eq!(status(&got), "error");
        assert!(got.contains(&Effect::Finish), "nobody has seen an invoice");
    }
}

fn input() -> impl Strategy<Value = Input> {
    let preimage = prop_oneof![Just(None), Just(Some(PREIMAGE)), Just(Some(WRONG))];
    let failure = || {
        prop_oneof![
            Just(LightningError::NotSent),
            Just(LightningError::Unknown("x".to_owned())),
            any::<bool>().prop_map(|again| LightningError::Refused { again, reason: "x".to_owned() }),
        ]
    };
    let settlement = || {
        (prop_oneof![Just(None), Just(Some(4_999)), Just(Some(5_000))], 0..3_u8).prop_map(|(amount, byte)| {
            let preimage = [None, Some(PREIMAGE), Some(WRONG)][usize::from(byte)];
            Settlement { amount, skimmed_fee: 0, fees_paid: 0, preimage }
        })
    };
    prop_oneof![
        6 => Just(Input::Timer),
        1 => Just(Input::Resumed),
        1 => Just(Input::CorrelationTaken),
        1 => Just(Input::Signal(Signal::CancelPayment)),
        3 => Just(Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 300)))),
        1 => failure().prop_map(|failure| Input::InvoiceMade(Err(failure))),
        1 => settlement().prop_map(Input::Settled),
        2 => settlement().prop_map(|settlement| looked_up(InvoiceStatus::Settled(settlement))),
        1 => Just(looked_up(InvoiceStatus::Open)),
        1 => Just(looked_up(InvoiceStatus::Disputed)),
        1 => failure().prop_map(|failure| Input::InvoiceStatus(Err(failure))),
        2 => preimage.prop_map(success),
        1 => Just(says(PaymentStatus::Approved)),
        1 => Just(failed("x")),
        1 => Just(says(PaymentStatus::Rejected { reason: None })),
    ]
}

proptest! {
    #[test]
    fn random_inputs_end_once_pay_at_most_once_and_round_trip(
        external in any::<bool>(), inputs in prop::collection::vec(input(), 0..40)
    ) {
        let mut operation = if external {
            Operation::InvoicePayment(Payment::of_invoice(terms(), 5_000, invoice(5_000, PREIMAGE, 300)).0)
        } else {
            Operation::SinglePayment(making())
        };
        let (mut now, mut told) = (NOW, Vec::new());
        // Whatever came, timers alone bring it to its end.
        for input in inputs.into_iter().chain(std::iter::repeat_n(Input::Timer, 60)) {
            if matches!(input, Input::Timer) {
                now = operation.wake_at().unwrap().max(now);
            }
            if let StepResult::Stepped(effects) = operation.step(&input, now) {
                for effect in &effects {
                    if let Effect::Emit(event) = effect {
                        let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
                        told.push(data["status"].as_str().unwrap().to_owned());
                    }
                }
                let stored = operation.to_state().unwrap();
                prop_assert_eq!(&Operation::from_state(&stored).unwrap(), &operation);
                if effects.contains(&Effect::Finish) {
                    let ends = |status: &&String| matches!(status.as_str(), "user_rejected" | "timeout" | "error");
                    prop_assert!(told.iter().filter(|status| *status == "paid").count() <= 1, "{:?}", told);
                    prop_assert!(told.iter().filter(ends).count() <= 1, "{:?}", told);
                    prop_assert!(told.iter().any(|status| status == "paid" || ends(&status)), "{:?}", told);
                    return Ok(());
                }
            }
        }
        prop_assert!(false, "it never ends: {:?}", operation);
    }
}

/// Databases have these names: they stay, whatever the types are called.
#[test]
fn stored_names_are_pinned() {
    let state = Operation::SinglePayment(asking()).to_state().unwrap();
    assert!(state.0.contains(r#""bill":{"own":{"#), "{}", state.0);
    assert_eq!(Operation::from_state(&state).unwrap(), Operation::SinglePayment(asking()));
}
