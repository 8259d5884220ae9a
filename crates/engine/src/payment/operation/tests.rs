use lightning_invoice::Currency as Coin;

use super::*;
use crate::operations::fixtures::*;

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
    let content = content(message);
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
            now = payment.wake_at().unwrap();
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
        let leaving = payment.wake_at().unwrap();
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
        let leaving = payment.wake_at().unwrap();
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
    let end = payment.wake_at().unwrap();
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
            now = payment.wake_at().unwrap();
            payment.step(&Input::Timer, now);
        }
        assert!(now >= begin.plus(patience) && now <= begin.plus(patience + super::CLOSING));
    }
}

#[test]
fn mismatching_invoice_is_never_shown() {
    let of_another_network = invoice_on(Coin::Bitcoin, 5_000, PREIMAGE, 300);
    for bad in [invoice(4_999, PREIMAGE, 300), invoice(5_001, PREIMAGE, 300), of_another_network] {
        let mut payment = making();
        let got = effects(payment.step(&Input::InvoiceMade(Ok(bad)), NOW));
        assert_eq!(status(&got), "error");
        assert!(got.contains(&Effect::Finish));
    }
    assert_eq!(status(&effects(making().step(&Input::CorrelationTaken, NOW))), "error");
}

#[test]
fn payment_expires_with_its_invoice() {
    let mut payment = making();
    let made = effects(payment.step(&Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 100))), NOW));
    let [Effect::Send(message)] = &made[..] else { panic!("{made:?}") };
    let end = after(100);
    assert_eq!((&content(message)["expires_at"], message.until), (&json!(end.secs().to_string()), end));
    assert_eq!(payment.wake_at().unwrap(), end, "nobody can pay it later");
    // As a rule it is asked for in the middle of a second, and lives as long as the request.
    let now = UnixMillis(NOW.0 + 900);
    let (mut payment, got) = Payment::to_us(terms(), 5_000, Network::Regtest, now);
    assert!(matches!(&got[..], [Effect::CallLightning(LightningRequest::MakeInvoice(new))] if new.expiry == 300));
    payment.step(&Input::InvoiceMade(Ok(invoice(5_000, PREIMAGE, 300))), now);
    assert_eq!(payment.wake_at().unwrap(), END);
}

/// How often an invoice is asked for until this failure ends the payment, when that is, and what the app receives.
fn asked_until_the_end(mut payment: Payment, failure: &LightningError) -> (u32, UnixMillis, Vec<Effect>) {
    let (mut now, mut asked) = (NOW, 1);
    loop {
        let got = effects(payment.step(&Input::InvoiceMade(Err(failure.clone())), now));
        if payment.is_done() {
            return (asked, now, got);
        }
        now = payment.wake_at().unwrap();
        let got = effects(payment.step(&Input::Timer, now));
        assert!(matches!(&got[..], [Effect::CallLightning(LightningRequest::MakeInvoice(_))]));
        asked += 1;
    }
}

#[test]
fn failed_invoice_creation_is_retried_for_a_minute() {
    let refused = |again| LightningError::Refused { again, reason: "no".to_owned() };
    let mut payment = making();
    assert_eq!(status(&effects(payment.step(&Input::InvoiceMade(Err(refused(false))), NOW))), "error");
    for failure in [refused(true), LightningError::NotSent, LightningError::Unknown("silence".to_owned())] {
        let (asked, now, told) = asked_until_the_end(making(), &failure);
        assert_eq!(status(&told), "error");
        assert!(asked > 5 && now < NOW.plus(super::MAKING), "{asked}");
    }
    // No user waits for a charge, and all monthly payments fall due at the same instant: half of its time.
    let charge = Some(Charge { number: 1, due: 7, attempt: 0 });
    let subscription = Some(SubscriptionLink { subscription_id: "s".to_owned(), charge });
    let of_charge = PaymentTerms { subscription, expires_at: after(3_600), ..terms() };
    let charge = Payment::to_us(of_charge, 5_000, Network::Regtest, NOW).0;
    let (asked, now, _) = asked_until_the_end(charge, &LightningError::NotSent);
    assert!(now >= after(1_740) && now <= after(1_800), "{now:?}");
    assert!((30..=45).contains(&asked), "{asked}");
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
fn external_invoice_is_paid_only_with_a_valid_preimage() {
    let external = || Payment::of_invoice(terms(), 5_000, invoice(5_000, PREIMAGE, 7200)).0;
    let mut payment = external();
    assert_eq!(payment.watched(), None);
    assert!(!effects(payment.step(&success(None), NOW)).iter().any(|effect| matches!(effect, Effect::Emit(_))));
    assert_eq!(payment.step(&success(Some(WRONG)), NOW), StepResult::Ignored);
    let got = effects(payment.step(&success(Some(PREIMAGE)), NOW));
    assert_eq!(status(&got), "paid");
    assert!(!got.contains(&Effect::Finish), "remembered until nobody can ask for it again");
    assert!(payment.wake_at().unwrap().secs() >= NOW.secs() + 7200);
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
        let signals = |result| -> Vec<Signal> {
            let signals = effects(result).into_iter().filter_map(|effect| match effect {
                Effect::Signal(key, signal) => Some((key, signal)),
                _ => None,
            });
            let (keys, signals): (Vec<_>, _) = signals.unzip();
            assert_eq!(keys, [CorrelationKey::subscription("s")]);
            signals
        };
        let (key, proof) = device(&user(1), 4, Permission::Payment);
        let proven = signals(payment.step(&cannot_read(key, proof.clone()), NOW));
        assert_eq!(proven, [Signal::DeviceProven { key, proof }]);
        let rejected = signals(payment.step(&says(PaymentStatus::Rejected { reason: None }), NOW));
        let paid = signals(payment.step(&Input::Settled(settled(5_000, Some(PREIMAGE))), NOW));
        let request_id = "ours".to_owned();
        let Some(charge) = charge else {
            assert_eq!(rejected, [Signal::NotPaid { request_id: request_id.clone() }]);
            assert_eq!(paid, [Signal::Paid { request_id }]);
            continue;
        };
        let ended = |end| [Signal::Charged(Charged { charge, end, price: None })];
        let failed = ChargeEnd::Failed { status: "user_rejected".to_owned(), reason: None, may_be_paid: false };
        assert_eq!((rejected, paid), (ended(failed).into(), ended(ChargeEnd::Paid(Some(PREIMAGE))).into()));
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
        let now = payment.wake_at().unwrap();
        let got = effects(payment.step(&input, now));
        assert_eq!(status(&got), "error");
        assert!(got.contains(&Effect::Finish), "nobody has seen an invoice");
    }
}

#[test]
fn stored_names_are_pinned() {
    let state = restored(Operation::SinglePayment(asking())).to_state().unwrap();
    assert!(state.0.contains(r#""bill":{"own":{"#), "{}", state.0);
}
