//! Rates from servers that are correct, wrong, stall and break off.
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::UnixMillis;
use usher_engine::ports::{CurrencyCode, ExchangeRates as _};
use usher_http_client::tls_config;
use usher_testing::ports::{ManualClock, in_time};
use usher_testing::{WebResponse, WebServer};

use crate::{MedianRates, RateOptions, RateSource};

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);
const MINUTE: Duration = Duration::from_secs(60);

fn code(code: &str) -> CurrencyCode {
    CurrencyCode::parse(code).unwrap()
}

fn source(server: &WebServer) -> RateSource {
    RateSource::new(&server.url("/price?in={CURRENCY}&key=s3cret"), "/price").unwrap()
}

fn options(sources: Vec<RateSource>, currencies: &[&str]) -> RateOptions {
    RateOptions {
        sources,
        currencies: currencies.iter().map(|currency| code(currency)).collect(),
        refresh: MINUTE,
        timeout: MINUTE,
        tls: tls_config(Vec::new()).unwrap(),
    }
}

/// Rates of these servers in euros, read once.
async fn read(servers: &[&WebServer]) -> (MedianRates, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(NOW));
    let sources = servers.iter().map(|server| source(server)).collect();
    let rates = MedianRates::new(options(sources, &["EUR"]), clock.clone());
    rates.read().await;
    (rates, clock)
}

/// The rate, or why there is none.
fn rate(rates: &MedianRates) -> Result<String, String> {
    let rate = rates.rate(code("EUR")).map_err(|unavailable| unavailable.reason)?;
    Ok(rate.value.to_string())
}

fn price(price: &str) -> WebResponse {
    WebResponse::json(format!("{{\"price\":{price}}}"))
}

#[tokio::test]
async fn rate_is_the_median_and_liars_are_left_out() {
    let at = |text: &str| WebServer::saying(price(text));
    let (honest, string, liar) = (at("64000.5").await, at("\"64100.5\"").await, at("1").await);
    let (rates, _) = read(&[&honest, &liar, &string]).await;
    let found = rates.rate(code("EUR")).unwrap();
    assert_eq!((found.value.to_string().as_str(), found.at), ("64050.5", NOW));
    assert_eq!(found.source, format!("median of {}, {}", honest.name(), string.name()));
    let status = rates.status();
    let left_out: Vec<_> = status[0].sources.iter().map(|source| source.is_left_out).collect();
    assert_eq!(left_out, [false, true, false]);
}

#[tokio::test]
async fn prices_are_used_for_ten_minutes() {
    let server = WebServer::saying(price("64000")).await;
    let (rates, clock) = read(&[&server]).await;
    server.says(WebResponse::new(500, "", ""));
    clock.turn(9 * MINUTE);
    rates.read().await;
    assert_eq!(rate(&rates), Ok("64000".to_owned()));
    assert_eq!(rates.rate(code("EUR")).unwrap().at, NOW, "when it was read, not when it was asked for");
    clock.turn(MINUTE);
    assert!(rate(&rates).unwrap_err().contains("ten minutes"));
    server.says(price("65000"));
    rates.read().await;
    assert_eq!(rate(&rates), Ok("65000".to_owned()));
    // As after a suspend of the machine, during which the monotonic clock stood still; and when the wall clock is set back.
    clock.turn_forward(10 * MINUTE);
    assert!(rate(&rates).is_err());
    clock.turn_back(10 * MINUTE);
    assert_eq!(rate(&rates), Ok("65000".to_owned()));
    clock.turn_back(60 * MINUTE);
    clock.turn(10 * MINUTE);
    assert!(rate(&rates).is_err());
}

#[tokio::test]
async fn what_is_no_price_is_not_used_and_does_not_leak() {
    let server = WebServer::saying(price("64000")).await;
    let (rates, _) = read(&[&server]).await;
    for (response, failure) in [
        (price("-64000"), "not more than zero"),
        (price("1e99"), "more digits than any price"),
        (price("\"s3cret\""), "not a number"),
        (WebResponse::json("<html>s3cret"), "not JSON"),
        (WebResponse::json(format!("{{\"price\":64001,\"more\":\"{}\"}}", "x".repeat(300_000))), "too large"),
        (WebResponse::new(429, "", ""), "status 429"),
        (WebResponse::redirect(&server.url("/elsewhere")), "redirects"),
        (WebResponse::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"price\":64001}".to_vec()), "broke off"),
        (WebResponse::Bytes(Vec::new()), ""),
    ] {
        server.says(response);
        rates.read().await;
        let status = rates.status();
        let source = &status[0].sources[0];
        let said = source.failure.as_ref().unwrap_or_else(|| panic!("{failure}")).to_string();
        assert!(said.contains(failure) && !said.contains("s3cret") && !said.contains("127.0.0.1"), "{said}");
        assert_eq!(rate(&rates), Ok("64000".to_owned()), "the last price is used: {failure}");
    }
    assert!(server.paths().iter().all(|path| path == "/price?in=EUR&key=s3cret"), "no redirect is followed");
}

/// Waits until it is so, while the clock goes on by this.
async fn until(clock: &ManualClock, step: Duration, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            clock.turn(step);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time("the sources are read", waiting).await;
}

#[tokio::test]
async fn sources_are_read_again_and_again_and_a_slow_one_holds_up_no_other() {
    let begun = "HTTP/1.1 200 OK\r\n\r\n{\"price\":64001".to_owned();
    let drips = WebResponse::Endless(begun, " ".to_owned(), Duration::from_millis(100));
    let (quick, slow) = (WebServer::saying(price("64000")).await, WebServer::saying(drips).await);
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let clock = Arc::new(ManualClock::at(NOW));
    let sources = vec![source(&slow), source(&quick)];
    let options = RateOptions { timeout: Duration::from_secs(2), ..options(sources, &["EUR"]) };
    let rates = MedianRates::start(options, clock.clone(), &tasks, stop.clone());
    until(&clock, Duration::ZERO, || rates.status()[0].sources[1].price.is_some()).await;
    // A single source does not determine the rate before the other one's time limit.
    assert!(rate(&rates).unwrap_err().contains("since the start"));
    until(&clock, Duration::ZERO, || rates.status()[0].sources[0].failure.is_some()).await;
    assert_eq!(rate(&rates), Ok("64000".to_owned()));
    for later in ["64001", "64002"] {
        quick.says(price(later));
        until(&clock, MINUTE, || rate(&rates) == Ok(later.to_owned())).await;
    }
    stop.cancel();
    tasks.close();
    in_time("it stops", tasks.wait()).await;
}

#[tokio::test]
async fn document_with_several_currencies_is_fetched_once() {
    let server = WebServer::saying(WebResponse::json("{\"EUR\":64000,\"USD\":70000}")).await;
    let source = RateSource::new(&server.url("/all"), "/{CURRENCY}").unwrap();
    let rates = MedianRates::new(options(vec![source], &["EUR", "USD", "CHF"]), Arc::new(ManualClock::at(NOW)));
    rates.read().await;
    assert_eq!(rate(&rates), Ok("64000".to_owned()));
    assert_eq!(rates.rate(code("USD")).unwrap().value.to_string(), "70000");
    assert!(rates.rate(code("CHF")).unwrap_err().reason.contains("no source has had a price"));
    assert!(rates.rate(code("JPY")).unwrap_err().reason.contains("rates.currencies does not list it"));
    assert_eq!(server.paths(), ["/all"]);
}
