use super::*;
use crate::event_data::AuthorizedRecurrence;
use crate::operations::fixtures::*;

const TTL: Duration = Duration::from_secs(600);

fn recurrence() -> Recurrence {
    Recurrence { until: None, calendar: Calendar::Monthly, max_payments: Some(12), first_payment_due: NOW.secs() + 60 }
}

fn wanted(auto_charge: bool) -> RecurringPaymentRequest {
    RecurringPaymentRequest {
        main_key: user(1).public_key(),
        subkeys: vec![user(2).public_key()],
        description: "Membership".to_owned(),
        amount: 5,
        minimum_amount: Some(4),
        max_amount_millisats: None,
        currency: RequestedCurrency::Sats,
        recurrence: recurrence(),
        expires_at: NOW.plus(TTL).secs(),
        reference: Some("member-7".to_owned()),
        auto_charge,
    }
}

fn asked(auto_charge: bool) -> RecurringRequest {
    let rules = SubscriptionRules { network: Network::Regtest, retry_after: vec![TTL], keep: TTL };
    let (state, effects) = RecurringRequest::start(wanted(auto_charge), (5_000, None), "r".to_owned(), rules);
    let [Effect::Send(message)] = &effects[..] else { panic!("{effects:?}") };
    let content = content(message);
    assert_eq!(
        (&content["request_id"], &content["amount"], &content["recurrence"]["calendar"]),
        (&json!("r"), &json!(5_000), &json!("monthly"))
    );
    state
}

fn says(author: &Keys, request_id: &str, status: RecurringStatus) -> Input {
    let message = WalletMessage::RecurringResponse(RecurringResponse { request_id: request_id.to_owned(), status });
    Input::Wallet { author: author.public_key(), sent_at: NOW, message }
}

fn confirmed() -> RecurringStatus {
    agrees("s", 4_000, Currency::Millisats, Recurrence { max_payments: Some(3), ..recurrence() })
}

fn agrees(id: &str, amount: u64, currency: Currency, recurrence: Recurrence) -> RecurringStatus {
    RecurringStatus::Confirmed {
        subscription_id: id.to_owned(),
        authorized_amount: amount,
        authorized_currency: currency,
        authorized_recurrence: recurrence,
    }
}

fn rejected(reason: Option<&str>) -> RecurringStatus {
    RecurringStatus::Rejected { reason: reason.map(str::to_owned) }
}

#[test]
fn authorized_terms_become_the_subscription() {
    for (author, auto_charge) in [(user(1), false), (user(2), true)] {
        let mut request = asked(auto_charge);
        let got = effects(request.step(&says(&author, "r", confirmed()), NOW));
        let data = json!({
            "status": "approved",
            "subscription_id": "s",
            "main_key": user(1).public_key().to_hex(),
            "authorized_amount": 4_000,
            "authorized_currency": "millisats",
            "authorized_recurrence":
                { "calendar": "monthly", "first_payment_due": NOW.secs() + 60, "max_payments": 3 },
            "auto_charge": auto_charge,
            "request_id": "member-7",
        });
        assert_eq!(event(&got), ("Subscription", data));
        let [Effect::Emit(_), Effect::Start(subscription, more), Effect::Finish] = &got[..] else { panic!("{got:?}") };
        assert!(more.is_empty());
        let Operation::Subscription(subscription) = started_by(subscription) else { panic!("{subscription:?}") };
        let view = subscription.view();
        assert_eq!((view.subscription_id.as_str(), view.amount, view.authorized_amount), ("s", 5_000, 4_000));
        assert_eq!(
            (view.authorized_recurrence.max_payments, view.auto_charge, view.payments_made),
            (Some(3), auto_charge, 0)
        );
        assert_eq!(subscription.wake_at(), auto_charge.then(|| UnixMillis::from_secs(NOW.secs() + 60)));
    }
}

#[test]
fn rejection_is_reported() {
    for reason in [None, Some("too dear")] {
        let got = effects(asked(false).step(&says(&user(1), "r", rejected(reason)), NOW));
        let (event_type, data) = event(&got);
        assert_eq!((event_type, &data["status"]), ("StatusUpdate", &json!("user_rejected")));
        assert_eq!(data.get("reason").and_then(Value::as_str), reason);
        assert!(matches!(got[..], [Effect::Emit(_), Effect::Finish]), "and nothing begins");
    }
}

#[test]
fn unusable_agreement_is_refused() {
    let good = || Recurrence { max_payments: Some(3), ..recurrence() };
    let (ours, first) = (Currency::Millisats, recurrence().first_payment_due);
    for (id, amount, currency, recurrence, reason) in [
        ("s", 4_000, ours.clone(), Recurrence { first_payment_due: u64::MAX, ..good() }, "no payment at all"),
        ("s", 4_000, ours.clone(), Recurrence { max_payments: Some(0), ..good() }, "no payment at all"),
        ("s", 4_000, ours.clone(), Recurrence { until: Some(first - 1), ..good() }, "no payment at all"),
        ("s", 0, ours.clone(), good(), "amount of zero"),
        ("s", 4_000, "EUR".parse().unwrap(), good(), "another currency"),
        // Not usable in a URL.
        (".", 4_000, ours.clone(), good(), ""),
        ("..", 4_000, ours, good(), ""),
    ] {
        let got = effects(asked(true).step(&says(&user(1), "r", agrees(id, amount, currency, recurrence)), NOW));
        let (event_type, data) = event(&got);
        assert_eq!((event_type, &data["status"]), ("StatusUpdate", &json!("error")));
        assert!(data["reason"].as_str().unwrap().contains(reason), "{data}");
        closes(&got, id);
    }
}

#[test]
fn numbers_beyond_the_json_range_are_capped() {
    let endless = Recurrence { max_payments: Some(3), until: Some(u64::MAX), ..recurrence() };
    let status = agrees("s", u64::MAX, Currency::Millisats, endless);
    let got = effects(asked(true).step(&says(&user(1), "r", status), NOW));
    let (event_type, data) = event(&got);
    assert_eq!((event_type, &data["authorized_amount"]), ("Subscription", &json!(9_007_199_254_740_991_u64)));
    assert!(data["authorized_recurrence"]["until"].as_u64().unwrap() <= 253_402_300_799, "{data}");
    let Effect::Start(subscription, _) = &got[1] else { panic!("{got:?}") };
    let Operation::Subscription(subscription) = started_by(subscription) else { panic!("{subscription:?}") };
    assert_eq!(subscription.view().authorized_amount, 9_007_199_254_740_991);
}

/// No subscription begins, and the wallet, which believes that it has one, gets a close.
fn closes(effects: &[Effect], subscription_id: &str) {
    let [Effect::Emit(_), Effect::Send(message)] = effects else { panic!("{effects:?}") };
    let content = content(message);
    assert_eq!((message.kind, message.recipients[0]), (28_007, user(1).public_key()));
    assert_eq!((&content["subscription_id"], &content["by_service"]), (&json!(subscription_id), &json!(true)));
}

#[test]
fn insufficient_authorization_is_closed_and_reported_as_rejected() {
    let good = || Recurrence { max_payments: Some(3), ..recurrence() };
    let authorizes = |amount| says(&user(1), "r", agrees("s", amount, Currency::Millisats, good()));
    assert_eq!(event(&effects(asked(true).step(&authorizes(4_000), NOW))).1["status"], "approved");
    let mut request = asked(true);
    let got = effects(request.step(&authorizes(3_999), NOW));
    let reason = "the user authorized 3999 millisats; at least 4000 are needed";
    assert_eq!(
        event(&got),
        ("StatusUpdate", json!({ "status": "user_rejected", "reason": reason, "request_id": "member-7" }))
    );
    closes(&got, "s");
    // For the app it is over. The close is sent to the wallet for some minutes, also to a device that could not decrypt it.
    let operation = restored(Operation::RecurringRequest(request.clone()));
    assert!(operation.is_done());
    assert_eq!(operation.correlations().len(), 2, "nobody else's subscription is closed");
    assert_eq!(request.step(&authorizes(5_000), NOW), StepResult::Ignored, "it is too late for more");
    let (key, proof) = device(&user(1), 1, Permission::Payment);
    let got = effects(request.step(&cannot_read(key, proof), NOW));
    assert!(matches!(&got[..], [Effect::SendAlso(message)] if message.recipients == [key] && message.kind == 28_007));
    assert_eq!(effects(request.clone().step(&closing(&user(1), "s"), NOW)), [Effect::Finish]);
    assert_eq!(request.step(&closing(&user(1), "other"), NOW), StepResult::Ignored);
    assert_eq!(request.step(&closing(&user(3), "s"), NOW), StepResult::Ignored);
    let end = request.wake_at().unwrap();
    assert_eq!(end, NOW.plus(TTL));
    assert_eq!(effects(request.step(&Input::Timer, end)), [Effect::Finish]);
    // The id of another's subscription, which is not closed: an error.
    let mut taken = asked(true);
    taken.step(&says(&user(1), "r", confirmed()), NOW);
    for mut request in [taken, asked(true)] {
        let got = effects(request.step(&Input::CorrelationTaken, NOW));
        assert!(matches!(got[..], [Effect::Emit(_), Effect::Finish]));
        assert_eq!(event(&got).1["status"], "error");
    }
}

fn closing(author: &Keys, subscription_id: &str) -> Input {
    let subscription_id = subscription_id.to_owned();
    let close = message::CloseSubscription { subscription_id, reason: Some("enough".to_owned()), by_service: false };
    Input::Wallet { author: author.public_key(), sent_at: NOW, message: WalletMessage::CloseSubscription(close) }
}

#[test]
fn close_before_the_agreement_is_remembered() {
    let (key, proof) = device(&user(1), 1, Permission::Payment);
    for author in [user(1).public_key(), user(2).public_key(), key] {
        let mut request = asked(true);
        request.step(&cannot_read(key, proof.clone()), NOW);
        assert!(request.parties().contains(&author));
        let Input::Wallet { message, .. } = closing(&user(1), "s") else { unreachable!() };
        let close = Input::Wallet { author, sent_at: NOW, message };
        assert_eq!(effects(request.step(&close, NOW)), []);
        assert_eq!(request.step(&close, NOW), StepResult::Ignored, "the same twice is one");
        restored(Operation::RecurringRequest(request.clone()));
        let got = effects(request.step(&says(&user(1), "r", confirmed()), NOW));
        assert_eq!(event(&got).0, "Subscription");
        let [_, Effect::Start(operation, more), Effect::Finish] = &got[..] else { panic!("{got:?}") };
        assert!(matches!(&more[..], [Effect::Announce(event)] if event.data.contains("enough")), "{more:?}");
        assert!(started_by(operation).is_done(), "it is never charged");
    }
    // A close by another user or of another subscription has no effect.
    let mut request = asked(true);
    assert_eq!(request.step(&closing(&user(3), "s"), NOW), StepResult::Ignored);
    request.step(&closing(&user(1), "other"), NOW);
    let got = effects(request.step(&says(&user(1), "r", confirmed()), NOW));
    assert!(matches!(&got[1], Effect::Start(operation, _) if !started_by(operation).is_done()));
}

#[test]
fn remembered_closes_are_limited_and_expire() {
    let mut request = asked(true);
    let kept =
        (0..100).filter(|n| request.step(&closing(&user(1), &format!("{n}")), NOW) != StepResult::Ignored).count();
    assert_eq!(kept, 16);
    request.expires_at = NOW.plus(Duration::from_secs(86_400));
    let later = NOW.plus(Duration::from_secs(3600));
    assert_eq!(effects(request.step(&closing(&user(1), "s"), later)), []);
    let got = effects(request.step(&says(&user(1), "r", confirmed()), later));
    assert!(matches!(&got[1], Effect::Start(operation, _) if started_by(operation).is_done()));
}

#[test]
fn authorization_cannot_exceed_the_request() {
    let asked_until = NOW.secs() + 86_400 * 365;
    let agreed = |change: &dyn Fn(&mut Recurrence)| {
        let mut request = asked(true);
        request.recurrence.until = Some(asked_until);
        let mut authorized_recurrence = request.recurrence.clone();
        change(&mut authorized_recurrence);
        let status = agrees("s", 4_000, Currency::Millisats, authorized_recurrence);
        let got = effects(request.step(&says(&user(1), "r", status), NOW));
        let [Effect::Emit(_), Effect::Start(operation, _), Effect::Finish] = &got[..] else { panic!("{got:?}") };
        let Operation::Subscription(subscription) = started_by(operation) else { panic!("{operation:?}") };
        let view = subscription.view();
        let mut stored = serde_json::to_value(&view.authorized_recurrence).unwrap();
        stored.as_object_mut().unwrap().retain(|_, member| !member.is_null());
        assert_eq!(event(&got).1["authorized_recurrence"], stored, "the event reports what is stored");
        view.authorized_recurrence
    };
    let asked = AuthorizedRecurrence::from(&Recurrence { until: Some(asked_until), ..recurrence() });
    // More than requested: due dates from 1970 on, every minute, without end.
    let more = agreed(&|recurrence| {
        (recurrence.first_payment_due, recurrence.until, recurrence.max_payments) = (0, None, None);
    });
    assert_eq!(more, asked);
    let more = agreed(&|recurrence| (recurrence.until, recurrence.max_payments) = (Some(u64::MAX), Some(u32::MAX)));
    assert_eq!(more, asked);
    let less = (NOW.secs() + 100, Some(NOW.secs() + 200), Some(2));
    let agreed = agreed(&|recurrence| {
        (recurrence.first_payment_due, recurrence.until, recurrence.max_payments) = less;
    });
    assert_eq!((agreed.first_payment_due, agreed.until, agreed.max_payments), less);
}

#[test]
fn messages_of_other_keys_are_ignored() {
    let mut request = asked(true);
    for status in [confirmed(), rejected(None)] {
        assert_eq!(request.step(&says(&user(3), "r", status.clone()), NOW), StepResult::Ignored);
        assert_eq!(request.step(&says(&user(1), "another", status), NOW), StepResult::Ignored);
    }
    let (key, proof) = device(&user(1), 1, Permission::Auth);
    assert_eq!(request.step(&cannot_read(key, proof), NOW), StepResult::Ignored, "may log in, not pay");
    let (key, proof) = device(&user(3), 1, Permission::Payment);
    assert_eq!(request.step(&cannot_read(key, proof), NOW), StepResult::Ignored, "of another user");
}

#[test]
fn device_can_agree_for_the_main_key() {
    let mut request = asked(false);
    let (key, proof) = device(&user(1), 1, Permission::Payment);
    let got = effects(request.step(&cannot_read(key, proof), NOW));
    let [Effect::SendAlso(message)] = &got[..] else { panic!("{got:?}") };
    assert_eq!(message.recipients, [key], "those asked before are not asked again");
    let Input::Wallet { message, .. } = says(&user(1), "r", confirmed()) else { unreachable!() };
    let got = effects(request.step(&Input::Wallet { author: key, sent_at: NOW, message }, NOW));
    let [_, Effect::Start(operation, _), _] = &got[..] else { panic!("{got:?}") };
    let Operation::Subscription(subscription) = started_by(operation) else { panic!("{operation:?}") };
    assert!(subscription.is_of(&user(1).public_key()) && !subscription.is_of(&key), "it is the main key's");
}

#[test]
fn unanswered_request_times_out() {
    let mut request = asked(true);
    let end = NOW.plus(TTL);
    assert_eq!(request.step(&Input::Timer, NOW), StepResult::Ignored);
    assert_eq!(request.step(&says(&user(1), "r", confirmed()), end), StepResult::Ignored, "too late is too late");
    let (event_type, data) = event(&effects(request.step(&Input::Timer, end)));
    assert_eq!((event_type, &data["status"]), ("StatusUpdate", &json!("timeout")));
}

#[test]
fn agreement_after_the_recurrence_ended_is_an_error() {
    let end = NOW.plus(Duration::from_secs(120));
    let mut request = asked(true);
    request.recurrence.until = Some(end.secs());
    let over = request.clone().step(&says(&user(1), "r", confirmed()), end.plus(Duration::from_secs(1)));
    let (event_type, data) = event(&effects(over));
    assert_eq!((event_type, &data["status"]), ("StatusUpdate", &json!("error")), "the user allowed until then");

    let rules = SubscriptionRules { network: Network::Regtest, retry_after: vec![TTL], keep: TTL };
    for (until, expires_at) in [
        (Some(end.secs()), end),
        (Some(NOW.plus(TTL).secs() + 1), NOW.plus(TTL)),
        (Some(u64::MAX), NOW.plus(TTL)),
        (None, NOW.plus(TTL)),
    ] {
        let wanted = RecurringPaymentRequest { recurrence: Recurrence { until, ..recurrence() }, ..wanted(false) };
        let (request, got) = RecurringRequest::start(wanted, (5_000, None), "r".to_owned(), rules.clone());
        let [Effect::Send(message)] = &got[..] else { panic!("{got:?}") };
        assert_eq!((request.wake_at().unwrap(), message.until), (expires_at, expires_at), "{until:?}");
    }
}
