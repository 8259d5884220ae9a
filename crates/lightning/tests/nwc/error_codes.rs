//! Error codes of the wallet service.

use usher_engine::ports::LightningError;
use usher_faults::lightning::CallBehaviour;
use usher_sandbox::lightning::{ErrorCode, Method};

use crate::fixture::Fixture;

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
    assert_eq!(fixture.network.executed(paid.payment_hash()), 1);
}

#[tokio::test]
async fn a_request_is_made_once_whatever_the_response() {
    let fixture = Fixture::set().await;
    let call_behaviours = [
        CallBehaviour::Refuse(ErrorCode::RateLimited),
        CallBehaviour::Garble,
        CallBehaviour::Empty,
        CallBehaviour::Twice,
    ];
    for (count, call_behaviour) in (1..).zip(call_behaviours) {
        fixture.service.set(|behaviour| behaviour.once(Method::PayInvoice, call_behaviour));
        let invoice = fixture.external_invoice(1_000);
        let paid = fixture.pay(&invoice, 60).await;
        match call_behaviour {
            CallBehaviour::Twice => assert!(paid.is_ok()),
            CallBehaviour::Refuse(_) => {
                assert!(matches!(paid, Err(LightningError::Refused { again: true, .. })), "{paid:?}")
            }
            _ => assert!(matches!(paid, Err(LightningError::Unknown(_))), "{paid:?}"),
        }
        assert_eq!(fixture.asked_to_pay().await, count, "{call_behaviour:?}");
    }
    assert_eq!(fixture.service.metrics().copies, 0);
}
