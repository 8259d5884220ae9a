//! Two relays in the connection string.

use std::time::Duration;

use usher_engine::ports::{Lightning as _, LightningNotification};
use usher_faults::lightning::FaultyNwcService;
use usher_faults::proxy::BreakableProxy;
use usher_faults::relay::{LieOk, Quirks, QuirkyRelay};
use usher_sandbox::lightning::{InvoiceTerms, LightningNetwork, Method};

use crate::backend_under_test::{BackendHandle, LONG, within};

/// Everything a shop needs, with this first relay, where the wallet service may be missing, and a good second one.
async fn works_with(first: &str) {
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 10_000), network.open_account("user", 10_000));
    let good = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let service = FaultyNwcService::start(&shop, &[first, good.url()]).await;
    good.wait_for(LONG, |metrics| metrics.open_subscriptions == 1).await.expect("the wallet service is there");
    let mut client = BackendHandle::start(&service.url());
    good.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("the backend is there");
    client.until(true).await;
    let made = client.invoice(1_000).await;
    user.pay(made.as_str(), None).unwrap();
    assert_eq!(client.settled().await.0, made.payment_hash());
    let invoice = user.make_invoice(&InvoiceTerms::of(500)).unwrap();
    let paid = client.pay(&invoice, within(60)).await.unwrap();
    assert_eq!(paid.preimage.payment_hash(), invoice.payment_hash());
    assert_eq!(client.notification().await, LightningNotification::Sent(invoice.payment_hash(), paid));
    assert_eq!((network.executed(invoice.payment_hash()), service.metrics().executed(Method::PayInvoice)), (1, 1));
    client.quiet().await;
}

#[tokio::test]
async fn one_of_them_is_bad() {
    let gone = QuirkyRelay::start(Quirks::default()).await.unwrap();
    let url = gone.url().to_owned();
    gone.stop().await;
    works_with(&url).await;
    for quirks in [
        Quirks { mute: true, ..Quirks::default() },
        Quirks { refuse_events: true, ..Quirks::default() },
        Quirks { lie_ok: Some(LieOk::AcceptAndDrop), ..Quirks::default() },
        Quirks { garbage: Some(Duration::from_millis(2)), ..Quirks::default() },
    ] {
        let relay = QuirkyRelay::start(quirks).await.unwrap();
        works_with(relay.url()).await;
    }
}

#[tokio::test]
async fn events_from_both_are_handled_once() {
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 10_000), network.open_account("user", 10_000));
    let relays =
        [QuirkyRelay::start(Quirks::default()).await.unwrap(), QuirkyRelay::start(Quirks::default()).await.unwrap()];
    let service = FaultyNwcService::start(&shop, &[relays[0].url(), relays[1].url()]).await;
    let mut client = BackendHandle::start(&service.url());
    for relay in &relays {
        relay.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("all are there");
    }
    client.until(true).await;
    // Both relays have delivered everything that was sent before.
    let mut invoices = Vec::new();
    for count in 1..=5 {
        let invoice = user.make_invoice(&InvoiceTerms::of(100)).unwrap();
        let paid = client.pay(&invoice, within(60)).await.unwrap();
        invoices.push((invoice.payment_hash(), paid));
        service.wait_for(LONG, |metrics| metrics.calls(Method::PayInvoice) == count).await.expect("asked");
    }
    assert_eq!(service.metrics().executed(Method::PayInvoice), 5);
    for relay in &relays {
        // A response and two notifications for each payment.
        relay.wait_for(LONG, |metrics| metrics.events_of(23_197) == 5).await.expect("told over both");
    }
    for (hash, paid) in invoices {
        assert_eq!(client.notification().await, LightningNotification::Sent(hash, paid));
    }
    client.quiet().await;
}

#[tokio::test]
async fn one_reconnects_while_the_other_stays_connected() {
    let network = LightningNetwork::new();
    let (shop, user) = (network.open_account("shop", 10_000), network.open_account("user", 10_000));
    let (one, two) =
        (QuirkyRelay::start(Quirks::default()).await.unwrap(), QuirkyRelay::start(Quirks::default()).await.unwrap());
    let service = FaultyNwcService::start(&shop, &[one.url(), two.url()]).await;
    let proxy = BreakableProxy::start(one.url().trim_start_matches("ws://").to_owned()).await.unwrap();
    let url = service.keys().url(&[proxy.ws_url(), two.url().to_owned()]);
    let mut client = BackendHandle::start(&url);
    for relay in [&one, &two] {
        relay.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("all are there");
    }
    client.until(true).await;
    for _ in 0..3 {
        proxy.cut();
        one.wait_for(LONG, |metrics| metrics.open_connections == 1).await.expect("cut");
        let made = client.invoice(100).await;
        user.pay(made.as_str(), None).unwrap();
        assert_eq!(client.settled().await.0, made.payment_hash(), "told once, and no other news");
        proxy.restore();
        one.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("back");
        assert!(client.backend.status().connected);
    }
    assert_eq!(service.metrics().calls(Method::MakeInvoice), 3);
    // Nothing was missed: one relay was connected all the time.
    client.quiet().await;
}
