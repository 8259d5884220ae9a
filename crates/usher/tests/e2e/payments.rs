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

use serde_json::json;
use usher_protocol::bolt11::Network;
use usher_sandbox::lightning::{InvoiceTerms, Method};
use usher_sandbox::wallet::Policy;

use self::fixture::{Fixture, approved_and_paid, statuses};
use crate::harness::LONG;

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
async fn bad_input_is_named_and_changes_nothing() {
    const MOST: u64 = 21_000;
    let fixture = Fixture::open_with(|builder| builder.set("LIMITS__MAX_AMOUNT_MILLISATS", MOST)).await;
    let payee = fixture.network.open_account("payee", 0);
    let key = usher_protocol::Keys::generate().public_key().to_hex();
    let invoice = |terms: InvoiceTerms| payee.make_invoice(&terms).unwrap().to_string();
    let ask = |change: serde_json::Value| {
        let mut body =
            json!({"main_key": key, "subkeys": [], "description": "x", "amount": 1, "currency": "millisats"});
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        ("/payments/single", body)
    };
    let recurring = |change: serde_json::Value| {
        let (_, mut body) = ask(change);
        body["recurrence"] = json!({"calendar": "monthly", "first_payment_due": 1_732_137_600});
        body["expires_at"] = json!(fixture::now() + 300);
        ("/payments/recurring", body)
    };
    let from_anybody = |change: serde_json::Value| {
        let (path, mut body) = ask(change);
        body.as_object_mut().unwrap().remove("main_key");
        (path, body)
    };
    let wanted = json!({"recipient_key": key, "subkeys": [], "content": {"amount": MOST + 1, "currency": "millisats"}});
    let pay = |invoice: String| ("/invoices/pay", json!({"invoice": invoice}));
    let mainnet = InvoiceTerms { network: Network::Bitcoin, ..InvoiceTerms::of(1_000) };
    let long_ago = InvoiceTerms { created_at: Some(1_700_000_000), ..InvoiceTerms::of(1_000) };
    for ((path, body), pointer) in [
        (ask(json!({"amount": 0})), "/amount"),
        (ask(json!({"amount": -5})), "/amount"),
        (ask(json!({"amount": 1.5})), "/amount"),
        (ask(json!({"amount": MOST + 1})), "/amount"),
        (recurring(json!({"amount": MOST + 1})), "/amount"),
        (("/invoices/request", wanted), "/content/amount"),
        (pay(invoice(InvoiceTerms::of(MOST + 1))), "/invoice"),
        (recurring(json!({"minimum_amount": 0})), "/minimum_amount"),
        (recurring(json!({"minimum_amount": 2})), "/minimum_amount"),
        (ask(json!({"main_key": "wrong"})), "/main_key"),
        (from_anybody(json!({"subkeys": [key]})), "/subkeys"),
        (from_anybody(json!({"subscription_id": "any"})), "/subscription_id"),
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
    let (path, largest) = ask(json!({"amount": MOST}));
    fixture.start(path, &largest).await;
}
