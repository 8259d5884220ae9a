//! The NIP-47 wallet service without faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nostr::Timestamp;
use serde_json::json;
use usher_faults::lightning::FaultyNwcService;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::bolt11::{Invoice, Network};
use usher_protocol::message::Preimage;
use usher_sandbox::clock::UnixClock;
use usher_sandbox::lightning::{Account, Encryptions, InvoiceTerms, LightningNetwork, Method};
use usher_sandbox::relay::EmbeddedRelay;

use super::raw_nwc_app::App;
use crate::raw_client::LONG;

pub(crate) struct Fixture {
    pub(crate) network: LightningNetwork,
    pub(crate) relay: QuirkyRelay,
    pub(crate) service: FaultyNwcService,
    pub(crate) shop: Account,
    pub(crate) user: Account,
}

impl Fixture {
    pub(crate) async fn set() -> Self {
        Self::set_in(LightningNetwork::new()).await
    }

    pub(crate) async fn set_in(network: LightningNetwork) -> Self {
        let (shop, user) = (network.open_account("shop", 1_000_000), network.open_account("user", 1_000_000));
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let service = FaultyNwcService::start(&shop, &[relay.url()]).await;
        service.ready(LONG).await.unwrap();
        Self { network, relay, service, shop, user }
    }

    pub(crate) async fn app(&self) -> App {
        App::connect(&self.service.url()).await
    }
}

fn preimage(value: &serde_json::Value) -> Preimage {
    serde_json::from_value(value.clone()).unwrap()
}

#[tokio::test]
async fn invoice_from_creation_to_settlement_over_the_embedded_relay() {
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 0), network.open_account("user", 1_000_000));
    let relay = EmbeddedRelay::start().await.unwrap();
    let service = FaultyNwcService::start(&shop, &[relay.url()]).await;
    service.ready(LONG).await.unwrap();
    let mut app = App::connect(&service.url()).await;

    let info = app.next_of(13194).await;
    assert!(info.content.contains("make_invoice") && info.content.contains("notifications"));
    let tags: Vec<_> = info.tags.iter().map(|tag| tag.as_slice().join(" ")).collect();
    assert!(tags.contains(&"encryption nip44_v2 nip04".to_owned()));
    assert!(tags.contains(&"notifications payment_received payment_sent".to_owned()));

    let info = app.result(Method::GetInfo, json!({})).await;
    assert_eq!((&info["network"], &info["alias"]), (&json!("regtest"), &json!("shop")));
    let made = app.result(Method::MakeInvoice, json!({"amount": 10_000, "description": "tea", "expiry": 600})).await;
    let invoice: Invoice = made["invoice"].as_str().unwrap().parse().unwrap();
    assert_eq!((invoice.amount(), invoice.network()), (Some(10_000), Network::Regtest));
    assert_eq!(invoice.description(), Some("tea"));
    assert_eq!(made["payment_hash"], invoice.payment_hash().to_string());
    assert_eq!((&made["state"], &made["expires_at"]), (&json!("pending"), &json!(invoice.expires_at())));
    assert!(made.get("preimage").is_none());

    let paid = user.pay(invoice.as_str(), None).unwrap();
    for kind in [23196, 23197] {
        let event = app.next_of(kind).await;
        let told = app.open(&event);
        assert_eq!(told["notification_type"], "payment_received");
        assert_eq!(preimage(&told["notification"]["preimage"]), paid.preimage);
        assert_eq!(told["notification"]["amount"], 10_000);
    }
    let found = app.result(Method::LookupInvoice, json!({"payment_hash": invoice.payment_hash().to_string()})).await;
    assert_eq!((&found["type"], &found["state"]), (&json!("incoming"), &json!("settled")));
    assert_eq!(preimage(&found["preimage"]).payment_hash(), invoice.payment_hash());
    assert!(found["settled_at"].is_u64());
    assert_eq!(app.result(Method::GetBalance, json!({})).await["balance"], 10_000);
    let list = app.result(Method::ListTransactions, json!({"type": "incoming"})).await;
    assert_eq!(list["transactions"][0]["payment_hash"], found["payment_hash"]);
    assert!(network.totals().add_up());
}

#[tokio::test]
async fn payment_costs_a_fee_and_is_notified() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    let invoice = fixture.user.make_invoice(&InvoiceTerms::of(100_000)).unwrap();
    let by = json!({"invoice": invoice.as_str()});
    let paid = app.result(Method::PayInvoice, by.clone()).await;
    assert_eq!(paid["fees_paid"], 100);
    assert_eq!(preimage(&paid["preimage"]).payment_hash(), invoice.payment_hash());
    assert_eq!((fixture.shop.balance(), fixture.user.balance()), (899_900, 1_100_000));
    let found = app.result(Method::LookupInvoice, by.clone()).await;
    assert_eq!((&found["type"], &found["state"]), (&json!("outgoing"), &json!("settled")));
    assert_eq!((&found["fees_paid"], &found["amount"]), (&json!(100), &json!(100_000)));
    // Again: refused, and nothing moves.
    assert_eq!(app.refused(Method::PayInvoice, by).await, "PAYMENT_FAILED");
    assert_eq!((fixture.shop.balance(), fixture.network.executed(invoice.payment_hash())), (899_900, 1));
    let dear = fixture.user.make_invoice(&InvoiceTerms::of(899_900)).unwrap();
    assert_eq!(app.refused(Method::PayInvoice, json!({"invoice": dear.as_str()})).await, "INSUFFICIENT_BALANCE");
    assert_eq!(app.refused(Method::PayInvoice, json!({"invoice": "lnbcrt1junk"})).await, "OTHER");
    assert_eq!(app.refused(Method::PayInvoice, json!({})).await, "OTHER");
    let open = fixture.user.make_invoice(&InvoiceTerms::open()).unwrap();
    assert_eq!(app.refused(Method::PayInvoice, json!({"invoice": open.as_str()})).await, "OTHER");
    app.result(Method::PayInvoice, json!({"invoice": open.as_str(), "amount": 5})).await;
    assert_eq!(fixture.service.metrics().calls(Method::PayInvoice), 7);
}

#[tokio::test]
async fn only_the_announced_encryption_is_accepted() {
    let fixture = Fixture::set().await;
    let mut app = fixture.app().await;
    app.nip04 = true;
    assert_eq!(app.result(Method::GetBalance, json!({})).await["balance"], 1_000_000);
    fixture.service.set(|b| b.encryptions = Encryptions::Nip44);
    assert_eq!(app.refused(Method::GetBalance, json!({})).await, "UNSUPPORTED_ENCRYPTION");
    fixture.service.set(|b| b.encryptions = Encryptions::Nip04);
    app.result(Method::GetBalance, json!({})).await;
    let mut late = fixture.app().await;
    let info = late.next_of(13194).await;
    assert!(info.tags.iter().all(|tag| tag.as_slice()[0] != "encryption"));
    assert_eq!(late.refused(Method::GetBalance, json!({})).await, "UNSUPPORTED_ENCRYPTION");
}

#[tokio::test]
async fn request_is_executed_once_and_not_after_it_expires() {
    let turned = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&turned);
    let network = LightningNetwork::with_clock(UnixClock(Arc::new(move || {
        Timestamp::now().as_secs() + clock.load(Ordering::SeqCst)
    })));
    let fixture = Fixture::set_in(network).await;
    let mut app = fixture.app().await;
    let until = Some(Timestamp::now().as_secs() + 600);
    let invoice = fixture.user.make_invoice(&InvoiceTerms::of(1_000)).unwrap();
    let pay = json!({"invoice": invoice.as_str()});
    turned.store(600, Ordering::SeqCst);
    let late = app.request("pay_invoice", &pay, until);
    fixture.relay.inject(late);
    fixture.service.wait_for(LONG, |metrics| metrics.expired == 1).await.unwrap();
    turned.store(0, Ordering::SeqCst);
    let event = app.request("pay_invoice", &pay, until);
    fixture.relay.inject(event.clone());
    fixture.relay.inject(event.clone());
    app.answer_to(event.id).await;
    let metrics = fixture.service.wait_for(LONG, |metrics| metrics.copies == 1).await.unwrap();
    assert_eq!((metrics.calls(Method::PayInvoice), metrics.executed(Method::PayInvoice), metrics.answers), (2, 1, 1));
    assert_eq!(fixture.network.executed(invoice.payment_hash()), 1);
    // Not the app's.
    let mut thief = fixture.app().await;
    thief.keys = nostr::Keys::generate();
    thief.ask(Method::GetBalance, json!({})).await;
    let unknown = app.request("sign_message", &json!({}), None);
    app.raw.publish(&unknown).await;
    assert_eq!(app.answer_to(unknown.id).await["error"]["code"], "NOT_IMPLEMENTED");
    assert_eq!(fixture.service.metrics().total(), 2);
}
