//! Two relays in the connection string; and one that requires authentication (NIP-42).

use std::time::Duration;

use usher_engine::ports::LightningNotification;
use usher_sandbox::lightning::{LightningNetwork, Method};
use usher_testing::proxy::BreakableProxy;
use usher_testing::relay::{LieOk, Quirks};

use crate::fixture::{BackendHandle, Fixture, LONG, relay};

/// Everything a shop needs, with a good relay after these, where the wallet service may be missing.
async fn works_with(others: &[&str], quirks: Quirks) {
    let good = relay(quirks).await;
    let urls: Vec<_> = others.iter().copied().chain([good.url()]).map(str::to_owned).collect();
    let mut fixture = Fixture::begun(LightningNetwork::new(), good, &urls, |_| {}).await;
    fixture.until_both_hear().await;
    fixture.receives().await;
    let invoice = fixture.external_invoice(500);
    let paid = fixture.pay(&invoice, 60).await.unwrap();
    assert_eq!(paid.preimage.payment_hash(), invoice.payment_hash());
    assert_eq!(fixture.client.notification().await, LightningNotification::Sent(invoice.payment_hash(), paid));
    assert_eq!((fixture.times_paid(&invoice), fixture.service.metrics().executed(Method::PayInvoice)), (1, 1));
    fixture.client.quiet().await;
}

#[tokio::test]
async fn one_of_them_is_bad() {
    let gone = relay(Quirks::default()).await;
    gone.stop().await;
    works_with(&[gone.url()], Quirks::default()).await;
    for quirks in [
        Quirks { mute: true, ..Quirks::default() },
        Quirks { refuse_events: true, ..Quirks::default() },
        Quirks { lie_ok: Some(LieOk::AcceptAndDrop), ..Quirks::default() },
        Quirks { garbage: Some(Duration::from_millis(2)), ..Quirks::default() },
    ] {
        works_with(&[relay(quirks).await.url()], Quirks::default()).await;
    }
}

#[tokio::test]
async fn the_only_one_requires_authentication() {
    works_with(&[], Quirks { require_auth: true, ..Quirks::default() }).await;
}

#[tokio::test]
async fn events_from_both_are_handled_once() {
    let (one, two) = (relay(Quirks::default()).await, relay(Quirks::default()).await);
    let urls = [one.url().to_owned(), two.url().to_owned()];
    let mut fixture = Fixture::begun(LightningNetwork::new(), one, &urls, |_| {}).await;
    two.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("all are there");
    fixture.until_both_hear().await;
    // Both relays have delivered everything that was sent before.
    let mut payments = Vec::new();
    for count in 1..=5 {
        let invoice = fixture.external_invoice(100);
        let paid = fixture.pay(&invoice, 60).await.unwrap();
        payments.push(LightningNotification::Sent(invoice.payment_hash(), paid));
        fixture.service.wait_for(LONG, |metrics| metrics.calls(Method::PayInvoice) == count).await.expect("asked");
    }
    assert_eq!(fixture.service.metrics().executed(Method::PayInvoice), 5);
    for relay in [&fixture.relay, &two] {
        // A response and two notifications for each payment.
        relay.wait_for(LONG, |metrics| metrics.events_of(23_197) == 5).await.expect("told over both");
    }
    for payment in payments {
        assert_eq!(fixture.client.notification().await, payment);
    }
    fixture.client.quiet().await;
}

#[tokio::test]
async fn one_reconnects_while_the_other_stays_connected() {
    let (one, two) = (relay(Quirks::default()).await, relay(Quirks::default()).await);
    let proxy = BreakableProxy::start(one.url().trim_start_matches("ws://").to_owned()).await.unwrap();
    let urls = [one.url().to_owned(), two.url().to_owned()];
    let mut fixture = Fixture::begun(LightningNetwork::new(), one, &urls, |_| {}).await;
    fixture.client.stop().await;
    fixture.client = BackendHandle::start(&fixture.service.keys().url(&[proxy.ws_url(), urls[1].clone()]));
    two.wait_for(LONG, |metrics| metrics.open_subscriptions == 2).await.expect("all are there");
    fixture.until_both_hear().await;
    for _ in 0..3 {
        proxy.cut();
        fixture.relay.wait_for(LONG, |metrics| metrics.open_connections == 1).await.expect("cut");
        // Told once, and no other news.
        fixture.receives().await;
        proxy.restore();
        fixture.until_both_hear().await;
    }
    assert_eq!(fixture.service.metrics().calls(Method::MakeInvoice), 3);
    // Nothing was missed: one relay was connected all the time.
    fixture.client.quiet().await;
}
