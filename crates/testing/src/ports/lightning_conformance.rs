//! What every adapter of the port [`Lightning`] must do with money, tried against a real backend. A test supplies a
//! [`LightningHarness`]: the adapter with its backend, and people outside who pay and are paid. Each function is one
//! rule; [`run`] tries all of them, one after the other.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use usher_engine::ports::{
    Clock as _, InvoiceStatus, Lightning, LightningError, LightningNotification, OutgoingPaymentStatus, Settlement,
    SignedPayment, SystemClock, WantedInvoice,
};

const LONG: Duration = Duration::from_secs(60);

/// An adapter with its backend, which has money and can receive, and people outside.
#[async_trait]
pub trait LightningHarness: Send {
    fn backend(&self) -> Arc<dyn Lightning>;

    /// The adapter's next notification.
    async fn notification(&mut self) -> LightningNotification;

    /// Stops the adapter and starts it again, with what it has stored. Returns when it is connected.
    async fn restart(&mut self);

    /// Somebody outside pays an invoice of the service.
    async fn pay_service(&self, invoice: &Invoice);

    /// Somebody outside makes an invoice.
    fn external_invoice(&self, amount: u64) -> Invoice;

    /// Somebody outside makes an invoice whose payment stays under way until [`release`](Self::release).
    fn hold_invoice(&self, amount: u64) -> Invoice;

    /// Waits until the payment of a hold invoice is with its holder; before that, a restart may make it fail.
    async fn until_hold_accepted(&self, invoice: &Invoice);

    /// The payment of a hold invoice arrives, or fails.
    async fn release(&self, invoice: &Invoice, arrives: bool);

    fn times_paid(&self, invoice: &Invoice) -> u32;
}

/// Tries every rule.
pub async fn run(harness: &mut dyn LightningHarness) {
    an_invoice_is_what_was_asked_for(harness).await;
    a_settlement_is_reported_and_can_be_looked_up(harness).await;
    a_settlement_survives_a_restart(harness).await;
    a_payment_reaches_the_payee_once(harness).await;
    two_payments_of_one_request_at_once_pay_once(harness).await;
    a_payment_with_no_way_to_the_payee_is_not_paid(harness).await;
    a_payment_under_way_is_pending_until_it_arrives(harness).await;
    a_payment_under_way_survives_a_restart(harness).await;
    a_payment_under_way_can_fail(harness).await;
    what_is_paid_leaves_the_balance(harness).await;
    an_expired_invoice_is_not_settled_and_stays_known(harness).await;
}

async fn an_invoice_is_what_was_asked_for(harness: &mut dyn LightningHarness) {
    let backend = harness.backend();
    let invoice = make_invoice(&*backend, 12_345_000).await;
    assert_eq!(invoice.amount(), Some(12_345_000));
    assert_eq!(invoice.description(), Some("two teas, très chaud"));
    let expires_in = invoice.expires_at() - invoice.created_at();
    assert_eq!(expires_in, 600);
    assert_eq!(backend.look_up_invoice(invoice.payment_hash()).await, Ok(InvoiceStatus::Open));
    let nobodys = PaymentHash::from_bytes([9; 32]);
    assert_eq!(backend.look_up_invoice(nobodys).await, Ok(InvoiceStatus::Unknown));
    // Longer than a description may be.
    let text = "tea, ".repeat(200);
    let digest: [u8; 32] = Sha256::digest(&text).into();
    let (description, hashed) = ("tea".to_owned(), Some(text));
    let wanted = WantedInvoice { amount: 12_345_000, description, hashed, is_for_anybody: false, expiry: 600 };
    let hashed = backend.make_invoice(&wanted).await.unwrap();
    assert_eq!((hashed.description(), hashed.description_hash()), (None, Some(&digest)));
}

async fn a_settlement_is_reported_and_can_be_looked_up(harness: &mut dyn LightningHarness) {
    let backend = harness.backend();
    let invoice = make_invoice(&*backend, 5_000_000).await;
    harness.pay_service(&invoice).await;
    assert_settled(harness, &invoice).await;
}

async fn a_settlement_survives_a_restart(harness: &mut dyn LightningHarness) {
    let before = make_invoice(&*harness.backend(), 5_000_000).await;
    let open = make_invoice(&*harness.backend(), 6_000_000).await;
    harness.pay_service(&before).await;
    assert_settled(harness, &before).await;
    harness.restart().await;
    let backend = harness.backend();
    assert!(matches!(backend.look_up_invoice(before.payment_hash()).await, Ok(InvoiceStatus::Settled(_))));
    assert_eq!(backend.look_up_invoice(open.payment_hash()).await, Ok(InvoiceStatus::Open));
    harness.pay_service(&open).await;
    assert_settled(harness, &open).await;
}

async fn a_payment_reaches_the_payee_once(harness: &mut dyn LightningHarness) {
    let backend = harness.backend();
    let invoice = harness.external_invoice(1_000_000);
    let payment = prepare(&*backend, &invoice).await;
    assert_eq!(harness.times_paid(&invoice), 0, "a request that is only prepared pays nothing");
    let paid = backend.pay(&invoice, &payment, false).await.unwrap();
    assert_eq!(paid.preimage.payment_hash(), invoice.payment_hash());
    assert!(paid.fees_paid.is_none_or(|fees| fees <= 50_000), "{paid:?}");
    // The reply was lost, and the same request is sent again; then after a restart.
    for _ in 0..2 {
        let again = harness.backend().pay(&invoice, &payment, true).await;
        match again {
            Ok(again) => assert_eq!(again.preimage.payment_hash(), invoice.payment_hash()),
            Err(error) => assert!(matches!(error, LightningError::Unknown(_)), "{error:?}"),
        }
        let status = harness.backend().look_up_payment(invoice.payment_hash(), Some(&payment)).await;
        assert!(matches!(status, Ok(OutgoingPaymentStatus::Paid(again)) if again.preimage == paid.preimage));
        harness.restart().await;
    }
    assert_eq!(harness.times_paid(&invoice), 1);
}

async fn two_payments_of_one_request_at_once_pay_once(harness: &mut dyn LightningHarness) {
    let backend = harness.backend();
    let invoice = harness.external_invoice(1_000_000);
    let payment = prepare(&*backend, &invoice).await;
    let (first, second) = tokio::join!(backend.pay(&invoice, &payment, false), backend.pay(&invoice, &payment, true));
    assert!(first.is_ok() || second.is_ok(), "{first:?} {second:?}");
    assert_eq!(harness.times_paid(&invoice), 1);
}

async fn a_payment_with_no_way_to_the_payee_is_not_paid(harness: &mut dyn LightningHarness) {
    let backend = harness.backend();
    let invoice = harness.external_invoice(90_000_000_000);
    let payment = prepare(&*backend, &invoice).await;
    let error = backend.pay(&invoice, &payment, false).await.unwrap_err();
    assert!(matches!(error, LightningError::Refused { .. } | LightningError::Failed(_)), "{error:?}");
    let status = backend.look_up_payment(invoice.payment_hash(), Some(&payment)).await.unwrap();
    assert!(matches!(status, OutgoingPaymentStatus::Failed | OutgoingPaymentStatus::Unknown(_)), "{status:?}");
    assert_eq!(harness.times_paid(&invoice), 0);
}

async fn a_payment_under_way_is_pending_until_it_arrives(harness: &mut dyn LightningHarness) {
    let invoice = harness.hold_invoice(1_000_000);
    let payment = begin(harness, &invoice).await;
    harness.release(&invoice, true).await;
    let status = ended(&*harness.backend(), &invoice, &payment).await;
    assert!(
        matches!(status, OutgoingPaymentStatus::Paid(paid) if paid.preimage.payment_hash() == invoice.payment_hash())
    );
    assert_eq!(harness.times_paid(&invoice), 1);
}

async fn a_payment_under_way_survives_a_restart(harness: &mut dyn LightningHarness) {
    let invoice = harness.hold_invoice(1_000_000);
    let payment = begin(harness, &invoice).await;
    harness.restart().await;
    let status = harness.backend().look_up_payment(invoice.payment_hash(), Some(&payment)).await;
    assert_eq!(status, Ok(OutgoingPaymentStatus::Pending));
    harness.release(&invoice, true).await;
    assert!(matches!(ended(&*harness.backend(), &invoice, &payment).await, OutgoingPaymentStatus::Paid(_)));
    assert_eq!(harness.times_paid(&invoice), 1);
}

async fn a_payment_under_way_can_fail(harness: &mut dyn LightningHarness) {
    let invoice = harness.hold_invoice(1_000_000);
    let payment = begin(harness, &invoice).await;
    harness.release(&invoice, false).await;
    assert_eq!(ended(&*harness.backend(), &invoice, &payment).await, OutgoingPaymentStatus::Failed);
    assert_eq!(harness.times_paid(&invoice), 0);
}

async fn what_is_paid_leaves_the_balance(harness: &mut dyn LightningHarness) {
    let backend = harness.backend();
    let Some(before) = backend.info().await.unwrap().balance else { return };
    let invoice = harness.external_invoice(2_000_000);
    let payment = prepare(&*backend, &invoice).await;
    let paid = backend.pay(&invoice, &payment, false).await.unwrap();
    let spent = 2_000_000 + paid.fees_paid.unwrap_or(0);
    eventually("a balance without what was paid", || async {
        backend.info().await.unwrap().balance.is_some_and(|after| before - after == spent).then_some(())
    })
    .await;
}

/// An expired invoice is not reported as settled, and not forgotten: a payment may arrive at the last moment.
async fn an_expired_invoice_is_not_settled_and_stays_known(harness: &mut dyn LightningHarness) {
    let wanted = WantedInvoice {
        amount: 3_000_000,
        description: "tea".to_owned(),
        hashed: None,
        is_for_anybody: false,
        expiry: 1,
    };
    let invoice = harness.backend().make_invoice(&wanted).await.unwrap();
    assert_eq!(invoice.expires_at() - invoice.created_at(), 1);
    eventually("an expired invoice", || async { invoice.is_expired(SystemClock.now().secs()).then_some(()) }).await;
    for _ in 0..2 {
        let status = harness.backend().look_up_invoice(invoice.payment_hash()).await;
        assert!(matches!(status, Ok(InvoiceStatus::Open | InvoiceStatus::Dead)), "{status:?}");
        harness.restart().await;
    }
}

async fn make_invoice(backend: &dyn Lightning, amount: u64) -> Invoice {
    let wanted = WantedInvoice {
        amount,
        description: "two teas, très chaud".to_owned(),
        hashed: None,
        is_for_anybody: false,
        expiry: 600,
    };
    backend.make_invoice(&wanted).await.unwrap()
}

async fn prepare(backend: &dyn Lightning, invoice: &Invoice) -> SignedPayment {
    backend.prepare_payment(invoice, SystemClock.now().secs() + 8).await.unwrap()
}

/// Begins to pay a hold invoice, and returns when it is under way.
async fn begin(harness: &dyn LightningHarness, invoice: &Invoice) -> SignedPayment {
    let backend = harness.backend();
    let payment = prepare(&*backend, invoice).await;
    let (paying, paid_invoice, request) = (Arc::clone(&backend), invoice.clone(), payment.clone());
    #[expect(clippy::disallowed_methods, reason = "ends with the payment")]
    tokio::spawn(async move {
        let _ = paying.pay(&paid_invoice, &request, false).await;
    });
    eventually("a payment under way", || async {
        let status = backend.look_up_payment(invoice.payment_hash(), Some(&payment)).await;
        (status == Ok(OutgoingPaymentStatus::Pending)).then_some(())
    })
    .await;
    harness.until_hold_accepted(invoice).await;
    payment
}

async fn ended(backend: &dyn Lightning, invoice: &Invoice, payment: &SignedPayment) -> OutgoingPaymentStatus {
    eventually("the end of a payment", || async {
        let status = backend.look_up_payment(invoice.payment_hash(), Some(payment)).await.ok()?;
        (status != OutgoingPaymentStatus::Pending).then_some(status)
    })
    .await
}

async fn assert_settled(harness: &mut dyn LightningHarness, invoice: &Invoice) {
    let settlement = loop {
        match harness.notification().await {
            LightningNotification::Settled(hash, settlement) if hash == invoice.payment_hash() => break settlement,
            _ => {}
        }
    };
    assert_eq!(paid_in_all(&settlement), invoice.amount());
    assert!(settlement.preimage.is_none_or(|preimage| preimage.payment_hash() == invoice.payment_hash()));
    match harness.backend().look_up_invoice(invoice.payment_hash()).await {
        Ok(InvoiceStatus::Settled(found)) => assert_eq!(paid_in_all(&found), invoice.amount()),
        other => panic!("{other:?}"),
    }
}

fn paid_in_all(settlement: &Settlement) -> Option<u64> {
    settlement.amount.map(|amount| amount + settlement.skimmed_fee)
}

async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, mut value: impl FnMut() -> F) -> T {
    let waiting = async {
        loop {
            if let Some(value) = value().await {
                return value;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap_or_else(|_| panic!("no {what} within {LONG:?}"))
}
