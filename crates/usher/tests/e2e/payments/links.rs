//! Payment links: many people pay at one page in a real browser, and by LNURL with our own LNURL-pay client as the wallet.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;
use usher_engine::ports::Payees as _;
use usher_lnurl::{LnurlPayees, PayeeOptions};
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::Method;
use usher_testing::Browser;

use super::fixture::{APP, Fixture, invoice_on};
use crate::harness::{refusal, shows, state_is, statuses, text, until};

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

fn tip() -> Value {
    json!({ "min": 1_000, "max": 50_000, "description": "Tip" })
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_pay_at_the_page_and_are_two_events() {
    let mut fixture = Fixture::with_pages().await;
    let mut body = coffee();
    body["return_url"] = json!(APP);
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
        shows(&mut browser, &["Bar Seven", "5 sats", "One <b>coffee</b>", "Pay with Lightning"]).await;
        browser.evaluate("document.querySelector('form button').click()").await;
        browser.until(&state_is("waiting")).await;
        let invoice = invoice_on(&mut browser).await;
        let payment = text(&mut browser, "location.pathname.split('/')[2]").await;
        fixture.somebody_pays(&invoice);
        browser.until_requested(&format!("{APP}?stream_id={}&payment_id={payment}", link.stream)).await;
        payments.push(payment);
    }
    let told = fixture.api().at_least(&link.stream, 2).await;
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
    let fixture = Fixture::open().await;
    let link = create(&fixture, &coffee()).await;
    let offer = get(&fixture, &url_in(&link.lnurl.to_uppercase())).await;
    let metadata = offer["metadata"].as_str().unwrap();
    assert_eq!(metadata, "[[\"text/plain\",\"One <b>coffee</b>\"]]");
    let bounds = (&offer["tag"], &offer["minSendable"], &offer["maxSendable"]);
    assert_eq!(bounds, (&json!("payRequest"), &json!(5_000), &json!(5_000)));
    assert_eq!(offer["commentAllowed"], 255);
    let made = ask(&fixture, &link, "amount=5000&comment=For%20%3Cb%3Eyou%3C%2Fb%3E").await;
    let invoice: Invoice = made["pr"].as_str().unwrap().parse().unwrap();
    let hash: [u8; 32] = Sha256::digest(metadata).into();
    assert_eq!((invoice.amount(), invoice.description_hash()), (Some(5_000), Some(&hash)));
    let success = &made["successAction"];
    let page = Url::parse(success["url"].as_str().unwrap()).unwrap();
    let callback = Url::parse(offer["callback"].as_str().unwrap()).unwrap();
    assert_eq!((success["tag"].as_str(), page.host_str()), (Some("url"), callback.host_str()));
    fixture.somebody_pays(invoice.as_str());
    let told = fixture.api().at_least(&link.stream, 1).await;
    assert_eq!((told[0].status(), &told[0].data["comment"]), ("paid", &json!("For <b>you</b>")));
    let mut browser = Browser::start().await;
    browser.open(page.as_str()).await;
    browser.until(&state_is("paid")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_requests_of_wallets_get_errors_that_wallets_can_read() {
    let fixture = Fixture::open().await;
    let link = create(&fixture, &tip()).await;
    let long = format!("amount=2000&comment={}", "x".repeat(256));
    for query in [
        "",
        "amount=0",
        "amount=-1000",
        "amount=999",
        "amount=50001",
        "amount=1e4",
        "amount=2000.5",
        "amount=%2B2000",
        "amount=99999999999999999999999999",
        "amount=2000&amount=3000",
        "amount=2000&comment=a%00b",
        &long,
    ] {
        let answer = ask(&fixture, &link, query).await;
        assert!(answer["status"] == "ERROR" && !answer["reason"].as_str().unwrap().is_empty(), "{query}: {answer}");
    }
    let fraction = ask(&fixture, &link, "amount=2500").await;
    assert!(fraction["reason"].as_str().unwrap().starts_with("whole sats only"), "{fraction}");
    assert_eq!(fixture.wallet.metrics().executed(Method::MakeInvoice), 0);
    // Neither a link's page secret nor another link's opens it.
    let url = url_in(&link.lnurl);
    let [page_secret, lnurl_secret] = [&link.page, &url].map(|url| url.rsplit('/').next().unwrap());
    let other = create(&fixture, &coffee()).await;
    for wrong in [
        url.replace(lnurl_secret, page_secret),
        url.replace(&link.stream, &other.stream),
        url.replace(&link.stream, "nothing"),
    ] {
        assert!(wrong != url && get(&fixture, &wrong).await["status"] == "ERROR", "{wrong}");
    }
    assert_eq!(fixture.post_form(&link.page.replace(page_secret, lnurl_secret), &[("amount", "2")]).await.0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_chooses_the_amount() {
    let fixture = Fixture::open().await;
    let link = create(&fixture, &tip()).await;
    for (typed, said) in [
        ("<script>", "This is not an amount"),
        ("5.5", "too many decimal places"),
        ("0", "from 1 sats to 50 sats"),
        ("51", "from 1 sats to 50 sats"),
    ] {
        let (status, text) = fixture.post_form(&link.page, &[("amount", typed)]).await;
        assert!(status == 422 && text.contains(said) && !text.contains("<script>"), "{typed}: {text}");
    }
    let mut browser = Browser::start().await;
    browser.open(&link.page).await;
    browser.until("document.readyState === 'complete'").await;
    browser.evaluate("document.getElementById('amount').value = '21'; document.querySelector('form').submit()").await;
    browser.until(&state_is("waiting")).await;
    let invoice = invoice_on(&mut browser).await;
    fixture.somebody_pays(&invoice);
    assert_eq!(fixture.api().at_least(&link.stream, 1).await[0].data["amount"], 21_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_ends_and_what_was_given_out_before_is_still_paid() {
    let fixture = Fixture::open().await;
    let mut body = coffee();
    body["max_payments"] = json!(1);
    let (once, closed) = (create(&fixture, &body).await, create(&fixture, &coffee()).await);
    let mut early = Vec::new();
    for link in [&once, &once, &closed] {
        early.push(ask(&fixture, link, "amount=5000").await["pr"].as_str().unwrap().to_owned());
    }
    fixture.somebody_pays(&early[0]);
    fixture.api().at_least(&once.stream, 1).await;
    for _ in 0..2 {
        let answer = fixture.api().delete(&format!("/payment-links/{}", closed.stream)).await.unwrap();
        assert_eq!(answer, json!({ "stream_id": closed.stream, "status": "closed" }));
    }
    for link in [&once, &closed] {
        assert_eq!(get(&fixture, &url_in(&link.lnurl)).await["status"], "ERROR");
        assert_eq!(fixture.post_form(&link.page, &[]).await.0, 410);
    }
    let listed = fixture.api().get("/payment-links").await.unwrap();
    let listed: Vec<_> =
        listed["links"].as_array().unwrap().iter().map(|link| (&link["lnurl"], &link["status"])).collect();
    let expected = [(json!(once.lnurl), json!("completed")), (json!(closed.lnurl), json!("closed"))];
    assert_eq!(listed, expected.each_ref().map(|(lnurl, status)| (lnurl, status)));
    // Late money is never lost.
    for (invoice, link, count) in [(&early[1], &once, 2), (&early[2], &closed, 1)] {
        fixture.somebody_pays(invoice);
        assert_eq!(fixture.later(&link.stream, count).await.len(), count);
    }
    for stream in ["nothing", "lightning-address", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11"] {
        assert_eq!(refusal(fixture.api().delete(&format!("/payment-links/{stream}")).await).0, 404, "{stream}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_services_name_is_a_lightning_address() {
    let mut fixture = Fixture::open().await;
    let link = create(&fixture, &coffee()).await;
    let base = Url::parse(&link.page).unwrap();
    let authority = format!("{}:{}", base.host_str().unwrap(), base.port().unwrap());
    let address = |name: &str| format!("http://{authority}/.well-known/lnurlp/{name}");
    assert_eq!(get(&fixture, &address("shop")).await["status"], "ERROR", "it is off");
    let identifier = "shop@pay.example";
    fixture.usher.set("PAGES__PUBLIC_URL", format!("http://{authority}"));
    fixture.usher.set("PROFILE__NIP05", identifier);
    fixture.usher.set("PAYMENTS__LIGHTNING_ADDRESS", "true");
    fixture.crash().await;
    let metadata = json!([["text/plain", identifier], ["text/identifier", identifier]]).to_string();
    // The address is that of the profile, which is published once a relay is connected.
    until("the address", async || (get(&fixture, &address("shop")).await["status"] != "ERROR").then_some(())).await;
    for name in ["shop", "shop+tips", "Shop", "sHop+Tips"] {
        assert_eq!(get(&fixture, &address(name)).await["metadata"], metadata, "{name}");
    }
    for wrong in ["bob", "sho", "shopp", "_", "shop%00", "..%2fshop"] {
        let answer = get(&fixture, &address(wrong)).await;
        assert_eq!(answer, json!({ "status": "ERROR", "reason": "there is no such Lightning address" }), "{wrong}");
    }
    // The wallet of our own refunds pays there.
    let tls = usher_http_client::tls_config(Vec::new()).unwrap();
    let payer = LnurlPayees::new(PayeeOptions { tls, allow_private: true });
    fixture.somebody_pays(&payer.invoice(&format!("shop@{authority}"), 21_000).await.unwrap());
    let told = fixture.api().at_least("lightning-address", 1).await;
    assert_eq!((told[0].status(), &told[0].data["amount"]), ("paid", &json!(21_000)));
    let listed = fixture.api().get("/payment-links").await.unwrap();
    assert_eq!(listed["links"].as_array().unwrap().len(), 1, "it is not among the app's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_is_bounded_and_somebody_else_is_served() {
    let fixture = Fixture::open_with(|builder| builder.set("PAGES__TRUSTED_PROXIES", "127.0.0.1/32")).await;
    let link = create(&fixture, &coffee()).await;
    let callback = get(&fixture, &url_in(&link.lnurl)).await["callback"].as_str().unwrap().to_owned();
    let is_served = async |address: &str| {
        let request = fixture.api().http.get(format!("{callback}?amount=5000")).header("x-forwarded-for", address);
        request.send().await.unwrap().json::<Value>().await.unwrap()["pr"].is_string()
    };
    let mut served = 0;
    for _ in 0..300 {
        served += u64::from(is_served("198.51.100.7").await);
    }
    assert!((60..=120).contains(&served), "{served} of 300 requests of one network");
    assert!(is_served("203.0.113.9").await, "another network");
    assert_eq!(fixture.api().metric("usher_operations_open{kind=\"link_payment\"}").await, served + 1);
}
