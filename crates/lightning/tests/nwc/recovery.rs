//! Recovery after outages, without intervention.

use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningNotification};
use usher_sandbox::lightning::Method;

use crate::fixture::{Fixture, LONG};

#[tokio::test]
async fn the_relay_goes_and_comes_back() {
    let mut fixture = Fixture::set().await;
    fixture.receives().await;
    for _ in 0..2 {
        let missed = fixture.client.invoice(100).await;
        fixture.relay.stop().await;
        fixture.client.until(false).await;
        assert!(fixture.client.backend.status().sends_notifications, "it still would");
        fixture.user.pay(missed.as_str(), None).unwrap();
        fixture.start_relay().await;
        // Events in the meantime were not reported: this notification triggers a look-up.
        let mut told = vec![fixture.client.notification().await];
        fixture.until_both_hear().await;
        let found = fixture.client.backend.look_up_invoice(missed.payment_hash()).await;
        assert!(matches!(found, Ok(InvoiceStatus::Settled(_))), "{found:?}");
        if let LightningNotification::Settled(hash, _) = &told[0] {
            // The wallet service retried until the relay was there, and the backend was there first.
            assert_eq!(*hash, missed.payment_hash());
            told.push(fixture.client.notification().await);
        }
        assert!(told.contains(&LightningNotification::Reconnected), "{told:?}");
        let made = fixture.client.invoice(100).await;
        fixture.user.pay(made.as_str(), None).unwrap();
        let mut hash = fixture.client.settled().await.0;
        if hash == missed.payment_hash() {
            hash = fixture.client.settled().await.0;
        }
        assert_eq!(hash, made.payment_hash());
    }
}

#[tokio::test]
async fn it_starts_without_relay_and_service_and_finds_them_later() {
    let mut fixture = Fixture::without_relay().await;
    fixture.service.stop().await;
    let status = fixture.client.backend.status();
    assert!(!status.connected && !status.sends_notifications);
    fixture.start_relay().await;
    fixture.client.until(true).await;
    assert!(!fixture.client.backend.status().sends_notifications, "it does not know the wallet yet");
    fixture.service.start_again().await;
    fixture.client.until_status(|status| status.sends_notifications).await;
    fixture.until_both_hear().await;
    // It was never connected before, so nothing could have been missed.
    fixture.receives().await;
    fixture.client.quiet().await;
}

#[tokio::test]
async fn slow_payments_delay_no_other_request() {
    const PAYMENTS: u64 = 70;
    let fixture =
        Fixture::set_with(|behaviour| (behaviour.holds_payments, behaviour.capabilities.notifications) = (true, false))
            .await;
    let invoices: Vec<_> = (0..PAYMENTS).map(|_| fixture.external_invoice(100)).collect();
    let paying = futures_util::future::join_all(invoices.iter().map(|invoice| fixture.pay(invoice, 600)));
    let meanwhile = async {
        fixture.service.wait_for(LONG, |metrics| metrics.calls(Method::PayInvoice) >= 20).await.expect("under way");
        for _ in 0..5 {
            let made = fixture.client.invoice(100).await;
            assert_eq!(fixture.client.backend.look_up_invoice(made.payment_hash()).await, Ok(InvoiceStatus::Open));
        }
        let mut done = 0;
        while done < PAYMENTS {
            fixture.service.wait_for(LONG, |metrics| metrics.executed(Method::PayInvoice) > done).await.expect("more");
            done += fixture.service.release_payments(true) as u64;
        }
    };
    let (paid, ()) = tokio::join!(paying, meanwhile);
    for (invoice, paid) in invoices.iter().zip(paid) {
        assert_eq!(paid.unwrap().preimage.payment_hash(), invoice.payment_hash());
        assert_eq!(fixture.times_paid(invoice), 1);
    }
}
