//! Prices in currencies: the real program reads rates from real servers, some of which lie.

use serde_json::{Value, json};
use usher_sandbox::wallet::{Agreement, Policy, RequestContent};
use usher_test_tools::{Browser, PriceResponse, PriceServer};

use super::fixture::{Fixture, now, statuses};
use crate::harness::{CallError, LONG};

/// Three sources of euros, of which one lies, and a service that reads them.
struct Market {
    sources: [PriceServer; 3],
    fixture: Fixture,
}

fn price(price: &str) -> PriceResponse {
    PriceResponse::json(&format!("{{\"data\":{{\"EUR\":{price}}}}}"))
}

impl Market {
    async fn open() -> Self {
        let sources = [
            PriceServer::start(price("62500")).await,
            PriceServer::start(price("\"62500.00\"")).await,
            PriceServer::start(price("1")).await,
        ];
        let source = |server: &PriceServer| json!({"url": server.url("/{currency}"), "pointer": "/data/{CURRENCY}"});
        let listed = Value::from(sources.iter().map(source).collect::<Vec<_>>());
        let fixture = Fixture::open_with(|builder| {
            builder
                .set("RATES__SOURCES", listed.to_string())
                .set("RATES__CURRENCIES", "EUR")
                .set("RATES__REFRESH_SECONDS", "1")
        })
        .await;
        let market = Self { sources, fixture };
        market.until(|rate| rate.as_ref().is_ok_and(|rate| rate["value"] == "62500")).await;
        market
    }

    /// Waits until this holds of the rate.
    async fn until(&self, holds: impl Fn(&Result<Value, CallError>) -> bool) {
        let deadline = tokio::time::Instant::now() + LONG;
        loop {
            let rate = self.fixture.api().get("/rates/eur").await;
            if holds(&rate) {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "the rate is {rate:?}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    fn says(&self, said: &str) {
        self.sources.iter().for_each(|source| source.says(price(said)));
    }
}

fn book() -> Value {
    json!({"description": "A book", "amount": 1_250, "currency": "eur", "expires_at": now() + 300})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn price_is_on_the_page_and_a_repeated_request_is_not_priced_anew() {
    let mut market = Market::open().await;
    let body = book();
    let (started, _) = market.fixture.api().post_once("/payments/single", "book-1", &body).await.unwrap();
    let told = (&started["amount"], &started["currency"], &started["amount_millisats"], &started["rate"]["value"]);
    assert_eq!(told, (&json!(1_250), &json!("EUR"), &json!(20_000_000), &json!("62500")));
    assert!(started["rate"]["source"].as_str().unwrap().starts_with("median of 127.0.0.1:"), "{started}");
    assert!(started["rate"]["at"].as_u64().unwrap() <= now());
    market.says("31250");
    market.fixture.crash().await;
    market.until(|rate| rate.as_ref().is_ok_and(|rate| rate["value"] == "31250")).await;
    let repeated = market.fixture.api().post_once("/payments/single", "book-1", &body).await.unwrap();
    assert_eq!(repeated, (started.clone(), true));

    let (stream, page_url) = (started["stream_id"].as_str().unwrap(), started["page_url"].as_str().unwrap());
    let mut browser = Browser::start().await;
    browser.open(page_url).await;
    browser.until("!!document.getElementById('invoice')?.value").await;
    let text = browser.evaluate("document.body.innerText").await;
    let text = text.as_str().unwrap();
    assert!(text.contains("EUR\u{a0}12.50") && text.contains("20\u{202f}000 sats"), "{text}");
    let invoice = browser.evaluate("document.getElementById('invoice').value").await;
    let somebody = market.fixture.network.open_account("somebody", 100_000_000);
    somebody.pay(invoice.as_str().unwrap(), None).unwrap();
    browser.until("document.body?.dataset.state === 'paid'").await;
    let text = browser.evaluate("document.body.innerText").await;
    assert!(text.as_str().unwrap().contains("EUR\u{a0}12.50 (20\u{202f}000 sats)"), "{text}");
    let paid = market.fixture.later(stream, 1).await.remove(0);
    assert_eq!((paid.status(), &paid.data["amount_millisats"]), ("paid", &json!(20_000_000)));
    assert_eq!((&paid.data["amount"], &paid.data["currency"]), (&json!(1_250), &json!("EUR")));
    assert_eq!(paid.data["rate"], started["rate"]);
    let books = market.fixture.api().get("/payments").await.unwrap();
    let booked = &books["payments"][0];
    assert_eq!((&booked["amount"], &booked["currency"]), (&json!(1_250), &json!("EUR")));
    assert_eq!((&booked["amount_millisats"], &booked["rate"]), (&json!(20_000_000), &started["rate"]));
    let receipt = market.fixture.api().get(&format!("/payments/{stream}/receipt")).await.unwrap();
    assert_eq!((&receipt["amount"], &receipt["currency"]), (&json!(1_250), &json!("EUR")));
    assert_eq!(receipt["rate"], started["rate"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_pay_invoice_and_subscribe_in_euros() {
    let market = Market::open().await;
    let fixture = &market.fixture;
    let user = fixture.user(Policy::silent()).await;
    let of_user = |amount: u64| {
        json!({
            "main_key": user.main_key().to_hex(), "subkeys": [], "description": "Tea", "amount": amount,
            "currency": "EUR", "expires_at": now() + 120,
        })
    };
    // 5 cents are 80 sats.
    let stream = fixture.start("/payments/single", &of_user(5)).await;
    let request = user.next_request(LONG).await.unwrap();
    let RequestContent::Payment(asked) = &request.content else { panic!("{request:?}") };
    assert_eq!((asked.amount, asked.currency.to_string().as_str()), (5, "EUR"));
    assert_eq!(fixture.invoice_of(&request).amount(), Some(80_000));
    user.fulfil(&request).await.unwrap();
    assert_eq!(statuses(&fixture.api().finished(&stream).await).last(), Some(&"paid"));

    let content = json!({"amount": 5, "currency": "EUR", "expires_at": now() + 120});
    let body = json!({"recipient_key": user.main_key().to_hex(), "subkeys": [], "content": content});
    let started = fixture.api().post("/invoices/request", &body).await.unwrap();
    assert_eq!(started["amount_millisats"], 80_000);
    let request = user.next_request(LONG).await.unwrap();
    user.fulfil(&request).await.unwrap();
    let event = fixture.api().finished(started["stream_id"].as_str().unwrap()).await.remove(0);
    assert_eq!(
        (event.kind.as_str(), &event.data["amount"], &event.data["currency"]),
        ("InvoiceResponse", &json!(5), &json!("EUR"))
    );
    assert_eq!((&event.data["amount_millisats"], &event.data["rate"]), (&json!(80_000), &started["rate"]));

    let mut body = of_user(5);
    body["auto_charge"] = json!(true);
    body["recurrence"] = json!({"calendar": "monthly", "first_payment_due": now(), "max_payments": 1});
    let started = fixture.api().post("/payments/recurring", &body).await.unwrap();
    let request = user.next_request(LONG).await.unwrap();
    let RequestContent::Recurring(asked) = &request.content else { panic!("{request:?}") };
    assert_eq!((asked.amount, asked.currency.to_string().as_str()), (160_000, "Millisats"));
    user.agree(&request, &Agreement::default()).unwrap();
    let agreed = fixture.api().finished(started["stream_id"].as_str().unwrap()).await.remove(0);
    assert_eq!((&agreed.data["authorized_amount"], &agreed.data["amount"]), (&json!(160_000), &json!(5)));
    let charge = user.next_request(LONG).await.unwrap();
    assert_eq!(fixture.invoice_of(&charge).amount(), Some(80_000));
    user.fulfil(&charge).await.unwrap();
    let charged = fixture.api().at_least("subscriptions", 1).await.remove(0);
    let told = (
        &charged.data["status"],
        &charged.data["amount"],
        &charged.data["currency"],
        &charged.data["amount_millisats"],
    );
    assert_eq!(told, (&json!("paid"), &json!(5), &json!("EUR"), &json!(80_000)));
    let id = agreed.data["subscription_id"].as_str().unwrap();
    let subscription = fixture.api().get(&format!("/subscriptions/{id}")).await.unwrap();
    assert_eq!((&subscription["amount"], &subscription["currency"]), (&json!(5), &json!("EUR")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sources_that_disagree_are_no_rate_and_everybody_is_told() {
    let market = Market::open().await;
    let api = market.fixture.api();
    let ready = api.get("/health/ready").await.unwrap();
    let state = &ready["rates"]["currencies"][0];
    assert_eq!((&ready["rates"]["ready"], &state["currency"]), (&json!(true), &json!("EUR")));
    assert_eq!(state["sources"][2]["problem"], "it is more than 2 % away from the others");
    let liar = market.sources[2].name();
    let left_out = format!("usher_exchange_rate_source_left_out{{currency=\"EUR\",source=\"{liar}\"}}");
    assert_eq!((api.metric(&left_out).await, api.metric("usher_exchange_rate{currency=\"EUR\"}").await), (1, 62_500));

    market.sources[1].says(price("100"));
    market
        .until(|rate| matches!(rate, Err(CallError::Status(503, problem)) if problem["code"] == "rate_unavailable"))
        .await;
    let (status, problem) = market.fixture.refused("/payments/single", &book()).await;
    assert_eq!((status, &problem["code"]), (503, &json!("rate_unavailable")));
    assert!(problem["detail"].as_str().unwrap().contains("differ by more than 2 %"), "{problem}");
    assert_eq!(api.metric("usher_exchange_rate_available{currency=\"EUR\"}").await, 0);
    let ready = api.get("/health/ready").await.unwrap();
    assert_eq!((&ready["ready"], &ready["rates"]["ready"]), (&json!(true), &json!(false)), "{ready}");

    let mut dollars = book();
    dollars["currency"] = json!("USD");
    let (status, problem) = market.fixture.refused("/payments/single", &dollars).await;
    assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!("/currency")));
    assert!(problem["errors"][0]["detail"].as_str().unwrap().contains("rates.currencies: EUR"), "{problem}");
    let (status, problem) = market.fixture.refused_get("/rates/usd").await;
    assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!("/currency")));
    let mut large = book();
    large["amount"] = json!(10_000_000);
    market.says("62500");
    market.until(Result::is_ok).await;
    let (status, problem) = market.fixture.refused("/payments/single", &large).await;
    assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!("/amount")), "{problem}");
}
