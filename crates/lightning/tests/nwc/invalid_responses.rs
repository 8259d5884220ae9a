//! A wallet service that lies. What its message alone shows to be wrong is an error here. What must be compared with
//! the request is checked by the engine (`usher_engine::operations`), which must receive it unchanged.

use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningError};
use usher_protocol::bolt11::{Invoice, Network};
use usher_sandbox::lightning::{ErrorCode, Method};
use usher_testing::lightning::{CallBehaviour, InvoiceLie, PayLie};

use crate::fixture::{Fixture, is_unknown, wanted, within};

async fn made(lie: InvoiceLie) -> Result<Invoice, LightningError> {
    let fixture = Fixture::set_with(|behaviour| behaviour.invoices = Some(lie)).await;
    fixture.client.backend.make_invoice(&wanted(1_000)).await
}

#[tokio::test]
async fn contradictory_invoices_are_refused_and_other_ones_passed_on_unchanged() {
    for lie in [InvoiceLie::OtherHash, InvoiceLie::Garbage] {
        let made = made(lie).await;
        // There is nothing to pay, and no use in requesting it again.
        assert!(matches!(made, Err(LightningError::Refused { again: false, .. })), "{lie:?}: {made:?}");
    }
    for (lie, amount) in
        [(InvoiceLie::LessAmount, Some(999)), (InvoiceLie::MoreAmount, Some(1_001)), (InvoiceLie::NoAmount, None)]
    {
        assert_eq!(made(lie).await.unwrap().amount(), amount);
    }
    assert_eq!(made(InvoiceLie::OtherNetwork).await.unwrap().network(), Network::Bitcoin);
    assert!(made(InvoiceLie::Expired).await.unwrap().is_expired(within(0)));
}

#[tokio::test]
async fn payments() {
    let fixture = Fixture::set().await;
    for (lie, executed) in [(PayLie::WrongPreimage, 1), (PayLie::Pretend, 0)] {
        fixture.service.set(|behaviour| behaviour.pays = Some(lie));
        let external = fixture.external_invoice(1_000);
        let paid = fixture.pay(&external, 60).await.unwrap();
        assert_ne!(paid.preimage.payment_hash(), external.payment_hash(), "for the engine to see");
        assert_eq!(fixture.times_paid(&external), executed);
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
async fn an_unaffordable_payment_is_refused_and_moves_nothing() {
    let fixture = Fixture::set().await;
    let refused = |result| match result {
        Err(LightningError::Refused { again, .. }) => again,
        Err(LightningError::Failed(_)) => false,
        other => panic!("{other:?}"),
    };
    assert!(refused(fixture.pay(&fixture.external_invoice(Fixture::SHOP + 1), 60).await), "there may be more later");
    let cancelled = fixture.external_invoice(1_000);
    fixture.user.cancel_invoice(cancelled.payment_hash());
    assert!(!refused(fixture.pay(&cancelled, 60).await));
    let paid = fixture.external_invoice(1_000);
    fixture.pay(&paid, 60).await.unwrap();
    assert!(!refused(fixture.pay(&paid, 60).await), "it is paid once");
    assert_eq!(fixture.times_paid(&paid), 1);
}

#[tokio::test]
async fn a_request_is_made_once_whatever_the_response() {
    use CallBehaviour::{Empty, Garble, Refuse, Twice};
    let fixture = Fixture::set().await;
    for (count, call_behaviour) in (1..).zip([Refuse(ErrorCode::RateLimited), Garble, Empty, Twice]) {
        fixture.service.set(|behaviour| behaviour.once(Method::PayInvoice, call_behaviour));
        let paid = fixture.pay(&fixture.external_invoice(1_000), 60).await;
        match call_behaviour {
            Twice => assert!(paid.is_ok()),
            Refuse(_) => assert!(matches!(paid, Err(LightningError::Refused { again: true, .. })), "{paid:?}"),
            _ => is_unknown(paid),
        }
        assert_eq!(fixture.asked_to_pay().await, count, "{call_behaviour:?}");
    }
    assert_eq!(fixture.service.metrics().copies, 0);
}
