//! Refunds: to the payer's wallet and to an invoice on the page, across kills, and never more than was paid.

use futures_util::future::join_all;
use serde_json::{Value, json};
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::Account;
use usher_sandbox::wallet::{Policy, Wallet};
use usher_testing::{Browser, WebResponse, WebServer};

use super::fixture::{Fixture, invoice};
use crate::harness::{LONG, is_for_everybody, shows, state_is, statuses, stream_of, until};

/// A user has paid this much; the stream.
async fn paid(fixture: &Fixture, amount: u64) -> (String, Wallet) {
    let user = fixture.user(Policy::silent()).await;
    let (stream, _) = paid_by(fixture, &user, amount).await;
    (stream, user)
}

/// The stream, and the invoice.
async fn paid_by(fixture: &Fixture, user: &Wallet, amount: u64) -> (String, String) {
    let stream = fixture.ask(user, amount).await;
    let request = user.next_request(LONG).await.unwrap();
    user.fulfil(&request).await.unwrap();
    fixture.api().finished(&stream).await;
    (stream, fixture.invoice_of(&request).as_str().to_owned())
}

async fn refund(fixture: &Fixture, payment: &str, body: &Value) -> (String, String) {
    let started = fixture.api().post(&format!("/payments/{payment}/refund"), body).await.unwrap();
    (stream_of(&started), started["page_url"].as_str().unwrap().to_owned())
}

async fn code(fixture: &Fixture, payment: &str, body: &Value) -> (u16, String) {
    let (status, problem) = fixture.refused(&format!("/payments/{payment}/refund"), body).await;
    (status, problem["code"].as_str().unwrap().to_owned())
}

async fn until_balance(account: &Account, balance: u64) {
    until(&format!("{balance}"), async || account.balance() == balance).await;
}

/// The payer names this on the refund's page; the status.
async fn name(fixture: &Fixture, page: &str, payee: &str) -> u16 {
    fixture.post_form(page, &[("payee", payee)]).await.0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_payers_wallet_is_asked_and_paid_once_across_kills() {
    let mut fixture = Fixture::open().await;
    let (payment, user) = paid(&fixture, 10_000).await;
    let (stream, _) = refund(&fixture, &payment, &json!({ "request_id": "refund-1" })).await;
    let request = user.next_request(LONG).await.unwrap();
    fixture.crash().await;
    user.fulfil(&request).await.unwrap();
    let events = fixture.api().finished(&stream).await;
    assert_eq!(statuses(&events), ["user_approved", "paid"]);
    assert!(events.iter().all(|event| event.data["request_id"] == "refund-1"));
    fixture.crash().await;
    // A thousandth is the fee.
    assert_eq!(fixture.shop.balance(), Fixture::SHOP - 10);
    assert_eq!(code(&fixture, &payment, &json!({})).await, (409, "payment_refunded".to_owned()));
    let books = fixture.api().get("/payments").await.unwrap();
    assert_eq!(books["payments"][1]["refund_of"], *payment);
    assert_eq!(books["payments"][1]["kind"], "refund");
    assert!(fixture.network.totals().add_up());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_refunds_at_once_pay_back_no_more_than_was_paid() {
    let fixture = Fixture::open().await;
    let (payment, _user) = paid(&fixture, 10_000).await;
    for (body, status, code_of) in [
        (json!({ "amount": 10_001 }), 422, "invalid_request"),
        (json!({ "amount": 0 }), 422, "invalid_request"),
        (json!({ "expires_at": 1 }), 422, "invalid_request"),
    ] {
        assert_eq!(code(&fixture, &payment, &body).await, (status, code_of.to_owned()), "{body}");
    }
    let path = format!("/payments/{payment}/refund");
    let (api, body) = (fixture.api(), json!({ "amount": 3_000 }));
    let results = join_all((0..100).map(|_| api.post(&path, &body))).await;
    let pages: Vec<String> =
        results.into_iter().flatten().map(|started| started["page_url"].as_str().unwrap().to_owned()).collect();
    assert_eq!(pages.len(), 3);
    assert_eq!(code(&fixture, &payment, &json!({ "amount": 1_001 })).await.0, 422);
    let somebody = fixture.payee();
    let bill = invoice(&somebody, 3_000);
    for page in &pages {
        // The same invoice for all: it is paid once, and the others go on asking, or refuse it if it is paid by then.
        assert!(matches!(name(&fixture, page, bill.as_str()).await, 200 | 422));
    }
    until_balance(&somebody, 3_000).await;
    for _ in 0..2 {
        for page in &pages {
            name(&fixture, page, invoice(&somebody, 3_000).as_str()).await;
        }
    }
    until_balance(&somebody, 9_000).await;
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 1_000 - 9);
    let (_, rest) = refund(&fixture, &payment, &json!({})).await;
    assert_eq!(name(&fixture, &rest, invoice(&somebody, 1_000).as_str()).await, 200);
    until_balance(&somebody, 10_000).await;
    assert!(fixture.network.totals().add_up());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invoices_that_were_paid_are_refused_and_block_no_refund() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let (payment, refunded) = paid_by(&fixture, &user, 10_000).await;
    let (_, another) = paid_by(&fixture, &user, 10_000).await;
    let (stream, page) = refund(&fixture, &payment, &json!({})).await;
    for invoice in [&refunded, &another] {
        assert_eq!(name(&fixture, &page, &format!("lightning:{}", invoice.to_uppercase())).await, 422);
        let (status, problem) = fixture.refused("/invoices/pay", &json!({ "invoice": invoice })).await;
        assert_eq!(status, 422, "{problem}");
        assert!(problem["errors"][0]["detail"].as_str().unwrap().contains("was paid already"), "{problem}");
    }
    assert_eq!(fixture.api().events(&stream).await.0.len(), 0);
    let somebody = fixture.payee();
    let upper = invoice(&somebody, 10_000).as_str().to_uppercase();
    assert_eq!(name(&fixture, &page, &format!("bitcoin:bc1qar0?amount=0.0000001&lightning={upper}\n")).await, 200);
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["user_approved", "paid"]);
    let copied = format!("lightning:{}?label=Tea", invoice(&somebody, 1_000).as_str());
    let out = fixture.api().start("/invoices/pay", &json!({ "invoice": copied })).await;
    assert_eq!(statuses(&fixture.api().finished(&out).await), ["paid"]);
    assert_eq!(somebody.balance(), 11_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_paid_is_not_refunded() {
    let fixture = Fixture::open().await;
    let body = json!({ "description": "Tea", "amount": 5_000, "currency": "millisats" });
    let open = fixture.api().start("/payments/single", &body).await;
    assert_eq!(code(&fixture, &open, &json!({})).await, (409, "payment_not_paid".to_owned()));
    let out = fixture.pay(&invoice(&fixture.payee(), 1_000)).await;
    fixture.api().finished(&out).await;
    for none in [out.as_str(), "nonsense", "01934b1c-8a34-7f3e-a1a5-0c6b1f0e9d11"] {
        assert_eq!(code(&fixture, none, &json!({})).await, (404, "stream_not_found".to_owned()), "{none}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_payer_names_an_invoice_on_the_page() {
    let fixture = Fixture::open_with(|builder| builder.set("PROFILE__DISPLAY_NAME", "Bar Seven")).await;
    let (payment, _user) = paid(&fixture, 10_000).await;
    let (stream, page_url) = refund(&fixture, &payment, &json!({})).await;
    let somebody = fixture.payee();
    let mut browser = Browser::start().await;
    browser.be_a_phone().await;
    browser.open(&page_url).await;
    browser.until(&state_is("waiting")).await;
    shows(&mut browser, &["Bar Seven", "10 sats", "Coffee"]).await;
    let refused = |said: &str| format!("document.getElementById('refused')?.textContent.startsWith('{said}')");
    for (typed, then) in [
        ("nonsense".to_owned(), refused("This is neither a Lightning invoice")),
        (invoice(&somebody, 9_999).as_str().to_owned(), refused("This invoice is not for 10 sats")),
        (format!("LIGHTNING:{}", invoice(&somebody, 10_000).as_str().to_uppercase()), state_is("paid")),
    ] {
        browser.evaluate("document.getElementById('payee').value = ''").await;
        browser.click("#payee").await;
        browser.type_text(&typed).await;
        browser.press("Enter").await;
        browser.until(&then).await;
        is_for_everybody(&mut browser).await;
    }
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["user_approved", "paid"]);
    assert_eq!(somebody.balance(), 10_000);
    let secret = page_url.rsplit('/').next().unwrap();
    let wrong = page_url.replace(secret, &"0".repeat(32));
    assert_eq!(fixture.api().http.get(&wrong).send().await.unwrap().status(), 404);
    assert!(!fixture.usher.log().contains(secret));
}

/// The server of `bob@127.0.0.1:port`, whose money goes to this account.
async fn lightning_address(payee: &Account) -> (WebServer, String) {
    let payee = payee.clone();
    let server = WebServer::start(move |request| match request.path().split_once("amount=") {
        None => WebResponse::json(json!({
            "tag": "payRequest", "callback": format!("http://{}/pay", request.headers["host"]), "minSendable": 1_000,
            "maxSendable": 1_000_000, "metadata": "[]",
        })),
        Some((_, amount)) => {
            let invoice = invoice(&payee, amount.parse().unwrap());
            WebResponse::json(json!({ "pr": invoice.as_str(), "routes": [] }))
        }
    });
    let server = server.await;
    let address = format!("bob@{}", server.name());
    (server, address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refund_goes_to_a_lightning_address() {
    let fixture = Fixture::open_with(|builder| builder.set("NOSTR__ALLOW_PRIVATE_RELAYS", true)).await;
    let somebody = fixture.payee();
    let (_server, address) = lightning_address(&somebody).await;
    let (payment, _user) = paid(&fixture, 10_000).await;
    let (small, small_page) = refund(&fixture, &payment, &json!({ "amount": 500 })).await;
    assert_eq!(name(&fixture, &small_page, &address).await, 422, "it takes no less than a sat");
    assert_eq!(name(&fixture, &small_page, "nobody@127.0.0.1:1").await, 422);
    assert_eq!(fixture.api().events(&small).await.0.len(), 0);
    let (stream, page) = refund(&fixture, &payment, &json!({})).await;
    assert_eq!(name(&fixture, &page, &address).await, 200);
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["user_approved", "paid"]);
    assert_eq!(somebody.balance(), 9_500);
}

/// Each payer names one invoice, again and again as people do, while the service is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refunds_under_kills_are_paid_once_and_the_books_agree() {
    const REFUNDS: usize = 12;
    let mut fixture = Fixture::open().await;
    let (payment, _user) = paid(&fixture, 100_000).await;
    let somebody = fixture.payee();
    let mut refunds: Vec<(String, Invoice, u64)> = Vec::new();
    for n in 0..REFUNDS {
        let amount = 1_000 + 100 * n as u64;
        let (_, page) = refund(&fixture, &payment, &json!({ "amount": amount })).await;
        refunds.push((page, invoice(&somebody, amount), amount));
    }
    let total: u64 = refunds.iter().map(|(.., amount)| amount).sum();
    for pause in [3, 10, 30, 60, 100, 200] {
        let naming = join_all(refunds.iter().map(|(page, invoice, _)| name(&fixture, page, invoice.as_str())));
        let _ = tokio::time::timeout(std::time::Duration::from_millis(pause), naming).await;
        fixture.crash().await;
    }
    for (page, invoice, _) in &refunds {
        name(&fixture, page, invoice.as_str()).await;
    }
    until_balance(&somebody, total).await;
    let books = until("end of all payments", async || {
        let books = fixture.api().get("/payments?limit=1000").await.unwrap()["payments"].as_array().unwrap().clone();
        books.iter().all(|entry| entry["status"] != "open").then_some(books)
    })
    .await;
    let sum = |name: &str, direction: &str| -> u64 {
        books.iter().filter(|entry| entry["direction"] == direction).filter_map(|entry| entry[name].as_u64()).sum()
    };
    assert_eq!(sum("settled_millisats", "out"), total);
    let change = sum("settled_millisats", "in") - total - sum("fee_millisats", "out");
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + change);
    for (_, invoice, _) in &refunds {
        assert_eq!(fixture.network.executed(invoice.payment_hash()), 1);
    }
    assert!(fixture.network.totals().add_up());
}
