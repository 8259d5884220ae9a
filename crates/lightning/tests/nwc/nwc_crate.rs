//! The sandbox's wallet service, which the other tests trust, with the `nwc` crate: an independent client (NIP-04 only).

use std::time::Duration;

use nwc::NWC;
use nwc::prelude::{
    LookupInvoiceRequest, MakeInvoiceRequest, NostrWalletConnectURI, NotificationType, PayInvoiceRequest,
    TransactionState, TransactionType,
};
use usher_protocol::bolt11::Invoice;
use usher_sandbox::lightning::InvoiceTerms;

use crate::fixture::{Fixture, LONG};

#[tokio::test]
async fn all_methods_work_with_the_nwc_crate() {
    let fixture = Fixture::set().await;
    let url: NostrWalletConnectURI = fixture.service.url().parse().unwrap();
    let client = NWC::new(url);
    assert_eq!(client.get_balance().await.unwrap(), 1_000_000);
    let info = client.get_info().await.unwrap();
    assert_eq!((info.network.as_deref(), info.methods.len()), (Some("regtest"), 5));
    assert_eq!(info.notifications, ["payment_received", "payment_sent"]);

    let wanted =
        MakeInvoiceRequest { amount: 7_000, description: Some("tea".to_owned()), description_hash: None, expiry: None };
    let made = client.make_invoice(wanted).await.unwrap();
    let invoice: Invoice = made.invoice.parse().unwrap();
    assert_eq!(made.payment_hash, Some(invoice.payment_hash().to_string()));
    fixture.user.pay(invoice.as_str(), None).unwrap();
    let by_hash = |hash: Option<String>| LookupInvoiceRequest { payment_hash: hash, invoice: None };
    let found = client.lookup_invoice(by_hash(made.payment_hash)).await.unwrap();
    assert_eq!((found.state, found.amount), (Some(TransactionState::Settled), 7_000));

    let theirs = fixture.external_invoice(2_000);
    let paid = client.pay_invoice(PayInvoiceRequest::new(theirs.as_str())).await.unwrap();
    assert_eq!((paid.preimage.len(), paid.fees_paid), (64, Some(2)));
    let found = client.lookup_invoice(by_hash(Some(theirs.payment_hash().to_string()))).await.unwrap();
    assert_eq!((found.transaction_type, found.fees_paid), (Some(TransactionType::Outgoing), 2));
    assert!(client.pay_invoice(PayInvoiceRequest::new(theirs.as_str())).await.is_err());
    assert_eq!(fixture.times_paid(&theirs), 1);

    client.subscribe_to_notifications().await.unwrap();
    let told = client.handle_notifications(async |notification| {
        Ok(notification.notification_type == NotificationType::PaymentReceived)
    });
    // It does not report when its subscription is active; earlier events are lost.
    let paying = async {
        loop {
            let invoice = fixture.shop.make_invoice(&InvoiceTerms::of(1)).unwrap();
            fixture.user.pay(invoice.as_str(), None).unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        told = tokio::time::timeout(LONG, told) => told.unwrap().unwrap(),
        () = paying => {}
    }
    client.shutdown().await;
}
