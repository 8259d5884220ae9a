use super::*;
use crate::operations::fixtures::*;

const HOUR: Duration = Duration::from_secs(3600);

fn recurrence(max_payments: Option<u32>, until: Option<u64>) -> Recurrence {
    Recurrence { until, calendar: Calendar::Hourly, max_payments, first_payment_due: NOW.secs() }
}

fn subscription(recurrence: Recurrence, auto_charge: bool) -> Subscription {
    let asked = recurrence.calendar.clone();
    subscription_at(recurrence, asked, auto_charge, NOW)
}

fn subscription_at(recurrence: Recurrence, asked: Calendar, auto_charge: bool, now: UnixMillis) -> Subscription {
    let agreement = Agreement {
        subscription_id: "s".to_owned(),
        amount: 5_000,
        description: "Membership".to_owned(),
        authorized_amount: 4_000,
        recurrence,
        asked_calendar: Some(asked),
        reference: None,
        auto_charge,
        price: None,
    };
    let rules = SubscriptionRules {
        network: Network::Regtest,
        retry_after: vec![HOUR, 3 * HOUR],
        keep: Duration::from_secs(86_400),
    };
    Subscription::start(UserKeys::new(user(1).public_key(), &[]), agreement, rules, now)
}

fn closes(author: &Keys, id: &str) -> Input {
    let close =
        CloseSubscription { subscription_id: id.to_owned(), reason: Some("enough".to_owned()), by_service: false };
    let message = WalletMessage::CloseSubscription(close);
    Input::Wallet { author: author.public_key(), sent_at: NOW, message }
}

fn started(effects: &[Effect]) -> Charge {
    let [Effect::Start(operation, more)] = effects else { panic!("{effects:?}") };
    let Operation::SinglePayment(payment) = started_by(operation) else { panic!("{operation:?}") };
    assert!(matches!(more[..], [Effect::CallLightning(_)]));
    let state = serde_json::to_value(&payment).unwrap();
    assert_eq!(state["amount"], 4_000, "no more than the user authorized");
    serde_json::from_value(state["subscription"]["charge"].clone()).unwrap()
}

fn paid(charge: Charge) -> Input {
    Input::Signal(Signal::Charged(Charged { charge, end: ChargeEnd::Paid(Some(PREIMAGE)), price: None }))
}

fn failed(charge: Charge) -> Input {
    let end = ChargeEnd::Failed { status: "timeout".to_owned(), reason: None, may_be_paid: false };
    Input::Signal(Signal::Charged(Charged { charge, end, price: None }))
}

fn announced(effects: &[Effect]) -> serde_json::Value {
    let [Effect::Announce(event)] = effects else { panic!("{effects:?}") };
    serde_json::from_str(&event.data).unwrap()
}

/// A payment that the operator asked for was made.
fn by_hand() -> Signal {
    Signal::Paid { request_id: "by hand".to_owned() }
}

#[test]
fn closing_withdraws_the_operators_payment_requests() {
    let asked = |n: usize, until| {
        Input::Signal(Signal::PaymentRequested(RequestedPayment { request_id: format!("{n}"), until }))
    };
    let tells = |effects: &[Effect]| -> Vec<CorrelationKey> {
        let told = effects.iter().filter_map(|effect| match effect {
            Effect::Signal(key, Signal::CancelPayment) => Some(*key),
            _ => None,
        });
        told.collect()
    };
    let key = |n: usize| CorrelationKey::request(&format!("{n}"));
    let mut open = subscription(recurrence(None, None), false);
    let soon = NOW.secs() + 60;
    for n in 1..=3 {
        assert_eq!(effects(open.step(&asked(n, soon), NOW)), []);
    }
    open.step(&Input::Signal(Signal::Paid { request_id: "2".to_owned() }), NOW);
    assert_eq!(tells(&effects(open.clone().step(&Input::Signal(Signal::Close), NOW))), [key(1), key(3)]);
    // Expired ones are forgotten, and the number of the others is limited.
    let later = NOW.plus(Duration::from_secs(60));
    for n in 4..=4 + MAX_REQUESTED {
        open.step(&asked(n, later.secs() + 60), later);
    }
    let told = tells(&effects(open.step(&Input::Signal(Signal::Close), later)));
    assert_eq!((told.len(), told[0]), (MAX_REQUESTED, key(5)));
    assert_eq!(open.step(&asked(1_000, later.secs() + 60), later), StepResult::Ignored, "it has ended");
}

#[test]
fn what_is_asked_for_counts_towards_the_payments_that_are_left() {
    let ask = |open: &mut Subscription, id: &str, until: u64| {
        let asked = RequestedPayment { request_id: id.to_owned(), until };
        assert_eq!(effects(open.step(&Input::Signal(Signal::PaymentRequested(asked)), NOW)), []);
    };
    let soon = NOW.secs() + 60;
    let mut open = subscription(recurrence(Some(2), None), true);
    let (first, later) = (open.wake_at().unwrap(), NOW.plus(Duration::from_secs(60)));
    ask(&mut open, "a", soon);
    assert!(!open.has_no_payment_left(NOW));
    ask(&mut open, "b", soon + 60);
    assert!(open.has_no_payment_left(NOW) && !open.has_no_payment_left(later));
    assert_eq!((first, open.wake_at().unwrap()), (NOW, later), "a charge waits for those by hand");
    let mut waiting = open.clone();
    started(&effects(waiting.step(&Input::Timer, later)));
    assert!(waiting.has_no_payment_left(later), "a charge is asked for as well");
    // One that is rejected is open no longer.
    open.step(&Input::Signal(Signal::NotPaid { request_id: "b".to_owned() }), NOW);
    assert!(!open.has_no_payment_left(NOW));
    open.step(&Input::Signal(Signal::Paid { request_id: "a".to_owned() }), NOW);
    started(&effects(open.step(&Input::Timer, open.wake_at().unwrap())));
    assert!(open.has_no_payment_left(NOW));

    let mut unlimited = subscription(recurrence(None, None), false);
    for n in 0..MAX_REQUESTED {
        ask(&mut unlimited, &n.to_string(), soon);
    }
    assert!(!unlimited.has_no_payment_left(NOW));
}

#[test]
fn payments_are_counted_until_completion() {
    let mut open = subscription(recurrence(Some(2), None), false);
    assert_eq!(open.wake_at(), None);
    for (made, state) in [(1, SubscriptionState::Active), (2, SubscriptionState::Completed)] {
        assert_eq!(effects(open.step(&Input::Signal(by_hand()), NOW)), []);
        assert_eq!((open.view().payments_made, open.view().state), (made, state));
    }
    let end = open.wake_at().unwrap();
    assert_eq!(end, NOW.plus(Duration::from_secs(86_400)), "it can be read for a while");
    assert_eq!(effects(open.step(&Input::Timer, end)), [Effect::Finish]);
}

#[test]
fn subscription_ends_after_its_last_second() {
    let until = NOW.secs() + 100;
    let mut open = subscription(recurrence(None, Some(until)), false);
    assert_eq!(open.step(&Input::Timer, UnixMillis::from_secs(until)), StepResult::Ignored, "the last second counts");
    let at = open.wake_at().unwrap();
    assert_eq!(effects(open.step(&Input::Timer, at)), []);
    assert_eq!(open.view().state, SubscriptionState::Ended);
}

#[test]
fn only_its_user_can_close_it() {
    let mut open = subscription(recurrence(None, None), false);
    assert_eq!(open.step(&closes(&user(2), "s"), NOW), StepResult::Ignored);
    assert_eq!(open.step(&closes(&user(1), "another"), NOW), StepResult::Ignored);
    let got = effects(open.step(&closes(&user(1), "s"), NOW));
    let key: PublicKey = user(1).public_key();
    assert_eq!(announced(&got), json!({ "subscription_id": "s", "main_key": key.to_hex(), "reason": "enough" }));
    assert_eq!(open.step(&closes(&user(1), "s"), NOW), StepResult::Ignored);
    assert_eq!(open.step(&Input::Signal(Signal::Close), NOW), StepResult::Ignored, "closed is closed");
    assert_eq!(open.view().state, SubscriptionState::ClosedByUser);
}

#[test]
fn closing_by_the_operator_notifies_the_wallet() {
    let mut open = subscription(recurrence(None, None), true);
    let got = effects(open.step(&Input::Signal(Signal::Close), NOW));
    let [Effect::Send(message)] = &got[..] else { panic!("{got:?}") };
    assert_eq!(message.kind, 28_007);
    assert_eq!(content(message), json!({ "subscription_id": "s", "reason": null, "by_service": true }));
    assert_eq!(open.view().state, SubscriptionState::ClosedByProvider);
    assert_eq!(open.step(&Input::Timer, NOW.plus(HOUR)), StepResult::Ignored, "nothing is charged any more");
}

#[test]
fn device_that_cannot_decrypt_the_close_gets_its_own_copy() {
    let mut open = subscription(recurrence(None, None), false);
    let (key, proof) = device(&user(1), 1, Permission::Payment);
    assert_eq!(open.step(&cannot_read(key, proof.clone()), NOW), StepResult::Ignored, "there is nothing to tell");
    open.step(&Input::Signal(Signal::Close), NOW);
    for (wrong, proof) in [device(&user(2), 1, Permission::Payment), device(&user(1), 1, Permission::Auth)] {
        assert_eq!(open.step(&cannot_read(wrong, proof), NOW), StepResult::Ignored);
    }
    assert_eq!(open.clone().step(&cannot_read(key, proof.clone()), NOW.plus(CLOSE_RESEND_PERIOD)), StepResult::Ignored);
    let got = effects(open.step(&cannot_read(key, proof), NOW.plus(Duration::from_secs(5))));
    let [Effect::SendAlso(message)] = &got[..] else { panic!("{got:?}") };
    assert_eq!((message.kind, message.until), (28_007, NOW.plus(CLOSE_RESEND_PERIOD)));
    assert_eq!(message.recipients, [key]);
    assert_eq!(message.participants, [user(1).public_key(), key]);
}

#[test]
fn device_with_a_valid_payment_proof_can_close_it() {
    let closing = |key| {
        let close = CloseSubscription { subscription_id: "s".to_owned(), reason: None, by_service: false };
        Input::Wallet { author: key, sent_at: NOW, message: WalletMessage::CloseSubscription(close) }
    };
    let mut open = subscription(recurrence(None, None), false);
    let (key, proof) = device(&user(1), 1, Permission::Payment);
    let signal = |key, proof: &SubkeyProof| Input::Signal(Signal::DeviceProven { key, proof: proof.clone() });
    let (strangers, strange) = device(&user(2), 1, Permission::Payment);
    for (key, proof) in [(strangers, &strange), (key, &strange), (strangers, &proof)] {
        assert_eq!(open.step(&signal(key, proof), NOW), StepResult::Ignored);
    }
    assert_eq!(open.step(&closing(key), NOW), StepResult::Ignored);
    assert_eq!(effects(open.step(&signal(key, &proof), NOW)), []);
    assert_eq!(open.step(&signal(key, &proof), NOW), StepResult::Ignored, "once");
    assert_eq!(open.clone().step(&closing(key), NOW.plus(HOUR)), StepResult::Ignored, "its proof has expired");
    effects(open.step(&closing(key), NOW));
    assert_eq!(open.view().state, SubscriptionState::ClosedByUser);
    // However many devices there were before.
    let mut open = subscription(recurrence(None, None), false);
    for nonce in 0..8 {
        let (key, proof) = device(&user(1), nonce, Permission::Payment);
        assert_eq!(effects(open.step(&signal(key, &proof), NOW)), []);
    }
    let (key, mut proof) = device(&user(1), 8, Permission::Payment);
    assert_eq!(open.step(&signal(key, &proof), NOW), StepResult::Ignored, "eight at a time");
    proof.metadata.expires_at += 3_600;
    let key = usher_protocol::subkey::derive_secret(user(1).secret_key(), &proof.metadata).unwrap().public_key();
    assert_eq!(effects(open.step(&signal(key, &proof), NOW.plus(HOUR))), []);
    effects(open.step(&closing(key), NOW.plus(HOUR)));
}

#[test]
fn running_charge_is_reported_after_closing_but_not_retried() {
    for pays in [false, true] {
        let mut open = subscription(recurrence(None, None), true);
        let charge = started(&effects(open.step(&Input::Timer, NOW)));
        let got = effects(open.step(&Input::Signal(Signal::Close), NOW));
        let withdrawn = Effect::Signal(CorrelationKey::request(&open.request_id(charge)), Signal::CancelPayment);
        assert!(matches!(&got[..], [Effect::Send(_), told] if *told == withdrawn), "the user is asked no more");
        let data = announced(&effects(open.step(&if pays { paid(charge) } else { failed(charge) }, NOW)));
        assert_eq!(data["status"], if pays { "paid" } else { "timeout" });
        assert_eq!(data.get("next_attempt_at").filter(|at| !at.is_null()), None);
        assert_eq!(open.view().payments_made, u32::from(pays));
        assert_eq!(open.step(&failed(charge), NOW), StepResult::Ignored, "told once");
        let end = open.wake_at().unwrap();
        assert_eq!(effects(open.step(&Input::Timer, end)), [Effect::Finish], "nothing is charged any more");
    }
}

#[test]
fn every_date_is_charged_and_the_last_completes_it() {
    let mut open = subscription(recurrence(Some(2), None), true);
    let first = started(&effects(open.step(&Input::Timer, NOW)));
    assert_eq!(first, Charge { number: 1, due: NOW.secs(), attempt: 0 });
    assert_eq!(open.wake_at(), None, "one at a time");
    let data = announced(&effects(open.step(&paid(first), NOW)));
    assert_eq!((&data["status"], &data["number"], &data["due"]), (&json!("paid"), &json!(1), &json!(NOW.secs())));
    assert_eq!(data["preimage"], PREIMAGE.to_hex());
    let due = open.wake_at().unwrap();
    assert_eq!(due.secs(), (NOW.secs() / 3600 + 1) * 3600, "the next full hour");
    let second = started(&effects(open.step(&Input::Timer, due)));
    assert_eq!((second.number, second.due), (2, due.secs()));
    open.step(&paid(second), due);
    assert_eq!((open.view().state, open.view().payments_made), (SubscriptionState::Completed, 2));
}

#[test]
fn failed_charge_is_retried_on_schedule_then_skipped() {
    let mut open = subscription(Recurrence { calendar: Calendar::Daily, ..recurrence(Some(2), None) }, true);
    let mut now = NOW;
    for (attempt, wait) in [(0, Some(HOUR)), (1, Some(3 * HOUR)), (2, None)] {
        let charge = started(&effects(open.step(&Input::Timer, now)));
        assert_eq!((charge.number, charge.attempt), (1, attempt));
        let data = announced(&effects(open.step(&failed(charge), now)));
        assert_eq!((&data["status"], &data["attempt"]), (&json!("timeout"), &json!(attempt + 1)));
        let next = wait.map(|wait| now.plus(wait).secs());
        assert_eq!(data.get("next_attempt_at").and_then(serde_json::Value::as_u64), next);
        assert_eq!(open.step(&failed(charge), now), StepResult::Ignored, "told once");
        now = open.wake_at().unwrap();
    }
    let charge = started(&effects(open.step(&Input::Timer, now)));
    assert_eq!((charge.number, charge.attempt), (2, 0), "the next date");
    open.step(&paid(charge), now);
    assert_eq!((open.view().state, open.view().payments_made), (SubscriptionState::Ended, 1));
}

/// The user authorized 4,000 of 5,000 millisats.
#[test]
fn event_of_a_charge_has_the_sats_that_it_costs() {
    let mut open = subscription(recurrence(None, None), true);
    open.agreement.price = Some(RecurringPrice { amount: 5, currency: PriceUnit::Sats });
    let Ok((4_000, price @ Some(_))) = open.agreement.fix(None) else { panic!("another amount") };
    open.step(&Input::Timer, NOW);
    let (charge, end) = (open.dates.running().unwrap(), ChargeEnd::Paid(Some(PREIMAGE)));
    let paid = Input::Signal(Signal::Charged(Charged { charge, end, price }));
    let data = announced(&effects(open.step(&paid, NOW)));
    assert_eq!(
        (&data["amount"], &data["currency"], &data["amount_millisats"]),
        (&json!(4), &json!("sats"), &json!(4_000))
    );
}

/// The user authorized no payment after it.
#[test]
fn nothing_is_charged_again_after_until() {
    for (until, retried) in [(HOUR, true), (HOUR.saturating_sub(Duration::from_secs(1)), false)] {
        let mut open = subscription(recurrence(None, Some(NOW.plus(until).secs())), true);
        let charge = started(&effects(open.step(&Input::Timer, NOW)));
        let data = announced(&effects(open.step(&failed(charge), NOW)));
        assert_eq!(data["next_attempt_at"].as_u64().is_some(), retried);
        assert_eq!(open.view().state == SubscriptionState::Active, retried);
        assert!(open.is_past_until(NOW.plus(until + HOUR)) && !open.is_past_until(NOW.plus(until)));
    }
}

/// The Lightning backend reports it as settled and proves nothing: another charge could take the money twice.
#[test]
fn charge_that_may_be_paid_is_not_retried() {
    let mut open = subscription(Recurrence { calendar: Calendar::Daily, ..recurrence(Some(2), None) }, true);
    let charge = started(&effects(open.step(&Input::Timer, NOW)));
    let end = ChargeEnd::Failed { status: "error".to_owned(), reason: None, may_be_paid: true };
    let disputed = Input::Signal(Signal::Charged(Charged { charge, end, price: None }));
    assert_eq!(announced(&effects(open.step(&disputed, NOW))).get("next_attempt_at"), None);
    let next = open.wake_at().unwrap();
    assert_eq!(started(&effects(open.step(&Input::Timer, next))).number, 2);
}

#[test]
fn failed_date_does_not_delay_later_dates() {
    let mut open = subscription(Recurrence { calendar: Calendar::Minutely, ..recurrence(Some(62), None) }, true);
    let mut charges = Vec::new();
    while open.view().state == SubscriptionState::Active {
        let now = open.wake_at().unwrap();
        let charge = started(&effects(open.step(&Input::Timer, now)));
        assert_eq!(open.view().next_payment_due, Some(charge.due));
        charges.push((charge.number, charge.attempt));
        open.step(&if charges.len() == 1 { failed(charge) } else { paid(charge) }, now);
    }
    let mut expected: Vec<_> = (1..=62).map(|number| (number, 0)).collect();
    expected.insert(60, (1, 1)); // after an hour, when date 61 falls due
    assert_eq!(charges, expected);
    assert_eq!(open.view().payments_made, 62);
}

#[test]
fn at_most_a_hundred_dates_await_a_retry() {
    let mut open = subscription(Recurrence { calendar: Calendar::Minutely, ..recurrence(None, None) }, true);
    let now = NOW.plus(Duration::from_secs(86_400));
    for nth in 1..=103_u32 {
        let charge = started(&effects(open.step(&Input::Timer, now)));
        assert_eq!((charge.number, charge.attempt), (nth, 0), "nothing is due once more yet");
        let data = announced(&effects(open.step(&failed(charge), now)));
        assert_eq!(data["next_attempt_at"].as_u64().is_some(), nth <= 100);
    }
    let state = Operation::Subscription(open.clone()).to_state().unwrap();
    assert!(state.0.len() < 10_000, "{} bytes", state.0.len());
    // Each that is paid makes room for another.
    let again = started(&effects(open.step(&Input::Timer, now.plus(HOUR))));
    assert_eq!((again.number, again.attempt), (1, 1), "the oldest first");
    open.step(&paid(again), now.plus(HOUR));
    open.step(&paid(Charge { number: 3, due: NOW.secs() + 120, attempt: 0 }), now.plus(HOUR));
    let again = started(&effects(open.step(&Input::Timer, now.plus(HOUR))));
    assert_eq!((again.number, again.attempt), (2, 1));
    open.step(&paid(again), now.plus(HOUR));
    let again = started(&effects(open.step(&Input::Timer, now.plus(HOUR))));
    assert_eq!((again.number, again.attempt), (4, 1), "the third was paid late");
}

#[test]
fn running_charge_is_withdrawn_when_nothing_is_owed() {
    let withdrawn = |open: &Subscription, charge| {
        [Effect::Signal(CorrelationKey::request(&open.request_id(charge)), Signal::CancelPayment)]
    };
    // The user closes it.
    let mut open = subscription(recurrence(None, None), true);
    let charge = started(&effects(open.step(&Input::Timer, NOW)));
    let got = effects(open.step(&closes(&user(1), "s"), NOW));
    assert_eq!(got[1..], withdrawn(&open, charge));
    // The last payment is made by hand.
    let mut open = subscription(recurrence(Some(1), None), true);
    let charge = started(&effects(open.step(&Input::Timer, NOW)));
    assert_eq!(effects(open.step(&Input::Signal(by_hand()), NOW)), withdrawn(&open, charge));
    // The try before it is paid late.
    let mut open = subscription(recurrence(None, None), true);
    let first = started(&effects(open.step(&Input::Timer, NOW)));
    open.step(&failed(first), NOW);
    let now = NOW.plus(HOUR);
    let second = started(&effects(open.step(&Input::Timer, now)));
    let got = effects(open.step(&paid(first), now));
    assert_eq!(got[1..], withdrawn(&open, second));
    assert_eq!(effects(open.step(&failed(second), now)), [], "its end is nothing to tell");
    assert_eq!(started(&effects(open.step(&Input::Timer, open.wake_at().unwrap()))).number, 2);
}

#[test]
fn late_charge_gets_the_full_time_to_pay() {
    let ttl = |calendar: Calendar, now: UnixMillis| {
        let mut open = subscription(Recurrence { calendar, ..recurrence(None, None) }, true);
        let got = effects(open.step(&Input::Timer, now));
        let [Effect::Start(operation, _)] = &got[..] else { panic!("{got:?}") };
        let Operation::SinglePayment(payment) = started_by(operation) else { panic!("{operation:?}") };
        serde_json::to_value(&payment).unwrap()["expires_at"].as_u64().unwrap() - now.0
    };
    let days = Duration::from_secs(3 * 86_400);
    for now in [NOW, NOW.plus(Duration::from_secs(86_400)), NOW.plus(days)] {
        assert_eq!(ttl(Calendar::Daily, now), 3_600_000, "also when the next date has passed");
        assert_eq!(ttl(Calendar::Minutely, now), 60_000, "and no more than there is between two dates");
    }
}

#[test]
fn only_the_latest_date_before_the_agreement_is_owed() {
    let midnight = |days: u64| NOW.secs() - NOW.secs() % 86_400 + days * 86_400;
    let noon = UnixMillis::from_secs(midnight(3) + 43_200);
    let first = |calendar: Calendar, until: Option<u64>, now: UnixMillis| {
        let asked = Recurrence { calendar: calendar.clone(), ..recurrence(Some(2), until) };
        subscription_at(asked, calendar, true, now)
    };
    for (calendar, until, now, due) in [
        (Calendar::Daily, None, NOW, NOW.secs()),
        (Calendar::Daily, None, NOW.plus(HOUR), NOW.secs()),
        (Calendar::Daily, None, UnixMillis::from_secs(midnight(1)), midnight(1)),
        (Calendar::Daily, None, noon, midnight(3)),
        (Calendar::Daily, Some(midnight(2) + 1), noon, midnight(2)),
        (Calendar::Minutely, None, NOW.plus(Duration::from_secs(366 * 86_400 + 7)), NOW.secs() + 366 * 86_400 - 240),
        (Calendar::Monthly, None, noon, NOW.secs()),
        // Who answers within five minutes owes all of them.
        (Calendar::Minutely, None, NOW.plus(Duration::from_secs(300)), NOW.secs()),
        (Calendar::Minutely, None, NOW.plus(Duration::from_secs(301)), NOW.secs() + 60),
        (Calendar::Daily, None, UnixMillis::from_secs(midnight(3) + 300), midnight(3)),
        (Calendar::Daily, Some(midnight(3) - 1), UnixMillis::from_secs(midnight(3) + 300), midnight(2)),
    ] {
        let mut open = first(calendar.clone(), until, now);
        let charge = started(&effects(open.step(&Input::Timer, now)));
        assert_eq!((charge.number, charge.due), (1, due), "{calendar:?} {until:?}");
    }
    let mut open = first(Calendar::Daily, None, noon);
    let charge = started(&effects(open.step(&Input::Timer, noon)));
    open.step(&paid(charge), noon);
    assert_eq!(open.wake_at(), Some(UnixMillis::from_secs(midnight(4))), "all that was agreed to is yet to come");
    let second = started(&effects(open.step(&Input::Timer, UnixMillis::from_secs(midnight(4)))));
    open.step(&paid(second), noon);
    assert_eq!(open.view().state, SubscriptionState::Completed);
}

#[test]
fn charges_are_no_more_frequent_than_requested() {
    let dues = |asked: Calendar, authorized: &str| {
        let recurrence = Recurrence { calendar: authorized.parse().unwrap(), ..recurrence(Some(3), None) };
        let mut open = subscription_at(recurrence, asked, true, NOW);
        let now = NOW.plus(Duration::from_secs(10 * 366 * 86_400));
        let mut dues = Vec::new();
        while open.view().state == SubscriptionState::Active {
            let charge = started(&effects(open.step(&Input::Timer, now)));
            assert_eq!(open.step(&Input::Timer, now), StepResult::Ignored, "one at a time");
            dues.push(charge.due);
            open.step(&paid(charge), now);
        }
        dues
    };
    let first = NOW.secs(); // 2027-01-15 08:00:00
    let (february, march) = (1_801_440_000, 1_803_859_200);
    assert_eq!(dues(Calendar::Monthly, "monthly"), [first, february, march]);
    // The same in another time zone, or on another day, is not more often.
    assert_eq!(dues(Calendar::Monthly, "*-*-01 00:00:00 Europe/Rome"), [first, february - 3_600, march - 3_600]);
    assert_eq!(dues(Calendar::Monthly, "*-*-02 00:00:00"), [first, february + 86_400, march + 86_400]);
    for often in ["minutely", "*-*-* *:*:*", "*-*-28,29,30,31,01 00:00:00"] {
        assert_eq!(dues(Calendar::Monthly, often), [first, february - 86_400, march - 86_400], "{often}");
    }
    // Nor is anything saved up while nothing falls due.
    assert_eq!(dues(Calendar::Yearly, "2030-*-* *:*:*"), [first, 1_893_456_000, 1_924_905_600]);
    assert_eq!(dues(Calendar::Daily, "*-*-* 18:00:00"), [first, first + 36_000, first + 36_000 + 86_400]);
    assert_eq!(dues(Calendar::Hourly, "*-*-* *:30:00"), [first, first + 1_800, first + 5_400]);
    assert_eq!(dues(Calendar::Hourly, "monthly"), [first, february, march], "and no more often than was allowed");
}
