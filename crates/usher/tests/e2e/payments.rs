//! Payments and subscriptions: the real program, a Lightning wallet over NIP-47, and users who pay, or do otherwise.

mod approvals;
mod books;
mod crashes;
mod daily_budget;
mod fixture;
mod idempotency;
mod in_currencies;
mod invalid_responses;
mod links;
mod on_the_page;
mod outages;
mod refunds;
mod same_payment_hash;
mod subscriptions;

use std::time::Duration;
use usher_faults::wallet::FaultyWallet;

use serde_json::json;
use usher_protocol::bolt11::Network;
use usher_sandbox::lightning::{InvoiceTerms, Method};
use usher_sandbox::wallet::Policy;

use self::fixture::{Fixture, approved_and_paid, statuses};
use crate::harness::{LONG, TestUsher};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_pays_and_the_app_gets_the_proof() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let stream = fixture.ask(&user, 10_000).await;
    let request = user.next_request(LONG).await.expect("a request");
    user.fulfil(&request).await.expect("paid");
    let events = fixture.api().finished(&stream).await;
    assert!(approved_and_paid(&events), "{events:?}");
    let invoice = fixture.invoice_of(&request);
    let paid = &events.last().unwrap().data;
    assert_eq!(paid["request_id"], "order-1");
    let preimage = fixture.shop.incoming(invoice.payment_hash()).unwrap().preimage.unwrap();
    assert_eq!(paid["preimage"], preimage.to_hex());
    assert_eq!(invoice.description(), Some("Coffee"));
    assert!(fixture.network.totals().add_up());
    assert_eq!(fixture.shop.balance(), Fixture::SHOP + 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_refuses_fails_and_tries_again() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let refused = fixture.ask(&user, 1_000).await;
    let request = user.next_request(LONG).await.unwrap();
    user.decline(&request, Some("too dear")).unwrap();
    let events = fixture.api().finished(&refused).await;
    assert_eq!(statuses(&events), ["user_rejected"]);
    assert_eq!(events[0].data["reason"], "too dear");

    let stream = fixture.ask(&user, 2_000).await;
    let request = user.next_request(LONG).await.unwrap();
    user.fail(&request, Some("no route")).unwrap();
    let events = fixture.api().at_least(&stream, 1).await;
    assert_eq!(statuses(&events), ["user_failed"]);
    user.fulfil(&request).await.expect("paid at the second try");
    let events = fixture.api().finished(&stream).await;
    assert_eq!(statuses(&events).last().copied(), Some("paid"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_pays_in_time() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let stream = fixture.ask_until(&user, 1_000, 3).await;
    let events = fixture.api().finished(&stream).await;
    assert_eq!(statuses(&events), ["timeout"]);
    assert!(fixture.wallet.metrics().calls(Method::LookupInvoice) >= 1, "looked up one last time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_notifications_a_payment_is_found_by_looking() {
    let fixture = Fixture::open().await;
    fixture.wallet.set(|behaviour| behaviour.notifications = false);
    let user = fixture.user(Policy::silent()).await;
    let stream = fixture.ask(&user, 1_000).await;
    let request = user.next_request(LONG).await.unwrap();
    user.pay_without_response(&request).await.unwrap();
    assert_eq!(statuses(&fixture.api().finished(&stream).await), ["paid"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settlement_while_the_wallet_was_away_is_found() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    let stream = fixture.ask(&user, 1_000).await;
    let request = user.next_request(LONG).await.unwrap();
    // Neither a notification nor a look-up gets through.
    fixture.wallet.stop().await;
    user.fulfil(&request).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!statuses(&fixture.api().events(&stream).await.0).contains(&"paid"));
    fixture.wallet.start_again().await;
    // The next claim of the payer is a reason to look again, as is the next repetition.
    user.fulfil(&request).await.unwrap();
    assert_eq!(statuses(&fixture.api().finished(&stream).await).last().copied(), Some("paid"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_invoices_are_paid_once_by_the_user_or_by_us() {
    let fixture = Fixture::open().await;
    let api = fixture.api();
    let user = fixture.user(Policy::silent()).await;
    let payee = fixture.network.open_account("payee", 0);

    let invoice = payee.make_invoice(&InvoiceTerms::of(5_000)).unwrap();
    let body = json!({"invoice": invoice.as_str(), "main_key": user.main_key().to_hex(), "subkeys": []});
    let stream = fixture.start("/invoices/pay", &body).await;
    let request = user.next_request(LONG).await.unwrap();
    user.fulfil(&request).await.unwrap();
    assert!(approved_and_paid(&api.finished(&stream).await));
    assert_eq!(fixture.start("/invoices/pay", &json!({"invoice": invoice.as_str()})).await, stream);

    let invoice = payee.make_invoice(&InvoiceTerms::of(7_000)).unwrap();
    let body = json!({"invoice": invoice.as_str().to_uppercase(), "amount": 7_000, "request_id": "p-1"});
    let calls = futures_util::future::join_all((0..8).map(|_| fixture.start("/invoices/pay", &body))).await;
    assert!(calls.iter().all(|stream| *stream == calls[0]), "{calls:?}");
    let events = api.finished(&calls[0]).await;
    assert_eq!(statuses(&events), ["paid"]);
    assert_eq!(events[0].data["request_id"], "p-1");
    assert!(events[0].data["fees_paid"].is_u64());
    assert_eq!(fixture.start("/invoices/pay", &body).await, calls[0]);
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 1);
    assert_eq!(fixture.network.executed(invoice.payment_hash()), 1);
    assert_eq!(payee.balance(), 12_000);
    assert!(fixture.network.totals().add_up());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_of_ours_that_is_refused_says_so() {
    let fixture = Fixture::open().await;
    let payee = fixture.network.open_account("payee", 0);
    let dear = payee.make_invoice(&InvoiceTerms::of(Fixture::SHOP * 2)).unwrap();
    let stream = fixture.start("/invoices/pay", &json!({"invoice": dear.as_str()})).await;
    let events = fixture.api().finished(&stream).await;
    assert_eq!(statuses(&events), ["error"]);
    assert_eq!(events[0].data["outcome"], "not_paid");
    assert_eq!(payee.balance(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_asked_for_an_invoice() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::auto_approve()).await;
    let body = json!({
        "recipient_key": user.main_key().to_hex(),
        "subkeys": [],
        "content": {"amount": 4_000, "currency": "millisats", "description": "Refund", "request_id": "r-1"},
    });
    let stream = fixture.start("/invoices/request", &body).await;
    let events = fixture.api().finished(&stream).await;
    assert_eq!(events[0].kind, "InvoiceResponse");
    let invoice: usher_protocol::bolt11::Invoice = events[0].data["invoice"].as_str().unwrap().parse().unwrap();
    assert_eq!(invoice.amount(), Some(4_000));
    assert_eq!(events[0].data["payment_hash"], invoice.payment_hash().to_string());
    assert_eq!((&events[0].data["amount"], &events[0].data["request_id"]), (&json!(4_000), &json!("r-1")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_input_is_named_and_changes_nothing() {
    let fixture = Fixture::open().await;
    let payee = fixture.network.open_account("payee", 0);
    let key = usher_protocol::Keys::generate().public_key().to_hex();
    let invoice = |terms: InvoiceTerms| payee.make_invoice(&terms).unwrap().to_string();
    let ask = |change: serde_json::Value| {
        let mut body =
            json!({"main_key": key, "subkeys": [], "description": "x", "amount": 1, "currency": "millisats"});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        ("/payments/single", body)
    };
    let pay = |invoice: String| ("/invoices/pay", json!({"invoice": invoice}));
    let mainnet = InvoiceTerms { network: Network::Bitcoin, ..InvoiceTerms::of(1_000) };
    let long_ago = InvoiceTerms { created_at: Some(1_700_000_000), ..InvoiceTerms::of(1_000) };
    for ((path, body), pointer) in [
        (ask(json!({"amount": 0})), "/amount"),
        (ask(json!({"amount": -5})), "/amount"),
        (ask(json!({"amount": 1.5})), "/amount"),
        (ask(json!({"amount": 100_000_000_001_u64})), "/amount"),
        (ask(json!({"amount": 1e30})), "/amount"),
        (ask(json!({"amount": "10"})), "/amount"),
        (ask(json!({"currency": "EUR"})), "/currency"),
        (ask(json!({"description": "x".repeat(640)})), "/description"),
        (ask(json!({"expires_at": 1})), "/expires_at"),
        (ask(json!({"expires_at": 99_999_999_999_u64})), "/expires_at"),
        (ask(json!({"subscription_id": "nobody's"})), "/subscription_id"),
        (pay("lnbc1".to_owned()), "/invoice"),
        (pay(invoice(mainnet)), "/invoice"),
        (pay(invoice(long_ago)), "/invoice"),
        (pay(invoice(InvoiceTerms::open())), "/invoice"),
        (("/invoices/pay", json!({"invoice": invoice(InvoiceTerms::of(1_000)), "amount": 999})), "/amount"),
    ] {
        let (status, problem) = fixture.refused(path, &body).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid_request")), "{body}");
        let pointers: Vec<_> = problem["errors"].as_array().unwrap().iter().map(|error| &error["pointer"]).collect();
        assert_eq!(pointers, [pointer], "{body}: {problem}");
    }
    assert_eq!(fixture.wallet.metrics().calls(Method::MakeInvoice), 0);
    assert_eq!(fixture.wallet.metrics().calls(Method::PayInvoice), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_wallet_what_needs_none_works() {
    let usher = TestUsher::builder().relays(&["ws://127.0.0.1:9"]).set("WALLET__NETWORK", "regtest").start().await;
    let key = usher_protocol::Keys::generate().public_key().to_hex();
    let body = json!({"main_key": key, "subkeys": [], "description": "x", "amount": 1, "currency": "millisats"});
    let (status, problem) = fixture::refused(&usher.api(), "/payments/single", &body).await;
    assert_eq!((status, &problem["code"]), (503, &json!("wallet_not_configured")));
    let body = json!({
        "main_key": key, "subkeys": [], "description": "x", "amount": 1, "currency": "millisats",
        "recurrence": {"calendar": "monthly", "first_payment_due": 4_000_000_000_u64}, "expires_at": fixture::now() + 60,
    });
    assert!(usher.api().post("/payments/recurring", &body).await.unwrap()["stream_id"].is_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_serves_while_the_wallet_is_unreachable() {
    let fixture = Fixture::open().await;
    let user = fixture.user(Policy::silent()).await;
    fixture.wallet.stop().await;
    let stream = fixture.ask_until(&user, 1_000, 4).await;
    fixture.api().handshake(json!({})).await;
    let events = fixture.api().finished(&stream).await;
    assert_eq!(statuses(&events), ["error"]);
    assert_eq!(fixture.refused_get("/wallet/info").await.0, 504);
    fixture.wallet.start_again().await;
    let stream = fixture.ask(&user, 1_000).await;
    let request = user.next_request(LONG).await.unwrap();
    user.fulfil(&request).await.unwrap();
    assert_eq!(statuses(&fixture.api().finished(&stream).await).last().copied(), Some("paid"));
}
