//! Payment links: many people pay at one page in a real browser, and by LNURL with our own LNURL-pay client as the wallet.

use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;
use usher_engine::ports::Payees as _;
use usher_lnurl::{LnurlPayees, PayeeOptions};
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::{Account, Method};
use usher_test_tools::Browser;

use super::fixture::{Fixture, statuses};
use crate::harness::{CallError, Event};

async fn service() -> Fixture {
    Fixture::open_with(|builder| {
        builder.set("PAGES__RETURN_URLS", "http://127.0.0.1:9/app").set("PROFILE__DISPLAY_NAME", "Bar Seven")
    })
    .await
}

struct Link {
    stream: String,
    page: String,
    lnurl: String,
}

async fn create(fixture: &Fixture, body: &Value) -> Link {
    let created = fixture.api().post("/payment-links", body).await.unwrap();
    let text = |name: &str| created[name].as_str().unwrap().to_owned();
    Link { stream: text("stream_id"), page: text("page_url"), lnurl: text("lnurl") }
}

fn coffee() -> Value {
    json!({ "amount": 5_000, "description": "One <b>coffee</b>", "request_id": "table-7" })
}

fn somebody(fixture: &Fixture) -> Account {
    fixture.network.open_account(&format!("somebody {}", rand()), 10_000_000)
}

fn rand() -> String {
    usher_protocol::Keys::generate().public_key().to_hex()
}

/// The URL in an LNURL, by another library than the one that made it.
fn url_in(lnurl: &str) -> String {
    let (_, data) = bech32::decode(lnurl).unwrap();
    String::from_utf8(data).unwrap()
}

async fn get(fixture: &Fixture, url: &str) -> Value {
    let response = fixture.api().http.get(url).header("host", "evil.example").send().await.unwrap();
    assert_eq!(response.status(), 200, "{url}");
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    response.json().await.unwrap()
}

/// Asks for an invoice as a wallet does.
async fn ask(fixture: &Fixture, link: &Link, query: &str) -> Value {
    let offer = get(fixture, &url_in(&link.lnurl)).await;
    get(fixture, &format!("{}?{query}", offer["callback"].as_str().unwrap())).await
}

async fn events(fixture: &Fixture, stream: &str, count: usize) -> Vec<Event> {
    fixture.api().at_least(stream, count).await
}

/// Posts the page's form, as a browser without JavaScript does: status and text.
async fn press(page: &str, amount: Option<&str>) -> (u16, String) {
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    if let Some(amount) = amount {
        form.append_pair("amount", amount);
    }
    let request = http.post(page).header("content-type", "application/x-www-form-urlencoded").body(form.finish());
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_pay_at_the_page_and_are_two_events() {
    let mut fixture = service().await;
    let mut body = coffee();
    body["return_url"] = json!("http://127.0.0.1:9/app");
    let link = create(&fixture, &body).await;
    assert_eq!(fixture.wallet.metrics().executed(Method::MakeInvoice), 0, "nobody has asked");
    let mut payments = Vec::new();
    for phone in [true, false] {
        let mut browser = Browser::start().await;
        if phone {
            browser.be_a_phone().await;
        }
        browser.open(&link.page).await;
        browser.until("document.readyState === 'complete'").await;
        let text = browser.evaluate("document.body.innerText").await;
        for said in ["Bar Seven", "5 sats", "One <b>coffee</b>", "Pay with Lightning"] {
            assert!(text.as_str().unwrap().contains(said), "{said}\n{text}");
        }
        browser.evaluate("document.querySelector('form button').click()").await;
        browser.until("document.body?.dataset.state === 'waiting'").await;
        browser.until("!!document.getElementById('invoice')?.value").await;
        let invoice = browser.evaluate("document.getElementById('invoice').value").await;
        let page = browser.evaluate("location.pathname").await;
        let payment = page.as_str().unwrap().split('/').nth(2).unwrap().to_owned();
        somebody(&fixture).pay(invoice.as_str().unwrap(), None).unwrap();
        let back = format!("http://127.0.0.1:9/app?stream_id={}&payment_id={payment}", link.stream);
        browser.until_requested(&back).await;
        payments.push(payment);
    }
    let told = events(&fixture, &link.stream, 2).await;
    assert_eq!(statuses(&told), ["paid", "paid"]);
    for (event, payment) in told.iter().zip(&payments) {
        let data = &event.data;
        assert_eq!((&data["payment_id"], &data["request_id"]), (&json!(payment), &json!("table-7")));
        assert_eq!((&data["amount"], &data["amount_millisats"]), (&json!(5_000), &json!(5_000)));
        assert_eq!(data["preimage"].as_str().unwrap().len(), 64);
    }
    fixture.crash().await;
    assert_eq!(fixture.api().events(&link.stream).await.0.len(), 2);
    // The books and refunds know each payment by its id.
    let books = fixture.api().get("/payments?status=paid").await.unwrap();
    assert_eq!(books["payments"].as_array().unwrap().len(), 2);
    let receipt = fixture.api().get(&format!("/payments/{}/receipt", payments[0])).await.unwrap();
    assert_eq!(receipt["amount_millisats"], 5_000);
    let refund = fixture.api().post(&format!("/payments/{}/refund", payments[0]), &json!({})).await.unwrap();
    assert!(refund["page_url"].as_str().unwrap().contains("/refund/"));
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wallet_pays_by_lnurl_with_a_comment() {
    let fixture = service().await;
    let link = create(&fixture, &coffee()).await;
    let offer = get(&fixture, &url_in(&link.lnurl.to_uppercase())).await;
    let metadata = offer["metadata"].as_str().unwrap();
    assert_eq!(metadata, "[[\"text/plain\",\"One <b>coffee</b>\"]]");
    assert_eq!(
        (&offer["tag"], &offer["minSendable"], &offer["maxSendable"]),
        (&json!("payRequest"), &json!(5_000), &json!(5_000))
    );
    assert_eq!(offer["commentAllowed"], 255);
    let made = ask(&fixture, &link, "amount=5000&comment=For%20%3Cb%3Eyou%3C%2Fb%3E").await;
    let invoice: Invoice = made["pr"].as_str().unwrap().parse().unwrap();
    let hash: [u8; 32] = Sha256::digest(metadata).into();
    assert_eq!((invoice.amount(), invoice.description_hash()), (Some(5_000), Some(&hash)));
    assert_eq!(made["routes"], json!([]));
    let success = &made["successAction"];
    let page = Url::parse(success["url"].as_str().unwrap()).unwrap();
    let callback = Url::parse(offer["callback"].as_str().unwrap()).unwrap();
    assert_eq!((success["tag"].as_str(), page.host_str()), (Some("url"), callback.host_str()));
    somebody(&fixture).pay(invoice.as_str(), None).unwrap();
    let told = events(&fixture, &link.stream, 1).await;
    assert_eq!((told[0].status(), &told[0].data["comment"]), ("paid", &json!("For <b>you</b>")));
    let mut browser = Browser::start().await;
    browser.open(page.as_str()).await;
    browser.until("document.body?.dataset.state === 'paid'").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_requests_of_wallets_get_errors_that_wallets_can_read() {
    let fixture = service().await;
    let link = create(&fixture, &json!({ "min": 1_000, "max": 50_000, "description": "Tip" })).await;
    let long = "x".repeat(256);
    for query in [
        "",
        "amount=",
        "amount=0",
        "amount=-1000",
        "amount=999",
        "amount=50001",
        "amount=1e4",
        "amount=2000.5",
        "amount=%2B2000",
        "amount=99999999999999999999999999",
        "amount=NaN",
        "amount=2000&amount=3000",
        "amount=2000&comment=a%00b",
        &format!("amount=2000&comment={long}"),
    ] {
        let answer = ask(&fixture, &link, query).await;
        assert_eq!(answer["status"], "ERROR", "{query}: {answer}");
        assert!(!answer["reason"].as_str().unwrap().is_empty());
    }
    let fraction = ask(&fixture, &link, "amount=2500").await;
    assert!(fraction["reason"].as_str().unwrap().starts_with("whole sats only"), "{fraction}");
    assert_eq!(fixture.wallet.metrics().executed(Method::MakeInvoice), 0);
    // Neither a link's page secret nor another link's opens it.
    let url = url_in(&link.lnurl);
    let page_secret = link.page.rsplit('/').next().unwrap();
    let lnurl_secret = url.rsplit('/').next().unwrap();
    assert_ne!(page_secret, lnurl_secret);
    let other = create(&fixture, &coffee()).await;
    for wrong in [
        url.replace(lnurl_secret, page_secret),
        url.replace(&link.stream, &other.stream),
        url.replace(&link.stream, "nothing"),
    ] {
        assert_eq!(get(&fixture, &wrong).await["status"], "ERROR", "{wrong}");
    }
    let (status, ..) = press(&link.page.replace(page_secret, lnurl_secret), Some("2")).await;
    assert_eq!(status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_chooses_the_amount() {
    let fixture = service().await;
    let link = create(&fixture, &json!({ "min": 1_000, "max": 50_000, "description": "Tip" })).await;
    for (typed, said) in [
        ("", "This is not an amount"),
        ("-5", "This is not an amount"),
        ("<script>", "This is not an amount"),
        ("0.0001", "too many decimal places"),
        ("0", "from 1 sats to 50 sats"),
        ("51", "from 1 sats to 50 sats"),
        ("99999999999999999999", "from 1 sats to 50 sats"),
    ] {
        let (status, text) = press(&link.page, Some(typed)).await;
        assert_eq!(status, 422, "{typed}");
        assert!(text.contains(said) && !text.contains("<script>"), "{typed}: {text}");
    }
    let mut browser = Browser::start().await;
    browser.open(&link.page).await;
    browser.until("document.readyState === 'complete'").await;
    browser.evaluate("document.getElementById('amount').value = '21,5'; document.querySelector('form').submit()").await;
    browser.until("document.body?.dataset.state === 'waiting'").await;
    browser.until("!!document.getElementById('invoice')?.value").await;
    let invoice = browser.evaluate("document.getElementById('invoice').value").await;
    somebody(&fixture).pay(invoice.as_str().unwrap(), None).unwrap();
    assert_eq!(events(&fixture, &link.stream, 1).await[0].data["amount"], 21_500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_ends_and_what_was_given_out_before_is_still_paid() {
    let fixture = service().await;
    let mut body = coffee();
    body["max_payments"] = json!(1);
    let (once, closed) = (create(&fixture, &body).await, create(&fixture, &coffee()).await);
    let early: Vec<String> = {
        let mut early = Vec::new();
        for link in [&once, &once, &closed] {
            early.push(ask(&fixture, link, "amount=5000").await["pr"].as_str().unwrap().to_owned());
        }
        early
    };
    somebody(&fixture).pay(&early[0], None).unwrap();
    events(&fixture, &once.stream, 1).await;
    for _ in 0..2 {
        let answer = fixture.api().delete(&format!("/payment-links/{}", closed.stream)).await.unwrap();
        assert_eq!(answer, json!({ "stream_id": closed.stream, "status": "closed" }));
    }
    for link in [&once, &closed] {
        assert_eq!(get(&fixture, &url_in(&link.lnurl)).await["status"], "ERROR");
        assert_eq!(press(&link.page, None).await.0, 410);
    }
    let listed = fixture.api().get("/payment-links?limit=1").await.unwrap();
    assert_eq!(
        (&listed["links"][0]["stream_id"], &listed["links"][0]["status"]),
        (&json!(once.stream), &json!("completed"))
    );
    let next = listed["next"].as_str().unwrap();
    let listed = fixture.api().get(&format!("/payment-links?after={next}")).await.unwrap();
    assert_eq!((&listed["links"][0]["lnurl"], &listed["links"][0]["status"]), (&json!(closed.lnurl), &json!("closed")));
    // Late money is never lost.
    for (invoice, link, count) in [(&early[1], &once, 2), (&early[2], &closed, 1)] {
        somebody(&fixture).pay(invoice, None).unwrap();
        assert_eq!(fixture.later(&link.stream, count).await.len(), count);
    }
    for stream in ["nothing", "lightning-address", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11"] {
        let refused = fixture.api().delete(&format!("/payment-links/{stream}")).await;
        assert!(matches!(refused, Err(CallError::Status(404, _))), "{stream}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_between_the_payment_and_its_event_each_payment_is_one_event() {
    let mut fixture = service().await;
    let link = create(&fixture, &coffee()).await;
    for killed in 1..=3 {
        fixture.usher.stand_still_at(Some("settled"));
        fixture.crash().await;
        let invoice = ask(&fixture, &link, "amount=5000").await["pr"].as_str().unwrap().to_owned();
        somebody(&fixture).pay(&invoice, None).unwrap();
        // Long enough for the settlement to arrive, if the machine is not busy with something else.
        tokio::time::sleep(Duration::from_millis(400)).await;
        fixture.usher.stand_still_at(None);
        fixture.crash().await;
        assert_eq!(events(&fixture, &link.stream, killed).await.len(), killed);
    }
    fixture.crash().await;
    let (told, _) = fixture.api().events(&link.stream).await;
    let payments: std::collections::BTreeSet<_> =
        told.iter().map(|event| event.data["payment_id"].as_str().unwrap()).collect();
    assert_eq!((told.len(), payments.len()), (3, 3));
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 15_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_services_name_is_a_lightning_address() {
    let mut fixture = service().await;
    let link = create(&fixture, &coffee()).await;
    let base = Url::parse(&link.page).unwrap();
    let authority = format!("{}:{}", base.host_str().unwrap(), base.port().unwrap());
    let address = |name: &str| format!("http://{authority}/.well-known/lnurlp/{name}");
    assert_eq!(get(&fixture, &address("shop")).await["status"], "ERROR", "it is off");
    fixture.usher.set("PAGES__PUBLIC_URL", format!("http://{authority}"));
    fixture.usher.set("PROFILE__NIP05", "shop@pay.example");
    fixture.usher.set("PAYMENTS__LIGHTNING_ADDRESS", "true");
    fixture.crash().await;
    let offer = get(&fixture, &address("shop")).await;
    let identifier = "shop@pay.example";
    let metadata = json!([["text/plain", identifier], ["text/identifier", identifier]]).to_string();
    assert_eq!(offer["metadata"], metadata);
    for name in ["shop+tips", "Shop", "SHOP", "sHop+Tips"] {
        assert_eq!(get(&fixture, &address(name)).await["metadata"], metadata, "{name}");
    }
    for wrong in ["bob", "sho", "shopp", "_", "shop%00", "admin", "..%2fshop"] {
        let answer = get(&fixture, &address(wrong)).await;
        assert_eq!(answer, json!({ "status": "ERROR", "reason": "there is no such Lightning address" }), "{wrong}");
    }
    // The wallet of our own refunds pays there.
    let tls = usher_http_client::tls_config(Vec::new()).unwrap();
    let payer = LnurlPayees::new(PayeeOptions { tls, allow_private: true });
    let invoice: Invoice = payer.invoice(&format!("shop@{authority}"), 21_000).await.unwrap().parse().unwrap();
    somebody(&fixture).pay(invoice.as_str(), None).unwrap();
    let told = events(&fixture, "lightning-address", 1).await;
    assert_eq!((told[0].status(), &told[0].data["amount"]), ("paid", &json!(21_000)));
    let listed = fixture.api().get("/payment-links").await.unwrap();
    assert_eq!(listed["links"].as_array().unwrap().len(), 1, "it is not among the app's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_is_bounded_and_somebody_else_is_served() {
    let fixture = Fixture::open_with(|builder| builder.set("PAGES__TRUSTED_PROXIES", "127.0.0.1/32")).await;
    let link = create(&fixture, &coffee()).await;
    let callback = get(&fixture, &url_in(&link.lnurl)).await["callback"].as_str().unwrap().to_owned();
    let from = |address: String| {
        let request = fixture.api().http.get(format!("{callback}?amount=5000")).header("x-forwarded-for", address);
        async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
    };
    let mut served = 0;
    for _ in 0..300 {
        served += u32::from(from("198.51.100.7".to_owned()).await["pr"].is_string());
    }
    assert!((60..=120).contains(&served), "{served} of 300 requests of one network");
    assert!(from("203.0.113.9".to_owned()).await["pr"].is_string(), "another network");
    let open = fixture.api().metric("usher_operations_open{kind=\"link_payment\"}").await;
    assert_eq!(open, u64::from(served) + 1);
}
