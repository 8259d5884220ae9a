//! Prices in currencies: the real program reads rates from real servers, some of which lie.

use serde_json::{Value, json};
use usher_testing::{Browser, WebResponse, WebServer};

use super::fixture::{Fixture, invoice_on};
use crate::harness::{now, shows, state_is, stream_of, until};

fn price(price: &str) -> WebResponse {
    WebResponse::json(format!("{{\"data\":{{\"EUR\":{price}}}}}"))
}

async fn until_rate(fixture: &Fixture, expected: &str) {
    until(expected, async || {
        let rate = fixture.api().get("/rates/eur").await.ok()?;
        (rate["value"] == expected).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn price_is_on_the_page_and_a_repeated_request_is_not_priced_anew() {
    // One of the sources lies.
    let mut sources = Vec::new();
    for said in ["62500", "\"62500.00\"", "1"] {
        sources.push(WebServer::saying(price(said)).await);
    }
    let source = |server: &WebServer| json!({"url": server.url("/{currency}"), "pointer": "/data/{CURRENCY}"});
    let listed = Value::from(sources.iter().map(source).collect::<Vec<_>>());
    let mut fixture = Fixture::open_with(|builder| {
        let builder = builder.set("RATES__SOURCES", listed.to_string()).set("RATES__CURRENCIES", "EUR");
        builder.set("RATES__REFRESH_SECONDS", "1").set("PAGES__SHOW_CURRENCY", "EUR")
    })
    .await;
    until_rate(&fixture, "62500").await;
    let body = json!({"description": "A book", "amount": 1_250, "currency": "eur", "expires_at": now() + 300});
    let (started, _) = fixture.api().post_once("/payments/single", "book-1", &body).await.unwrap();
    let told = (&started["amount"], &started["currency"], &started["amount_millisats"], &started["rate"]["value"]);
    assert_eq!(told, (&json!(1_250), &json!("EUR"), &json!(20_000_000), &json!("62500")));
    assert!(started["rate"]["source"].as_str().unwrap().starts_with("median of 127.0.0.1:"), "{started}");
    assert!(started["rate"]["at"].as_u64().unwrap() <= now());
    sources.iter().for_each(|source| source.says(price("31250")));
    fixture.crash().await;
    until_rate(&fixture, "31250").await;
    let repeated = fixture.api().post_once("/payments/single", "book-1", &body).await.unwrap();
    assert_eq!(repeated, (started.clone(), true));

    let (stream, page_url) = (stream_of(&started), started["page_url"].as_str().unwrap());
    let mut browser = Browser::start().await;
    let in_sats = json!({"description": "A flower", "amount": 100_000, "currency": "millisats"});
    let flower = fixture.api().post("/payments/single", &in_sats).await.unwrap();
    browser.open(flower["page_url"].as_str().unwrap()).await;
    invoice_on(&mut browser).await;
    shows(&mut browser, &["100 sats", "≈ EUR\u{a0}0.03"]).await;
    browser.open(page_url).await;
    browser.until("document.body?.innerText.includes('A book')").await;
    let invoice = invoice_on(&mut browser).await;
    shows(&mut browser, &["EUR\u{a0}12.50", "20\u{202f}000 sats"]).await;
    fixture.somebody_pays(&invoice);
    browser.until(&state_is("paid")).await;
    shows(&mut browser, &["EUR\u{a0}12.50 (20\u{202f}000 sats)"]).await;
    let paid = fixture.later(&stream, 1).await.remove(0);
    assert_eq!(paid.status(), "paid");
    let books = fixture.api().get("/payments").await.unwrap();
    let receipt = fixture.api().get(&format!("/payments/{stream}/receipt")).await.unwrap();
    for told in [&paid.data, &books["payments"][0], &receipt] {
        let price = (&told["amount"], &told["currency"], &told["amount_millisats"], &told["rate"]);
        assert_eq!(price, (&json!(1_250), &json!("EUR"), &json!(20_000_000), &started["rate"]), "{told}");
    }
}
