//! Prices in currencies: the real program reads rates from real servers, some of which lie.

use serde_json::{Value, json};
use usher_test_tools::{Browser, PriceResponse, PriceServer};

use super::fixture::{Fixture, now};
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
