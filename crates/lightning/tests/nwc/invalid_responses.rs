//! A wallet service that lies. What its message alone shows to be wrong is an error here. What must be compared with
//! the request is checked by the engine (`usher_engine::operations`), which must receive it unchanged.

use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningError, LookupCoverage, OutgoingPaymentStatus};
use usher_faults::lightning::{CallBehaviour, InvoiceLie, LookupLie, PayLie};
use usher_protocol::bolt11::Network;
use usher_sandbox::lightning::Method;

use crate::backend_under_test::wanted;
use crate::fixture::{Fixture, SOON};

async fn made(lie: InvoiceLie) -> Result<usher_protocol::bolt11::Invoice, LightningError> {
    let fixture = Fixture::set_with(|behaviour| behaviour.invoices = Some(lie)).await;
    fixture.client.backend.make_invoice(&wanted(1_000)).await
}

#[tokio::test]
async fn contradictory_invoices_are_refused() {
    for lie in [InvoiceLie::OtherHash, InvoiceLie::Garbage] {
        let made = made(lie).await;
        // There is nothing to pay, and no use in requesting it again.
        assert!(matches!(made, Err(LightningError::Refused { again: false, .. })), "{lie:?}: {made:?}");
    }
}

#[tokio::test]
async fn invoices_that_differ_from_the_request_are_passed_on_unchanged() {
    assert_eq!(made(InvoiceLie::LessAmount).await.unwrap().amount(), Some(999));
    assert_eq!(made(InvoiceLie::MoreAmount).await.unwrap().amount(), Some(1_001));
    assert_eq!(made(InvoiceLie::NoAmount).await.unwrap().amount(), None);
    assert_eq!(made(InvoiceLie::OtherNetwork).await.unwrap().network(), Network::Bitcoin);
    assert!(made(InvoiceLie::Expired).await.unwrap().is_expired(crate::backend_under_test::within(0)));
}

#[tokio::test]
async fn look_ups() {
    let fixture = Fixture::set().await;
    let wallet = &fixture.client.backend;
    let open = fixture.client.invoice(1_000).await.payment_hash();
    let external = fixture.external_invoice(1_000);
    fixture.pay(&external, 60).await.unwrap();
    let set = |lie| fixture.service.set(|behaviour| behaviour.lookups = Some(lie));

    set(LookupLie::OtherHash);
    let (invoice, payment) =
        (wallet.look_up_invoice(open).await, wallet.look_up_payment(external.payment_hash(), None).await);
    assert!(matches!(invoice, Err(LightningError::Unknown(_))), "{invoice:?}");
    assert!(matches!(payment, Err(LightningError::Unknown(_))), "{payment:?}");

    set(LookupLie::SettledWithWrongPreimage);
    let Ok(InvoiceStatus::Settled(settlement)) = wallet.look_up_invoice(open).await else { panic!("as it says") };
    assert_ne!(settlement.preimage.unwrap().payment_hash(), open, "for the engine to see");
    let Ok(OutgoingPaymentStatus::Paid(paid)) = wallet.look_up_payment(external.payment_hash(), None).await else {
        panic!("as it says")
    };
    assert_ne!(paid.preimage.payment_hash(), external.payment_hash(), "for the engine to see");

    set(LookupLie::Settled);
    let Ok(InvoiceStatus::Settled(settlement)) = wallet.look_up_invoice(open).await else { panic!("as it says") };
    assert_eq!(settlement.preimage, None, "it proves nothing");

    for (lie, invoice, payment) in [
        (LookupLie::Forget, InvoiceStatus::Unknown, OutgoingPaymentStatus::Unknown(LookupCoverage::None)),
        (LookupLie::Pending, InvoiceStatus::Open, OutgoingPaymentStatus::Pending),
        (LookupLie::Failed, InvoiceStatus::Dead, OutgoingPaymentStatus::Failed),
        // It is over, and that is all.
        (LookupLie::Expired, InvoiceStatus::Dead, OutgoingPaymentStatus::Unproven),
    ] {
        set(lie);
        assert_eq!(wallet.look_up_invoice(open).await, Ok(invoice), "{lie:?}");
        assert_eq!(wallet.look_up_payment(external.payment_hash(), None).await, Ok(payment), "{lie:?}");
    }
}

#[tokio::test]
async fn payments() {
    let fixture = Fixture::set().await;
    for (lie, executed) in [(PayLie::WrongPreimage, 1), (PayLie::Pretend, 0)] {
        fixture.service.set(|behaviour| behaviour.pays = Some(lie));
        let external = fixture.external_invoice(1_000);
        let paid = fixture.pay(&external, 60).await.unwrap();
        assert_ne!(paid.preimage.payment_hash(), external.payment_hash(), "for the engine to see");
        assert_eq!(fixture.network.executed(external.payment_hash()), executed);
    }
}

#[tokio::test]
async fn a_false_settlement_is_passed_on_unchanged() {
    let mut fixture = Fixture::set().await;
    let open = fixture.client.invoice(1_000).await.payment_hash();
    assert!(fixture.service.claim_received(open));
    let (hash, settlement) = fixture.client.settled().await;
    assert_eq!(hash, open);
    assert_ne!(settlement.preimage.unwrap().payment_hash(), open, "for the engine to see");
    assert_eq!(fixture.client.backend.look_up_invoice(open).await, Ok(InvoiceStatus::Open), "the truth");
}

#[tokio::test]
async fn a_response_in_the_services_name_is_ignored() {
    let fixture = Fixture::set().await;
    fixture.service.set(|behaviour| {
        behaviour.lookups = Some(LookupLie::ForgetPayments);
        behaviour.once(Method::PayInvoice, CallBehaviour::Impersonate);
    });
    let external = fixture.external_invoice(1_000);
    let paid = fixture.pay(&external, SOON).await;
    assert!(matches!(paid, Err(LightningError::Unknown(_))), "{paid:?}");
    fixture.service.set(|behaviour| behaviour.lookups = None);
    let Ok(OutgoingPaymentStatus::Paid(_)) =
        fixture.client.backend.look_up_payment(external.payment_hash(), None).await
    else {
        panic!("it was paid")
    };
}
