//! Prices in currencies: fixed once, reported in all events, and for subscriptions fixed at each charge.

use usher_protocol::message::{Currency, RecurringResponse};

use crate::common::*;

fn iso(code: &str) -> RequestedCurrency {
    RequestedCurrency::Iso(CurrencyCode::parse(code).unwrap())
}

fn euros(cents: u64) -> SinglePaymentRequest {
    SinglePaymentRequest { amount: cents, currency: iso("EUR"), ..payment(None, 600) }
}

/// A bitcoin is 62,500 euros.
async fn priced() -> Running {
    let usher = Running::with(&[Part::Lightning, Part::Rates]).await;
    usher.rates.set("EUR", Some("62500"), NOW);
    usher
}

/// The price of 12.50 euros at 62,500 in each event.
fn told(mut data: Value) -> Value {
    let members = ["amount", "currency", "amount_millisats", "rate"];
    data.as_object_mut().unwrap().retain(|name, _| members.contains(&name.as_str()));
    data
}

fn book() -> Value {
    json!({
        "amount": 1_250, "currency": "EUR", "amount_millisats": 20_000_000,
        "rate": { "value": "62500", "source": "fake", "at": NOW.secs() },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn price_is_fixed_once_and_told_in_each_event() {
    let mut usher = priced().await;
    let started = usher.engine.payments().request(&Requester::Service, euros(1_250), None).await.unwrap();
    let price = started.price.unwrap();
    assert_eq!((price.amount, price.amount_millisats), (1_250, 20_000_000));
    let asked = next_message(&mut usher, "invoice", &[]).await;
    assert_eq!((&asked["amount"], &asked["currency"]), (&json!(1_250), &json!("EUR")));
    assert_eq!(
        asked["current_exchange_rate"],
        json!({ "rate": 62_500.0, "source": "fake", "time": NOW.secs().to_string() })
    );
    assert_eq!(usher.wallet.made()[0].amount(), Some(20_000_000));
    // Later rates do not concern it, also not after a restart.
    usher.rates.set("EUR", None, NOW);
    usher.receive(1, &user(1), says(&request_id(&asked), PaymentStatus::Approved)).await;
    assert_eq!(statuses(&usher, started.stream_id, 1).await, ["user_approved"]);
    let usher = usher.restart(Duration::ZERO).await;
    usher.wallet.settle(0);
    let events = usher.passing(Duration::from_secs(1), usher.events(started.stream_id, 2)).await;
    for event in &events {
        assert_eq!(told(data_of(event)), book());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_rate_or_within_no_limit_nothing_starts() {
    let usher = priced().await;
    let payments = usher.engine.payments();
    let refused = async |request: SinglePaymentRequest| match payments.request(&Requester::Service, request, None).await
    {
        Err(StartError::Invalid(errors)) => {
            errors.into_iter().map(|error| format!("{} {}", error.pointer, error.detail)).collect::<Vec<_>>().join("; ")
        }
        other => panic!("{other:?}"),
    };
    // 100,000,000,000 millisats are a bitcoin.
    assert!(refused(euros(6_250_001)).await.starts_with("/amount must come to at most 100000000000 millisats"));
    for currency in [iso("USD"), RequestedCurrency::Unknown] {
        let said = refused(SinglePaymentRequest { currency, ..euros(1) }).await;
        assert_eq!(said, "/currency must be `sats`, `millisats` or one of rates.currencies: EUR, JPY");
    }
    let yen = SinglePaymentRequest { currency: iso("JPY"), ..euros(1) };
    assert!(matches!(payments.request(&Requester::Service, yen, None).await, Err(StartError::RateUnavailable(_))));
    assert_eq!(usher.engine.open_streams(), 1, "only the reserved one");
    let (usher, _) = Running::paying().await;
    let without = usher.engine.payments().request(&Requester::Service, euros(1), None).await;
    let Err(StartError::Invalid(errors)) = without else { panic!("{without:?}") };
    assert_eq!(errors[0].detail, "must be `sats` or `millisats`: other currencies need exchange rates (rates.sources)");
    assert_eq!(usher.engine.open_streams(), 1, "only the reserved one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wallet_is_asked_for_an_invoice_in_millisats() {
    let mut usher = priced().await;
    let content = InvoiceContent {
        amount: 1_250,
        currency: iso("EUR"),
        description: None,
        expires_at: Some(NOW.secs() + 60),
        reference: None,
    };
    let request = RequestInvoice { main_key: user(1).public_key(), subkeys: Vec::new(), content };
    let started = usher.engine.payments().request_invoice(&Requester::Service, request, None).await.unwrap();
    let asked = next_message(&mut usher, "refund_invoice", &[]).await;
    assert_eq!((&asked["amount"], &asked["currency"]), (&json!(20_000_000), &json!("Millisats")));
    assert_eq!(asked["current_exchange_rate"], Value::Null);
    let events = usher.passing(Duration::from_secs(10), usher.events(started.stream_id, 1)).await;
    let data = data_of(&events[0]);
    assert_eq!((&data["status"], told(data.clone())), (&json!("timeout"), book()));
}

/// A subscription of 12.50 a day.
fn in_currency(currency: RequestedCurrency, most: Option<u64>, least: Option<u64>) -> RecurringPaymentRequest {
    let request = recurring(true, NOW.secs());
    RecurringPaymentRequest { amount: 1_250, currency, minimum_amount: least, max_amount_millisats: most, ..request }
}

/// A user agrees to a subscription at this price.
async fn subscribe(usher: &mut Running, request: RecurringPaymentRequest, price: Value) -> Value {
    let recurrence = request.recurrence.clone();
    let started = usher.engine.subscriptions().request(&Requester::Service, request, None).await.unwrap();
    assert_eq!(json!(started.price.unwrap().amount_millisats), price["amount_millisats"]);
    let asked = next_message(usher, "recurrence", &[]).await;
    let status = RecurringStatus::Confirmed {
        subscription_id: "s".to_owned(),
        authorized_amount: asked["amount"].as_u64().unwrap(),
        authorized_currency: Currency::Millisats,
        authorized_recurrence: recurrence,
    };
    let response = RecurringResponse { request_id: request_id(&asked), status };
    usher.receive(250, &user(1), WalletMessage::RecurringResponse(response)).await;
    let events = usher.events(started.stream_id, 1).await;
    let data = data_of(&events[0]);
    assert_eq!((&data["status"], &data["authorized_currency"]), (&json!("approved"), &json!("millisats")));
    assert_eq!(told(data), price);
    asked
}

/// What was requested in sats is reported in sats, and wallets are asked for millisats.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sats_need_no_rate() {
    let mut usher = Running::with(&[Part::Lightning]).await;
    let price = json!({ "amount": 1_250, "currency": "sats", "amount_millisats": 1_250_000 });
    let request = SinglePaymentRequest { currency: RequestedCurrency::Sats, ..euros(1_250) };
    let payment = usher.engine.payments().request(&Requester::Service, request, None).await.unwrap();
    let asked = next_message(&mut usher, "invoice", &[]).await;
    assert_eq!((&asked["amount"], &asked["currency"]), (&json!(1_250_000), &json!("Millisats")));
    let link = PaymentLinkRequest {
        amount: Some(1_250),
        currency: Some(RequestedCurrency::Sats),
        ..crate::payment_links::coffee()
    };
    let links = usher.engine.payment_links();
    let link = links.create(&Requester::Service, link, None).await.unwrap();
    let secret = link.page_url.rsplit('/').next().unwrap();
    links.pay(link.stream_id, secret, None, ClientNetwork::Loopback).await.unwrap();
    until("an invoice", async || usher.engine.watched_invoices() == 2).await;
    subscribe(&mut usher, in_currency(RequestedCurrency::Sats, None, None), price.clone()).await;
    until("an invoice", async || usher.engine.watched_invoices() == 3).await;
    for (nth, invoice) in usher.wallet.made().iter().enumerate() {
        assert_eq!(invoice.amount(), Some(1_250_000));
        usher.wallet.settle(nth);
    }
    for stream in [payment.stream_id, link.stream_id] {
        let events = usher.passing(Duration::from_secs(1), usher.events(stream, 1)).await;
        assert_eq!((&data_of(&events[0])["status"], told(data_of(&events[0]))), (&json!("paid"), price.clone()));
    }
    let charged = announced(&usher, 1).await.remove(0);
    assert_eq!((&charged["status"], told(charged.clone())), (&json!("paid"), price));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_charge_has_the_price_of_its_day() {
    let mut usher = priced().await;
    let asked = subscribe(&mut usher, in_currency(iso("EUR"), None, None), book()).await;
    assert_eq!((&asked["amount"], &asked["currency"]), (&json!(40_000_000), &json!("Millisats")), "twice that of now");
    let view = usher.engine.subscriptions().view(&Requester::Service, "s").await.unwrap();
    assert_eq!((view.amount, view.authorized_amount), (1_250, 40_000_000));
    assert_eq!(view.currency, "EUR");
    let mut seen = Vec::new();
    // The second date has no rate, and that of the third is beyond what the user agreed to. The first is paid.
    let charge = next_message(&mut usher, "invoice", &seen).await;
    assert_eq!((&charge["amount"], &charge["currency"]), (&json!(20_000_000), &json!("Millisats")));
    seen.push(request_id(&charge));
    usher.wallet.settle(0);
    usher.receive(1, &user(1), says(&seen[0], PaymentStatus::Success { preimage: None })).await;
    let first = announced(&usher, 1).await.remove(0);
    assert_eq!((&first["status"], told(first.clone())), (&json!("paid"), book()));
    usher.rates.set("EUR", None, NOW);
    usher.clock.turn(DAY);
    let second = announced(&usher, 2).await.remove(1);
    assert_eq!((&second["status"], &second["number"]), (&json!("error"), &json!(2)));
    assert_eq!(told(second.clone()), json!({ "amount": 1_250, "currency": "EUR" }));
    assert!(second["reason"].as_str().unwrap().contains("no exchange rate for EUR"), "{second}");
    assert!(second["next_attempt_at"].is_u64(), "{second}");
    // A day later the service starts again: the third date is due, and the second once more.
    usher.rates.set("EUR", Some("31249"), NOW);
    let usher = usher.restart(DAY).await;
    let later = announced(&usher, 4).await.split_off(2);
    for failed in &later {
        assert_eq!((&failed["status"], &failed["amount_millisats"]), (&json!("error"), &json!(40_002_000)));
        assert_eq!(failed["rate"]["value"], "31249");
        assert!(failed["reason"].as_str().unwrap().contains("more than the 40000000 millisats"), "{failed}");
    }
    assert_eq!(usher.wallet.made().len(), 1, "no invoice is made for what cannot be charged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_most_of_a_subscription_can_be_chosen() {
    let mut usher = priced().await;
    let request = in_currency(iso("EUR"), Some(25_000_000), None);
    assert_eq!(subscribe(&mut usher, request, book()).await["amount"], 25_000_000);
    for (request, pointer) in [
        (in_currency(iso("EUR"), Some(19_999_999), None), "/max_amount_millisats"),
        (in_currency(iso("EUR"), Some(100_000_000_001), None), "/max_amount_millisats"),
        (in_currency(RequestedCurrency::Millisats, Some(2_000), None), "/max_amount_millisats"),
        (in_currency(RequestedCurrency::Sats, Some(2_000), None), "/max_amount_millisats"),
        (in_currency(iso("EUR"), Some(25_000_000), Some(25_000_001)), "/minimum_amount"),
        (in_currency(iso("EUR"), None, Some(40_000_001)), "/minimum_amount"),
        (in_currency(RequestedCurrency::Sats, None, Some(1_251)), "/minimum_amount"),
        (in_currency(RequestedCurrency::Unknown, None, None), "/currency"),
    ] {
        let refused = usher.engine.subscriptions().request(&Requester::Service, request, None).await;
        let Err(StartError::Invalid(errors)) = refused else { panic!("{refused:?}") };
        assert_eq!(errors.iter().map(|error| error.pointer.as_str()).collect::<Vec<_>>(), [pointer]);
    }
}
