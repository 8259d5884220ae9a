//! Payments: one signed request, sent when its response can be received, and sent again only while it cannot be
//! executed twice.

use std::time::Duration;

use nostr::{Event, EventId, JsonUtil as _};
use serde_json::json;
use tokio::time::{Instant, sleep_until};
use tracing::info;
use usher_engine::ports::{CompletedPayment, LightningError, OutgoingPaymentStatus, SignedPayment};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;
use usher_protocol::nwc;

use super::client::{Client, LOOK_UP, QUIET, Request, no_response, stopping};
use super::pending_request::PendingRequest;

const PAY: &str = "pay_invoice";

/// Longest time in which the backend may act on a request.
const EXPIRATION: Duration = Duration::from_secs(60);

/// How long to wait for a connection before a payment is reported as not sent.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

impl Client {
    /// Signs a request to pay as soon as there is a connection. Sends nothing.
    pub(super) async fn prepare_payment(&self, invoice: &Invoice, until: u64) -> Result<SignedPayment, LightningError> {
        let signing = async {
            // Connecting may take a while; the request's expiry is set afterwards.
            let mut up = self.shared.up.subscribe();
            up.wait_for(|up| up.contains(&true)).await.ok()?;
            let until = self.shared.clock.now().plus(EXPIRATION).secs().min(until);
            let event = self.prepare(PAY, &json!({ "invoice": invoice.as_str() }), until, CONNECT_TIMEOUT).await?;
            Some(SignedPayment { request: event.as_json(), until })
        };
        tokio::select! {
            signed = tokio::time::timeout(CONNECT_TIMEOUT, signing) => signed.ok().flatten().ok_or(LightningError::NotSent),
            () = self.shared.stop.cancelled() => Err(LightningError::NotSent),
        }
    }

    /// The signed request, if it was signed for this connection.
    pub(super) fn signed(&self, payment: &SignedPayment) -> Option<Event> {
        let event = Event::from_json(&payment.request).ok()?;
        let uri = &self.shared.uri;
        let is_ours = event.pubkey == uri.keys.public_key()
            && event.kind.as_u16() == nwc::REQUEST
            && event.tags.public_keys().any(|key| *key == uri.backend)
            && event.tags.expiration().is_some_and(|at| at.as_secs() <= payment.until);
        is_ours.then_some(event)
    }

    /// Sends a payment request and waits for the response, for `grace` longer than the request's expiry.
    pub(super) async fn pay(
        &self,
        hash: PaymentHash,
        payment: &SignedPayment,
        again: bool,
        grace: Duration,
    ) -> Result<CompletedPayment, LightningError> {
        let Some(event) = self.signed(payment) else {
            return Err(if again { other_connection() } else { LightningError::NotSent });
        };
        let left = payment.until.saturating_sub(self.shared.clock.now().secs());
        let deadline = Instant::now() + Duration::from_secs(left) + grace;
        tokio::select! {
            paid = self.pay_by(&event, hash, payment.until, again, deadline) => paid,
            () = self.shared.stop.cancelled() => Err(stopping()),
        }
    }

    async fn pay_by(
        &self,
        event: &Event,
        hash: PaymentHash,
        until: u64,
        again: bool,
        deadline: Instant,
    ) -> Result<CompletedPayment, LightningError> {
        let not_sent = || if again { no_response() } else { LightningError::NotSent };
        let Ok(Ok(_permit)) = tokio::time::timeout_at(deadline, self.payment_permits.acquire()).await else {
            return Err(not_sent());
        };
        self.expect(event.id, hash);
        let mut connections = self.liveness.new_connections();
        let mut announced = self.announced.subscribe();
        announced.mark_unchanged();
        let (mut pending, mut responses) = PendingRequest::new(&self.sender);
        pending.listen(event.id);
        // Sent to one relay: a backend without deduplication would act on each copy and refuse the second.
        if !again && !pending.send_to_one(event, until, self.liveness.last_relay()) {
            return Err(LightningError::NotSent);
        }
        let mut sent: u32 = 1;
        let mut quiet = QUIET;
        let mut look_at = if again { Instant::now() } else { Instant::now() + quiet };
        let mut looking = None;
        loop {
            tokio::select! {
                response = responses.next() => return match response.and_then(|response| response.paid()) {
                    Err(failure) if again || sent > 1 => Err(doubtful(failure)),
                    result => result,
                },
                () = pending.lost(), if !again && sent == 1 => return Err(LightningError::NotSent),
                () = sleep_until(deadline) => {
                    return Err(if pending.take_back() { not_sent() } else { no_response() });
                }
                () = connections.next() => look_at = Instant::now(),
                Ok(()) = announced.changed() => look_at = Instant::now(),
                () = sleep_until(look_at), if looking.is_none() => looking = Some(Box::pin(self.look_for(hash))),
                found = async { match looking.as_mut() {
                    Some(looking) => looking.await,
                    None => std::future::pending().await,
                } } => {
                    looking = None;
                    match found {
                        Ok(OutgoingPaymentStatus::Paid(paid)) if paid.preimage.payment_hash() == hash => return Ok(paid),
                        // The backend is up and does not know the payment, or cannot look it up.
                        Ok(OutgoingPaymentStatus::Unknown(_)) | Err(LightningError::Refused { again: false, .. }) => {
                            if pending.send_to_all(event, until) > 0 {
                                info!("the Lightning backend does not know a payment: sending the same request again");
                                sent += 1;
                            }
                            quiet *= 2;
                            look_at = Instant::now() + quiet;
                        }
                        Ok(_) | Err(LightningError::Refused { .. } | LightningError::Failed(_)) => {
                            quiet *= 2;
                            look_at = Instant::now() + quiet;
                        }
                        // The backend is down.
                        Err(LightningError::NotSent | LightningError::Unknown(_)) => {
                            look_at = Instant::now() + QUIET / 8;
                        }
                    }
                }
            }
        }
    }

    /// Accepts a response to this request from now on, however late.
    pub(super) fn expect(&self, request: EventId, hash: PaymentHash) {
        self.payments.lock().put(request, hash);
    }

    /// Asks whether the backend knows the payment, with a short time limit.
    async fn look_for(&self, hash: PaymentHash) -> Result<OutgoingPaymentStatus, LightningError> {
        let request = Request {
            method: LOOK_UP,
            params: json!({ "payment_hash": hash.to_string() }),
            until: self.shared.clock.now().plus(EXPIRATION).secs(),
            patience: QUIET,
            reach: QUIET,
            repeats: false,
        };
        self.call(&request).await?.outgoing_status(hash)
    }
}

/// The error of a request that was sent more than once: an earlier copy may have caused it.
fn doubtful(failure: LightningError) -> LightningError {
    match failure {
        LightningError::Refused { reason, .. } => LightningError::Failed(reason),
        failure => failure,
    }
}

fn other_connection() -> LightningError {
    LightningError::Unknown("it was requested over another connection".to_owned())
}
