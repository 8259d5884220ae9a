//! Paying: one signed request, sent when it can be heard, and again while nobody can have acted on it twice.

use std::time::Duration;

use nostr::{Event, EventId, JsonUtil as _};
use serde_json::json;
use tokio::time::{Instant, sleep_until};
use tracing::info;
use usher_engine::ports::{LightningError, OutgoingStatus, PaidInvoice, SignedPayment};
use usher_protocol::bolt11::Invoice;
use usher_protocol::message::PaymentHash;

use super::client::{Client, LOOK_UP, QUIET, Request, no_reply, stopping};
use super::pending_request::PendingRequest;
use super::relay_task;

/// The method that pays.
const PAY: &str = "pay_invoice";

/// The longest that a request may be acted on.
const EXPIRATION: Duration = Duration::from_secs(60);

/// How long a connection is waited for before a payment counts as not sent.
const REACH: Duration = Duration::from_secs(15);

impl Client {
    /// Signs a request to pay as soon as there is a connection. Sends nothing.
    pub(super) async fn prepare_payment(&self, invoice: &Invoice, until: u64) -> Result<SignedPayment, LightningError> {
        let signing = async {
            // A connection may take its time; the request's own begins with it.
            let mut up = self.shared.up.subscribe();
            up.wait_for(|up| up.contains(&true)).await.ok()?;
            let until = self.shared.clock.now().plus(EXPIRATION).secs().min(until);
            let event = self.prepare(PAY, &json!({ "invoice": invoice.as_str() }), until, REACH).await?;
            Some(SignedPayment { request: event.as_json(), until })
        };
        tokio::select! {
            signed = tokio::time::timeout(REACH, signing) => signed.ok().flatten().ok_or(LightningError::NotSent),
            () = self.shared.stop.cancelled() => Err(LightningError::NotSent),
        }
    }

    /// The request that was signed, if it was for this connection.
    pub(super) fn signed(&self, payment: &SignedPayment) -> Option<Event> {
        let event = Event::from_json(&payment.request).ok()?;
        let url = &self.shared.url;
        let is_ours = event.pubkey == url.keys.public_key()
            && event.kind.as_u16() == relay_task::REQUEST
            && event.tags.public_keys().any(|key| *key == url.wallet)
            && event.tags.expiration().is_some_and(|at| at.as_secs() <= payment.until);
        is_ours.then_some(event)
    }

    /// Sends a request to pay, and waits for the reply, so much longer than the wallet may act on it.
    pub(super) async fn pay(
        &self,
        hash: PaymentHash,
        payment: &SignedPayment,
        again: bool,
        grace: Duration,
    ) -> Result<PaidInvoice, LightningError> {
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
    ) -> Result<PaidInvoice, LightningError> {
        let not_sent = || if again { no_reply() } else { LightningError::NotSent };
        let Ok(Ok(_place)) = tokio::time::timeout_at(deadline, self.paying.acquire()).await else {
            return Err(not_sent());
        };
        self.expect(event.id, hash);
        let mut connects = self.liveness.connects();
        let mut announced = self.announced.subscribe();
        announced.mark_unchanged();
        let (mut pending, mut replies) = PendingRequest::of(self);
        pending.listen(event.id);
        // To one relay: a wallet service that remembers no requests would act on each copy, and refuse the second.
        if !again && !pending.hand_to_one(event, until) {
            return Err(LightningError::NotSent);
        }
        let mut sent: u32 = 1;
        let mut quiet = QUIET;
        let mut look_at = if again { Instant::now() } else { Instant::now() + quiet };
        let mut looking = None;
        loop {
            tokio::select! {
                reply = replies.next() => return match reply.and_then(|answer| answer.paid()) {
                    Err(failure) if again || sent > 1 => Err(doubtful(failure)),
                    result => result,
                },
                () = pending.gone(), if !again && sent == 1 => return Err(LightningError::NotSent),
                () = sleep_until(deadline) => {
                    return Err(if pending.take_back() { not_sent() } else { no_reply() });
                }
                () = connects.next() => look_at = Instant::now(),
                Ok(()) = announced.changed() => look_at = Instant::now(),
                () = sleep_until(look_at), if looking.is_none() => looking = Some(Box::pin(self.look_for(hash))),
                found = async { match looking.as_mut() {
                    Some(looking) => looking.await,
                    None => std::future::pending().await,
                } } => {
                    looking = None;
                    match found {
                        Ok(OutgoingStatus::Paid(paid)) if paid.preimage.payment_hash() == hash => return Ok(paid),
                        // The wallet is there, and does not know the payment, or does not look up.
                        Ok(OutgoingStatus::Unknown(_)) | Err(LightningError::Refused { again: false, .. }) => {
                            if pending.hand_to_all(event, until) > 0 {
                                info!("a payment that the wallet does not know is sent again: the same request");
                                sent += 1;
                            }
                            quiet *= 2;
                            look_at = Instant::now() + quiet;
                        }
                        Ok(_) | Err(LightningError::Refused { .. } | LightningError::Failed(_)) => {
                            quiet *= 2;
                            look_at = Instant::now() + quiet;
                        }
                        // It is away.
                        Err(LightningError::NotSent | LightningError::Unknown(_)) => {
                            look_at = Instant::now() + QUIET / 8;
                        }
                    }
                }
            }
        }
    }

    /// From now on a reply to this request is heard, whenever it comes.
    pub(super) fn expect(&self, request: EventId, hash: PaymentHash) {
        self.payments.lock().put(request, hash);
    }

    /// Whether the wallet knows the payment; it has a moment to say so.
    async fn look_for(&self, hash: PaymentHash) -> Result<OutgoingStatus, LightningError> {
        let call = Request {
            method: LOOK_UP,
            params: json!({ "payment_hash": hash.to_string() }),
            until: self.shared.clock.now().plus(EXPIRATION).secs(),
            patience: QUIET,
            reach: QUIET,
            repeats: false,
        };
        self.ask(&call).await?.outgoing_status(hash)
    }
}

/// A refusal of what was sent more than once: the copy that was sent before may be why.
fn doubtful(failure: LightningError) -> LightningError {
    match failure {
        LightningError::Refused { reason, .. } => LightningError::Failed(reason),
        failure => failure,
    }
}

fn other_connection() -> LightningError {
    LightningError::Unknown("it was asked for over another connection".to_owned())
}
