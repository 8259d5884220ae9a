//! The NIP-47 client: sends requests and waits for their responses.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lru::LruCache;
use nostr::{Event, EventBuilder, EventId, Kind, Tag, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use usher_engine::ports::LightningError;
use usher_protocol::message::PaymentHash;
use usher_protocol::nwc::{Cipher, REQUEST, Scheme};

use super::liveness::Liveness;
use super::pending_request::PendingRequest;
use super::relay_task::{OutgoingRequest, Shared};
use super::request_sender::RequestSender;
use super::response::{Announcement, Response};

/// Most requests without a response at a time, payments aside.
const MAX_REQUESTS: usize = 64;

/// Most payments without a response at a time. They may take minutes and must not delay other requests.
const MAX_PAYMENTS: usize = 32;

pub(crate) const LOOK_UP: &str = "lookup_invoice";

/// A backend silent for this long is probably down.
pub(super) const QUIET: Duration = Duration::from_secs(2);

/// How often a backend that is down is probed.
const PROBE: Duration = Duration::from_millis(1_500);

/// How often a request is repeated for a backend that comes back.
const MAX_REPEATS: u32 = 4;

/// Payments whose late responses are accepted.
const LATE_PAYMENTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// How long to wait for the backend's announcement once a relay has subscribed us. Old backends send none.
const ANNOUNCED: Duration = Duration::from_secs(2);

/// A request other than a payment.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Value,
    /// Expiry in Unix seconds: the backend must not act on it afterwards.
    pub(crate) until: u64,
    /// How long to wait for the response.
    pub(crate) patience: Duration,
    /// How long to wait for a connection, within `patience`, before the request is reported as not sent.
    pub(crate) reach: Duration,
    /// Whether the request is repeated for a backend that was down.
    pub(crate) repeats: bool,
}

pub(crate) struct Client {
    pub(super) shared: Arc<Shared>,
    pub(super) cipher: Cipher,
    pub(super) sender: RequestSender,
    /// Payments by request id: their responses may be late.
    pub(super) payments: Mutex<LruCache<EventId, PaymentHash>>,
    pub(super) liveness: Liveness,
    /// The newest announcement and when it was made.
    pub(super) announced: watch::Sender<Option<(Timestamp, Announcement)>>,
    /// Whether no announcement arrived in time.
    waited: AtomicBool,
    permits: Semaphore,
    pub(super) payment_permits: Semaphore,
}

impl Client {
    pub(crate) fn new(shared: Arc<Shared>, cipher: Cipher, queues: Vec<mpsc::Sender<Arc<OutgoingRequest>>>) -> Self {
        Self {
            sender: RequestSender::new(shared.up.subscribe(), queues),
            shared,
            cipher,
            payments: Mutex::new(LruCache::new(LATE_PAYMENTS)),
            liveness: Liveness::default(),
            announced: watch::Sender::new(None),
            waited: AtomicBool::new(false),
            permits: Semaphore::new(MAX_REQUESTS),
            payment_permits: Semaphore::new(MAX_PAYMENTS),
        }
    }

    pub(crate) fn announcement(&self) -> Option<Announcement> {
        self.announced.borrow().as_ref().map(|(_, announcement)| announcement.clone())
    }

    pub(crate) fn is_up(&self) -> bool {
        self.shared.up.borrow().contains(&true)
    }

    pub(crate) async fn call(&self, request: &Request<'_>) -> Result<Response, LightningError> {
        let deadline = Instant::now() + request.patience;
        let calling = async {
            let preparing = async {
                let permit = self.permits.acquire().await.ok()?;
                let event = self.prepare(request.method, &request.params, request.until, request.reach).await?;
                Some((permit, event))
            };
            match timeout_at(deadline, preparing).await {
                Ok(Some((_permit, event))) => self.exchange(request, &event, deadline).await,
                Ok(None) | Err(_) => Err(LightningError::NotSent),
            }
        };
        tokio::select! {
            response = calling => response,
            () = self.shared.stop.cancelled() => Err(stopping()),
        }
    }

    /// Signs a request as soon as there is a connection, for which it waits up to `reach`.
    pub(crate) async fn prepare(&self, method: &str, params: &Value, until: u64, reach: Duration) -> Option<Event> {
        let mut up = self.shared.up.subscribe();
        timeout(reach, up.wait_for(|up| up.contains(&true))).await.ok()?.ok()?;
        let scheme = self.scheme().await;
        let in_time = self.shared.clock.now().secs() < until;
        self.sign(scheme, method, params, until).filter(|_| in_time)
    }

    /// The encryption that the backend supports.
    async fn scheme(&self) -> Scheme {
        let mut announced = self.announced.subscribe();
        if announced.borrow().is_none() && !self.waited.load(Ordering::Relaxed) {
            let waiting = timeout(ANNOUNCED, announced.wait_for(Option::is_some)).await.is_err();
            self.waited.fetch_or(waiting, Ordering::Relaxed);
        }
        self.known_scheme()
    }

    fn known_scheme(&self) -> Scheme {
        let nip44 = self.announced.borrow().as_ref().is_some_and(|(_, announcement)| announcement.nip44);
        if nip44 { Scheme::Nip44 } else { Scheme::Nip04 }
    }

    fn sign(&self, scheme: Scheme, method: &str, params: &Value, until: u64) -> Option<Event> {
        let text = json!({ "method": method, "params": params }).to_string();
        let content = self.cipher.seal(scheme, &text).ok()?;
        let mut builder = EventBuilder::new(Kind::from_u16(REQUEST), content)
            .tag(Tag::public_key(self.shared.uri.backend))
            .tag(Tag::expiration(Timestamp::from_secs(until)))
            .custom_created_at(Timestamp::from_secs(self.shared.clock.now().secs()));
        if scheme == Scheme::Nip44 {
            builder = builder.tag(Tag::parse(["encryption", "nip44_v2"]).ok()?);
        }
        builder.sign_with_keys(&self.shared.uri.keys).ok()
    }

    /// Hands the request to every connected relay and waits. On return, the request was written or never will be.
    ///
    /// A backend that comes back gets a new request at once, so what is requested here may be done twice. A relay that
    /// connects gets the same request, because only that relay may have been down.
    async fn exchange(
        &self,
        request: &Request<'_>,
        event: &Event,
        deadline: Instant,
    ) -> Result<Response, LightningError> {
        let mut connections = self.liveness.new_connections();
        let (mut pending, mut responses) = PendingRequest::new(&self.sender);
        if pending.send_to_all(event, request.until) == 0 {
            return Err(LightningError::NotSent);
        }
        let mut repeats = 0;
        let mut written = Instant::now();
        loop {
            let may_repeat = request.repeats && repeats < MAX_REPEATS;
            tokio::select! {
                response = responses.next() => return response,
                () = pending.lost() => return Err(LightningError::NotSent),
                () = sleep_until(deadline) => {
                    return Err(if pending.take_back() { LightningError::NotSent } else { no_response() });
                }
                () = connections.next() => {
                    pending.send_to_all(event, request.until);
                    continue;
                }
                () = self.back_after_silence(written, QUIET * (1 << repeats)), if may_repeat => {}
            }
            repeats += 1;
            written = Instant::now();
            if let Some(again) = self.sign(self.known_scheme(), request.method, &request.params, request.until) {
                pending.send_to_all(&again, request.until);
            }
        }
    }

    /// Returns when the backend was silent for `quiet` after a request was written, and then sent something. Probes it
    /// meanwhile. A backend that was not silent is slow and already has the request.
    async fn back_after_silence(&self, written: Instant, quiet: Duration) {
        let mut since = written;
        loop {
            sleep_until(since + quiet).await;
            match self.liveness.seen_at() {
                Some(at) if at + quiet > Instant::now() => since = at,
                _ => break,
            }
        }
        let silent = Instant::now();
        while timeout(PROBE, self.liveness.seen_after(silent)).await.is_err() {
            self.probe();
        }
    }

    /// Sends a meaningless request to find out whether the backend is up; rate-limited.
    fn probe(&self) {
        let until = self.shared.clock.now().plus(PROBE * 5).secs();
        let params = json!({ "payment_hash": "0".repeat(64) });
        if self.liveness.may_probe(PROBE)
            && let Some(event) = self.sign(self.known_scheme(), LOOK_UP, &params, until)
        {
            self.liveness.note_probe(event.id);
            let outgoing = OutgoingRequest::new(&event, until);
            self.sender.send_to_all(&outgoing);
        }
    }
}

pub(super) fn stopping() -> LightningError {
    LightningError::Unknown("the service is stopping".to_owned())
}

pub(super) fn no_response() -> LightningError {
    LightningError::Unknown("no response in time".to_owned())
}
