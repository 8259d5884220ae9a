use usher_protocol::message::PaymentHash;

use super::*;
use crate::kernel::fixtures::{Around, NOW, stream, within};
use crate::operations::fixtures::invoice;
use crate::ports::SignedPayment;
use crate::testing::{FakeLightning, preimage};

fn queue(around: &Around, backend: Option<&Arc<FakeLightning>>) -> Arc<LightningQueue> {
    let backend = backend.map(|backend| Arc::clone(backend) as Arc<dyn Lightning>);
    let (queue, calls) = LightningQueue::new(around.core(), backend, None, Arc::default());
    let queue = Arc::new(queue);
    around.tasks.spawn(Arc::clone(&queue).run(calls));
    queue
}

fn look_up() -> LightningRequest {
    LightningRequest::LookUpInvoice(PaymentHash::from_bytes([1; 32]))
}

fn prepare() -> LightningRequest {
    let invoice = invoice(5_000, preimage(0), 3600);
    LightningRequest::PreparePayment { invoice, until: NOW.secs() + 60 }
}

fn pay(again: bool) -> LightningRequest {
    let payment = SignedPayment { request: "signed".to_owned(), until: NOW.secs() + 60 };
    LightningRequest::Pay { invoice: invoice(5_000, preimage(0), 3600), payment, attempt: 1, again }
}

#[tokio::test]
async fn request_is_not_repeated_until_its_reply_is_processed() {
    let mut around = Around::new();
    let backend = around.lightning();
    let queue = queue(&around, Some(&backend));
    around.open(stream(1));
    queue.put(stream(1), look_up(), false);
    queue.put(stream(1), look_up(), false);
    let (id, input) = around.input().await;
    assert!(matches!(input, Input::InvoiceStatus(Ok(_))), "{input:?}");
    queue.put(stream(1), look_up(), false);
    assert_eq!(backend.look_ups(), 1);
    queue.processed(id, &input);
    queue.put(stream(1), look_up(), false);
    around.input().await;
    assert_eq!(backend.look_ups(), 2);
}

#[tokio::test]
async fn payment_keeps_its_permit_until_sent_or_abandoned() {
    let mut around = Around::new();
    let backend = around.lightning();
    let queue = queue(&around, Some(&backend));
    let all = u8::try_from(CONCURRENT_PAYMENTS).unwrap() + 2;
    for n in 0..all {
        around.open(stream(n));
        queue.put(stream(n), prepare(), false);
    }
    let mut replies = Vec::new();
    for _ in 0..CONCURRENT_PAYMENTS {
        replies.push(around.input().await);
    }
    assert_eq!(backend.prepared() as usize, CONCURRENT_PAYMENTS);
    // The first is sent: it has the permit until the reply.
    let (sent, _) = replies.remove(0);
    queue.put(sent, pay(false), false);
    let (id, input) = around.input().await;
    assert!(id != sent || matches!(input, Input::PaymentSent { .. }), "{input:?}");
    within("another is prepared", || (backend.prepared() as usize == CONCURRENT_PAYMENTS + 1).then_some(())).await;
    // The second is not sent.
    let (given_up, input) = replies.remove(0);
    queue.processed(given_up, &input);
    within("another is prepared", || (backend.prepared() as usize == CONCURRENT_PAYMENTS + 2).then_some(())).await;
}

#[tokio::test]
async fn without_a_backend_only_unsent_requests_are_refused() {
    let mut around = Around::new();
    let queue = queue(&around, None);
    around.open(stream(1));
    queue.put(stream(1), prepare(), false);
    let (_, input) = around.input().await;
    assert!(matches!(input, Input::PaymentPrepared(Err(LightningError::Refused { again: false, .. }))), "{input:?}");
    queue.put(stream(1), pay(true), false);
    let (_, input) = around.input().await;
    assert!(matches!(input, Input::PaymentSent { result: Err(LightningError::Unknown(_)), .. }), "{input:?}");
    queue.put(
        stream(1),
        LightningRequest::LookUpPayment { hash: PaymentHash::from_bytes([1; 32]), asked: None },
        false,
    );
    let (_, input) = around.input().await;
    assert!(matches!(input, Input::PaymentStatus(Err(LightningError::NotSent))), "{input:?}");
}

#[tokio::test]
async fn panicking_request_is_unknown_and_ended_operations_make_none() {
    let mut around = Around::new();
    let backend = around.lightning();
    let queue = queue(&around, Some(&backend));
    backend.panic(u32::MAX);
    around.open(stream(2));
    queue.put(stream(1), look_up(), false);
    queue.put(stream(2), look_up(), false);
    let (id, input) = around.input().await;
    assert!(matches!(input, Input::InvoiceStatus(Err(LightningError::Unknown(_)))), "{input:?}");
    assert_eq!((id, backend.look_ups()), (stream(2), 1));
}

#[tokio::test]
async fn what_does_not_fit_into_the_queue_was_not_sent() {
    let mut around = Around::new();
    let backend = around.lightning() as Arc<dyn Lightning>;
    // Nobody takes calls out of it.
    let (queue, _calls) = LightningQueue::new(around.core(), Some(backend), None, Arc::default());
    let queue = Arc::new(queue);
    let mut n = 0;
    let refused = loop {
        let id = StreamId::from_parts(n, [0; 10]);
        around.open(id);
        queue.put(id, look_up(), false);
        n += 1;
        if let Some(refused) = around.input_now() {
            break refused;
        }
        assert!(n < 100_000);
        tokio::task::yield_now().await;
    };
    assert!(matches!(refused.1, Input::InvoiceStatus(Err(LightningError::NotSent))), "{refused:?}");
}
