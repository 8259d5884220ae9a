//! A wallet service that lies. What its message alone shows to be wrong is an error here. What must be compared with
//! the request is checked by the engine (`usher_engine::operations`), which must receive it unchanged.

use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningError};
use usher_faults::lightning::{InvoiceLie, PayLie};
use usher_protocol::bolt11::Network;

use crate::backend_under_test::wanted;
use crate::fixture::Fixture;

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
