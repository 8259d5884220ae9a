//! The methods of the port, with wallet services of every encryption.

use std::sync::Arc;

use nostr::{Event, Timestamp};
use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningNotification, OutgoingPaymentStatus, Settlement};
use usher_protocol::bolt11::Network;
use usher_sandbox::clock::UnixClock;
use usher_sandbox::lightning::{Encryptions, LightningNetwork, Method};
use usher_testing::lightning::Behaviour;

use crate::fixture::{Fixture, LONG, UNKNOWN, hash, wanted, within};

const REQUEST: u16 = 23_194;

fn tag<'a>(event: &'a Event, name: &str) -> Option<&'a str> {
    event.tags.iter().find(|tag| tag.as_slice()[0] == name).and_then(|tag| tag.content())
}

async fn everything(change: impl FnOnce(&mut Behaviour), nip44: bool) {
    let mut fixture = Fixture::set_with(change).await;
    let wallet = Arc::clone(&fixture.client.backend);

    let made = wallet.make_invoice(&wanted(7_000)).await.unwrap();
    assert_eq!((made.amount(), made.description()), (Some(7_000), Some("two teas, très chaud")));
    assert_eq!(made.network(), Network::Regtest);
    assert!(made.expires_at().abs_diff(within(600)) < 30);
    let invoiced = made.payment_hash();
    assert_eq!(wallet.look_up_invoice(invoiced).await, Ok(InvoiceStatus::Open));
    let paid = fixture.user.pay(made.as_str(), None).unwrap();
    let settlement = Settlement { amount: Some(7_000), skimmed_fee: 0, fees_paid: 0, preimage: Some(paid.preimage) };
    assert_eq!(wallet.look_up_invoice(invoiced).await, Ok(InvoiceStatus::Settled(settlement.clone())));
    if fixture.service.behaviour().capabilities.notifications {
        assert_eq!(fixture.client.settled().await, (invoiced, settlement));
    }
    let cancelled = fixture.client.invoice(1_000).await.payment_hash();
    assert!(fixture.shop.cancel_invoice(cancelled));
    assert_eq!(wallet.look_up_invoice(cancelled).await, Ok(InvoiceStatus::Dead));
    assert_eq!(wallet.look_up_invoice(hash()).await, Ok(InvoiceStatus::Unknown));
    assert_eq!(wallet.look_up_payment(hash(), None).await, UNKNOWN);

    let invoice = fixture.external_invoice(2_000);
    let paid = fixture.pay(&invoice, 60).await.unwrap();
    assert_eq!((paid.preimage.payment_hash(), paid.fees_paid), (invoice.payment_hash(), Some(2)));
    let found = wallet.look_up_payment(invoice.payment_hash(), None).await;
    assert_eq!(found, Ok(OutgoingPaymentStatus::Paid(paid.clone())));
    if fixture.service.behaviour().capabilities.notifications {
        assert_eq!(fixture.client.notification().await, LightningNotification::Sent(invoice.payment_hash(), paid));
    }
    // An invoice of ours that was paid needs no payment of ours.
    let own = wallet.look_up_payment(invoiced, None).await;
    assert!(matches!(&own, Ok(OutgoingPaymentStatus::Paid(it)) if it.preimage.payment_hash() == invoiced), "{own:?}");

    let info = wallet.info().await.unwrap();
    assert_eq!((info.alias.as_deref(), info.network), (Some("shop"), Some(Network::Regtest)));
    assert_eq!((info.balance, info.methods.len()), (Some(fixture.shop.balance()), Method::ALL.len()));
    let capabilities = fixture.service.behaviour().capabilities;
    let told = capabilities.announced && capabilities.notifications;
    assert_eq!((wallet.status().connected, wallet.status().sends_notifications), (true, told));
    // Each was reported once, by however many events.
    fixture.client.quiet().await;

    let asked: Vec<Event> = fixture.relay.seen().into_iter().filter(|event| event.kind.as_u16() == REQUEST).collect();
    assert_eq!(asked.len() as u64, fixture.service.metrics().total());
    let (app, service) = (fixture.service.keys().app.public_key(), fixture.service.keys().wallet.public_key());
    for event in asked {
        assert_eq!((event.pubkey, tag(&event, "p")), (app, Some(service.to_hex().as_str())));
        assert_eq!((tag(&event, "encryption"), event.content.contains("?iv=")), (nip44.then_some("nip44_v2"), !nip44));
        assert!(event.tags.expiration().is_some_and(|at| *at > Timestamp::now()));
    }
    assert_eq!(fixture.service.metrics().unreadable, 0);
}

#[tokio::test]
async fn every_encryption() {
    everything(|_| {}, true).await;
    let old = |behaviour: &mut Behaviour| {
        behaviour.capabilities.encryptions = Encryptions::Nip04;
        behaviour.capabilities.announced = false;
    };
    tokio::time::timeout(LONG, everything(old, false)).await.expect("its announcement is not waited for each time");
}

#[tokio::test]
async fn a_later_announcement_applies_from_then_on() {
    let fixture = Fixture::set_with(|behaviour| behaviour.capabilities.announced = false).await;
    let (service, client) = (&fixture.service, &fixture.client);
    client.invoice(1_000).await;
    assert!(!client.backend.status().sends_notifications);
    service.set(|behaviour| behaviour.capabilities.announced = true);
    client.until_status(|status| status.sends_notifications).await;
    client.invoice(1_000).await;
    let asked = fixture.relay.seen().into_iter().filter(|event| event.kind.as_u16() == REQUEST);
    let schemes: Vec<bool> = asked.map(|event| tag(&event, "encryption").is_some()).collect();
    assert_eq!(schemes, [false, true]);
    // Another announcement replaces it. Encrypted in one way only, whatever it was before.
    for encryptions in [Encryptions::Nip04, Encryptions::Nip44, Encryptions::Both] {
        service.set(|behaviour| behaviour.capabilities.notifications = false);
        client.until_status(|status| !status.sends_notifications).await;
        service.set(|behaviour| {
            (behaviour.capabilities.encryptions, behaviour.capabilities.notifications) = (encryptions, true)
        });
        client.until_status(|status| status.sends_notifications).await;
        client.invoice(1_000).await;
    }
}

#[tokio::test]
async fn a_wallet_without_balance_or_name() {
    let fixture = Fixture::set_with(|behaviour| {
        behaviour.capabilities.methods.remove(&Method::GetBalance);
    })
    .await;
    let info = fixture.client.backend.info().await.unwrap();
    assert_eq!((info.alias.as_deref(), info.balance), (Some("shop"), None));
    fixture.service.set(|behaviour| behaviour.capabilities.methods = [Method::GetBalance, Method::MakeInvoice].into());
    fixture.relay.wait_for(LONG, |metrics| metrics.events_of(13_194) == 2).await.expect("announced anew");
    let info = fixture.client.backend.info().await.unwrap();
    assert_eq!((info.alias, info.network, info.balance), (None, None, Some(Fixture::SHOP)));
    assert!(info.methods.contains(&"make_invoice".to_owned()), "{:?}", info.methods);
}

#[tokio::test]
async fn a_wallet_whose_clock_is_minutes_behind() {
    let behind = UnixClock(Arc::new(|| Timestamp::now().as_secs() - 300));
    let mut fixture = Fixture::set_in(LightningNetwork::with_clock(behind), |_| {}).await;
    fixture.receives().await;
}

#[tokio::test]
async fn concurrent_requests_get_their_own_responses() {
    let fixture = Fixture::set().await;
    let asking = (1..=100_u64).map(|amount| {
        let wallet = &fixture.client.backend;
        async move {
            let made = wallet.make_invoice(&wanted(amount)).await.unwrap();
            assert_eq!(made.amount(), Some(amount));
            assert_eq!(wallet.look_up_invoice(made.payment_hash()).await, Ok(InvoiceStatus::Open));
        }
    });
    futures_util::future::join_all(asking).await;
}
