//! Error codes of the wallet service.

use usher_engine::ports::{InvoiceStatus, Lightning as _, LightningError, LookupCoverage, OutgoingPaymentStatus};
use usher_faults::lightning::CallBehaviour;
use usher_protocol::message::Preimage;
use usher_sandbox::lightning::{ErrorCode, Method};

use crate::backend_under_test::wanted;
use crate::fixture::Fixture;

/// What each code means for the engine: `Some(again)` for a definite refusal, `None` when it may have been done
/// nevertheless.
const CODES: [(ErrorCode, Option<bool>); 11] = [
    (ErrorCode::RateLimited, Some(true)),
    (ErrorCode::InsufficientBalance, Some(true)),
    (ErrorCode::QuotaExceeded, Some(true)),
    (ErrorCode::NotImplemented, Some(false)),
    (ErrorCode::Restricted, Some(false)),
    (ErrorCode::Unauthorized, Some(false)),
    (ErrorCode::UnsupportedEncryption, Some(true)),
    (ErrorCode::PaymentFailed, None),
    (ErrorCode::NotFound, Some(false)),
    (ErrorCode::Internal, None),
    (ErrorCode::Other, None),
];

#[tokio::test]
async fn each_code_is_a_definite_refusal_or_proves_nothing() {
    let fixture = Fixture::set().await;
    let invoice = fixture.external_invoice(1_000);
    for (code, definite) in CODES {
        fixture.service.set(|behaviour| behaviour.on_all(CallBehaviour::Refuse(code)));
        let reason = format!("the wallet refuses ({})", code.as_str());
        let expected = match definite {
            _ if code == ErrorCode::PaymentFailed => LightningError::Failed(reason),
            Some(again) => LightningError::Refused { again, reason },
            None => LightningError::Unknown(reason),
        };
        assert_eq!(fixture.pay(&invoice, 60).await, Err(expected.clone()));
        assert_eq!(fixture.client.backend.make_invoice(&wanted(1_000)).await, Err(expected.clone()));
        assert_eq!(fixture.client.backend.info().await, Err(expected.clone()));
        let hash = Preimage::from_bytes([3; 32]).payment_hash();
        let (invoice, payment) = (
            fixture.client.backend.look_up_invoice(hash).await,
            fixture.client.backend.look_up_payment(hash, None).await,
        );
        if code == ErrorCode::NotFound {
            assert_eq!(
                (invoice, payment),
                (Ok(InvoiceStatus::Unknown), Ok(OutgoingPaymentStatus::Unknown(LookupCoverage::None)))
            );
        } else {
            assert_eq!((invoice, payment), (Err(expected.clone()), Err(expected)));
        }
    }
    assert_eq!(fixture.network.executed(invoice.payment_hash()), 0);
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
