//! Helpers that act as the app and the user's wallet in payments and subscriptions.

use usher_protocol::calendar::Calendar;
use usher_protocol::message::{Currency, PaymentResponse, Recurrence, RecurringResponse};
use usher_testing::ports::invoice;

use super::*;

pub const DAY: Duration = Duration::from_secs(24 * 3600);

pub fn payment(subscription_id: Option<&str>, ttl: u64) -> SinglePaymentRequest {
    SinglePaymentRequest {
        main_key: Some(user(1).public_key()),
        subkeys: Vec::new(),
        description: "Coffee".to_owned(),
        amount: 5_000,
        currency: RequestedCurrency::Millisats,
        subscription_id: subscription_id.map(str::to_owned),
        reference: None,
        expires_at: Some(NOW.secs() + ttl),
        return_url: None,
    }
}

/// The payment of the `n`th invoice of another by our own wallet.
pub fn external_invoice(n: usize) -> PayInvoiceRequest {
    external_invoice_of(n, 5_000, NOW)
}

pub fn external_invoice_of(n: usize, amount: u64, now: UnixMillis) -> PayInvoiceRequest {
    PayInvoiceRequest {
        main_key: None,
        subkeys: Vec::new(),
        invoice: invoice(78, n, amount, now.secs(), 3600),
        amount: None,
        currency: None,
        description: None,
        reference: None,
        expires_at: None,
    }
}

/// Advances the clock by so many seconds, one after the other.
pub async fn pass(usher: &Running, secs: u64) {
    for _ in 0..secs {
        usher.clock.turn(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The statuses of a stream's events, once there are as many as wanted.
pub async fn statuses(usher: &Running, stream: StreamId, wanted: usize) -> Vec<String> {
    let events = usher.events(stream, wanted).await;
    events.iter().map(|event| data_of(event)["status"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The data of the events on the reserved stream, once there are as many as wanted.
pub async fn announced(usher: &Running, wanted: usize) -> Vec<Value> {
    usher.events(StreamId::SUBSCRIPTIONS, wanted).await.iter().map(data_of).collect()
}

/// The next message of this kind; repeated messages in between are skipped.
pub async fn next_message(usher: &mut Running, has: &str, not: &[String]) -> Value {
    loop {
        let (message, _) = usher.next_message().await;
        let content: Value = serde_json::from_str(&message.content).unwrap();
        let id = content["request_id"].as_str().unwrap_or_default();
        if content.get(has).is_some() && !not.iter().any(|seen| seen == id) {
            return content;
        }
    }
}

pub fn request_id(message: &Value) -> String {
    message["request_id"].as_str().unwrap().to_owned()
}

pub fn says(request_id: &str, status: PaymentStatus) -> WalletMessage {
    WalletMessage::PaymentResponse(PaymentResponse { request_id: request_id.to_owned(), status })
}

pub fn close(subscription_id: &str) -> WalletMessage {
    let subscription_id = subscription_id.to_owned();
    WalletMessage::CloseSubscription(CloseSubscription { subscription_id, reason: None, by_service: false })
}

/// A user agrees to a subscription of 5,000 millisats a day.
pub async fn subscribe(usher: &mut Running, auto_charge: bool, first_payment_due: u64) {
    subscribe_as(usher, "s", 250, auto_charge, first_payment_due).await;
}

/// The same with this id, by the event of this number.
pub async fn subscribe_as(usher: &mut Running, id: &str, event: u8, auto_charge: bool, first_payment_due: u64) {
    let (stream, agreement) =
        request_subscription(usher, &Requester::Service, id, auto_charge, first_payment_due).await;
    usher.receive(event, &user(1), agreement).await;
    assert_eq!(statuses(usher, stream, 1).await, ["approved"]);
}

/// 5,000 millisats a day.
pub fn recurring(auto_charge: bool, first_payment_due: u64) -> RecurringPaymentRequest {
    RecurringPaymentRequest {
        main_key: user(1).public_key(),
        subkeys: Vec::new(),
        description: "Membership".to_owned(),
        amount: 5_000,
        currency: RequestedCurrency::Millisats,
        minimum_amount: None,
        max_amount_millisats: None,
        recurrence: Recurrence { until: None, calendar: Calendar::Daily, max_payments: None, first_payment_due },
        expires_at: NOW.secs() + 600,
        reference: None,
        auto_charge,
    }
}

/// Asks a user for a subscription of 5,000 millisats a day: the stream, and the wallet's agreement with this id.
pub async fn request_subscription(
    usher: &mut Running,
    requester: &Requester,
    id: &str,
    auto_charge: bool,
    first_payment_due: u64,
) -> (StreamId, WalletMessage) {
    let request = recurring(auto_charge, first_payment_due);
    let recurrence = request.recurrence.clone();
    let stream = usher.engine.subscriptions().request(requester, request, None).await.unwrap().stream_id;
    let asked = next_message(usher, "recurrence", &[]).await;
    let status = RecurringStatus::Confirmed {
        subscription_id: id.to_owned(),
        authorized_amount: 5_000,
        authorized_currency: Currency::Millisats,
        authorized_recurrence: recurrence,
    };
    (stream, WalletMessage::RecurringResponse(RecurringResponse { request_id: request_id(&asked), status }))
}
