//! Requests that are refused, and responses that say nothing: nothing moves, and nothing is requested twice.

use usher_engine::ports::LightningError;
use usher_sandbox::lightning::{ErrorCode, Method};
use usher_testing::lightning::CallBehaviour;

use crate::fixture::{Fixture, is_unknown};

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
