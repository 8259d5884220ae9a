//! The desk: requests go out, and answers find who waits for them.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lru::LruCache;
use nostr::{ClientMessage, Event, EventBuilder, EventId, JsonUtil as _, Kind, Tag, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::debug;
use usher_engine::ports::{LightningError, LightningNotice};
use usher_protocol::message::PaymentHash;

use super::encryption::{Cipher, Scheme};
use super::liveness::Liveness;
use super::pending_request::PendingRequest;
use super::relay_task::{self, OutgoingRequest, ReceivedEvent, Shared};
use super::response::{Announcement, Notification, Response};

/// Requests without an answer at the same time, payments aside.
const AT_ONCE: usize = 64;

/// Payments without an answer at the same time. They may take minutes, and must not keep anything else waiting.
const PAYING: usize = 32;

/// The method that looks up.
pub(crate) const LOOK_UP: &str = "lookup_invoice";

/// For how long nothing is heard of a wallet before it counts as away.
pub(super) const QUIET: Duration = Duration::from_secs(2);

/// How often a wallet that is away is probed.
const PROBE: Duration = Duration::from_millis(1_500);

/// How often a request is made anew for a wallet that comes back.
const MAX_REPEATS: u32 = 4;

/// Payments whose late replies are heard.
const PAYMENTS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);

/// How long, once a relay listens, the wallet's announcement is waited for. A wallet that announces nothing is an old one.
const ANNOUNCED: Duration = Duration::from_secs(2);

/// Notifications that are remembered, so that those from several relays are one.
const SEEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2047);

/// Notices that are remembered: a wallet tells by both encryptions, one after the other.
const TOLD: usize = 256;

/// What the wallet is asked; none of it pays.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Value,
    /// Unix seconds after which the wallet shall not act on it.
    pub(crate) until: u64,
    /// How long the answer is waited for.
    pub(crate) patience: Duration,
    /// How long of that a connection is waited for, before the request counts as not sent.
    pub(crate) reach: Duration,
    /// Whether a wallet that was away is asked anew.
    pub(crate) repeats: bool,
}

/// Sends requests and reads what the wallet says.
pub(crate) struct Client {
    pub(super) shared: Arc<Shared>,
    cipher: Cipher,
    relays: Vec<mpsc::Sender<Arc<OutgoingRequest>>>,
    pub(super) waiting: Mutex<HashMap<EventId, mpsc::Sender<Result<Response, LightningError>>>>,
    /// Payments that were asked for, by request: their replies may come late.
    pub(super) payments: Mutex<LruCache<EventId, PaymentHash>>,
    pub(super) liveness: Liveness,
    /// The newest announcement and when it was made.
    pub(super) announced: watch::Sender<Option<(Timestamp, Announcement)>>,
    /// The announcement was waited for in vain.
    waited: AtomicBool,
    places: Semaphore,
    pub(super) paying: Semaphore,
}

impl Client {
    pub(crate) fn new(shared: Arc<Shared>, cipher: Cipher, relays: Vec<mpsc::Sender<Arc<OutgoingRequest>>>) -> Self {
        Self {
            shared,
            cipher,
            relays,
            waiting: Mutex::default(),
            payments: Mutex::new(LruCache::new(PAYMENTS)),
            liveness: Liveness::default(),
            announced: watch::Sender::new(None),
            waited: AtomicBool::new(false),
            places: Semaphore::new(AT_ONCE),
            paying: Semaphore::new(PAYING),
        }
    }

    pub(crate) fn announcement(&self) -> Option<Announcement> {
        self.announced.borrow().as_ref().map(|(_, announcement)| announcement.clone())
    }

    pub(crate) fn is_up(&self) -> bool {
        self.shared.up.borrow().contains(&true)
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask(&self, call: &Request<'_>) -> Result<Response, LightningError> {
        let deadline = Instant::now() + call.patience;
        let asking = async {
            let preparing = async {
                let place = self.places.acquire().await.ok()?;
                let event = self.prepare(call.method, &call.params, call.until, call.reach).await?;
                Some((place, event))
            };
            match timeout_at(deadline, preparing).await {
                Ok(Some((_place, event))) => self.exchange(call, &event, deadline).await,
                Ok(None) | Err(_) => Err(LightningError::NotSent),
            }
        };
        tokio::select! {
            answer = asking => answer,
            () = self.shared.stop.cancelled() => Err(stopping()),
        }
    }

    /// Signs a request as soon as there is a connection, which is waited for so long.
    pub(crate) async fn prepare(&self, method: &str, params: &Value, until: u64, reach: Duration) -> Option<Event> {
        let mut up = self.shared.up.subscribe();
        timeout(reach, up.wait_for(|up| up.contains(&true))).await.ok()?.ok()?;
        let scheme = self.scheme().await;
        let in_time = self.shared.clock.now().secs() < until;
        self.request(scheme, method, params, until).filter(|_| in_time)
    }

    /// How the wallet reads.
    async fn scheme(&self) -> Scheme {
        let mut announced = self.announced.subscribe();
        if announced.borrow().is_none() && !self.waited.load(Ordering::Relaxed) {
            let waiting = timeout(ANNOUNCED, announced.wait_for(Option::is_some)).await.is_err();
            self.waited.fetch_or(waiting, Ordering::Relaxed);
        }
        self.known_scheme()
    }

    fn known_scheme(&self) -> Scheme {
        let nip44 = self.announced.borrow().as_ref().is_some_and(|(_, wallet)| wallet.nip44);
        if nip44 { Scheme::Nip44 } else { Scheme::Nip04 }
    }

    fn request(&self, scheme: Scheme, method: &str, params: &Value, until: u64) -> Option<Event> {
        let text = json!({ "method": method, "params": params }).to_string();
        let content = self.cipher.seal(scheme, &text).ok()?;
        let mut builder = EventBuilder::new(Kind::from_u16(relay_task::REQUEST), content)
            .tag(Tag::public_key(self.shared.url.wallet))
            .tag(Tag::expiration(Timestamp::from_secs(until)))
            .custom_created_at(Timestamp::from_secs(self.shared.clock.now().secs()));
        if scheme == Scheme::Nip44 {
            builder = builder.tag(Tag::parse(["encryption", "nip44_v2"]).ok()?);
        }
        builder.sign_with_keys(&self.shared.url.keys).ok()
    }

    /// Hands the request to every relay that is connected, and waits. When it is over the request is out of our hands: a
    /// socket has it, or none will.
    ///
    /// A wallet that was away when it was asked, and shows life again, is asked anew at once, by another request: what is
    /// asked here may be done twice. A relay that is connected gets the same request: it may be all that was missing.
    async fn exchange(&self, call: &Request<'_>, event: &Event, deadline: Instant) -> Result<Response, LightningError> {
        let mut connects = self.liveness.connects();
        let (mut pending, mut replies) = PendingRequest::of(self);
        if pending.hand_to_all(event, call.until) == 0 {
            return Err(LightningError::NotSent);
        }
        let mut repeats = 0;
        let mut written = Instant::now();
        loop {
            let may_repeat = call.repeats && repeats < MAX_REPEATS;
            tokio::select! {
                answer = replies.next() => return answer,
                () = pending.gone() => return Err(LightningError::NotSent),
                () = sleep_until(deadline) => {
                    return Err(if pending.take_back() { LightningError::NotSent } else { no_reply() });
                }
                () = connects.next() => {
                    pending.hand_to_all(event, call.until);
                    continue;
                }
                () = self.silence_broken(written, QUIET * (1 << repeats)), if may_repeat => {}
            }
            repeats += 1;
            written = Instant::now();
            if let Some(anew) = self.request(self.known_scheme(), call.method, &call.params, call.until) {
                pending.hand_to_all(&anew, call.until);
            }
        }
    }

    /// Returns when the wallet, having been silent for `quiet` since a request was written, has shown life. It is probed
    /// meanwhile. A wallet that is heard is slow, and has what it was sent.
    async fn silence_broken(&self, written: Instant, quiet: Duration) {
        let mut since = written;
        loop {
            sleep_until(since + quiet).await;
            match self.liveness.heard_at() {
                Some(at) if at + quiet > Instant::now() => since = at,
                _ => break,
            }
        }
        let silent = Instant::now();
        while timeout(PROBE, self.liveness.heard_after(silent)).await.is_err() {
            self.probe();
        }
    }

    /// Asks for something that has no meaning, to hear whether the wallet is there; not more often than makes sense.
    fn probe(&self) {
        let until = self.shared.clock.now().plus(PROBE * 5).secs();
        let params = json!({ "payment_hash": "0".repeat(64) });
        if self.liveness.may_probe(PROBE)
            && let Some(event) = self.request(self.known_scheme(), LOOK_UP, &params, until)
        {
            self.liveness.probed(event.id);
            let outgoing = OutgoingRequest::new(event.id, ClientMessage::event(event).as_json(), until);
            self.hand(&outgoing);
        }
    }

    /// Hands a request to every relay that is connected; says to how many.
    pub(crate) fn hand(&self, outgoing: &Arc<OutgoingRequest>) -> usize {
        let up = self.shared.up.borrow().clone();
        let handed = self.relays.iter().zip(up).filter(|(_, up)| *up);
        handed.filter(|(relay, _)| relay.try_send(Arc::clone(outgoing)).is_ok()).count()
    }

    /// Hands a request to one relay: the one by which the wallet was heard last, if it is connected.
    pub(crate) fn hand_to_one(&self, outgoing: &Arc<OutgoingRequest>) -> bool {
        let up = self.shared.up.borrow().clone();
        let best = self.liveness.heard_by();
        let order = std::iter::once(best).chain((0..up.len()).filter(|relay| *relay != best));
        order
            .filter(|relay| up.get(*relay) == Some(&true))
            .filter_map(|relay| self.relays.get(relay))
            .any(|relay| relay.try_send(Arc::clone(outgoing)).is_ok())
    }

    /// Reads what the relays hear, until everything stops.
    pub(crate) async fn read(&self, mut heard: mpsc::Receiver<ReceivedEvent>, notices: mpsc::Sender<LightningNotice>) {
        let mut seen = LruCache::new(SEEN);
        let mut told = VecDeque::with_capacity(TOLD);
        loop {
            let event = tokio::select! {
                event = heard.recv() => event,
                () = self.shared.stop.cancelled() => return,
            };
            let Some(ReceivedEvent { relay, event }) = event else { return };
            let wanted = match event.kind.as_u16() {
                relay_task::RESPONSE => relay_task::answers_to(&event).is_some_and(|about| self.is_asked(about)),
                relay_task::INFO | relay_task::NOTIFICATION | relay_task::NOTIFICATION_NIP04 => {
                    !seen.contains(&event.id)
                }
                _ => false,
            };
            if !wanted || event.pubkey != self.shared.url.wallet || event.verify().is_err() {
                continue;
            }
            let notice = match event.kind.as_u16() {
                relay_task::RESPONSE => {
                    self.liveness.heard(relay);
                    self.answered(&event)
                }
                relay_task::INFO => {
                    seen.put(event.id, ());
                    self.announce(&event);
                    None
                }
                _ => {
                    seen.put(event.id, ());
                    self.liveness.heard(relay);
                    self.notice(&event)
                }
            };
            let Some(notice) = notice.filter(|notice| !told.contains(notice)) else { continue };
            told.truncate(TOLD - 1);
            told.push_front(notice.clone());
            // Full: the relays wait.
            tokio::select! {
                sent = notices.send(notice) => if sent.is_err() { return },
                () = self.shared.stop.cancelled() => return,
            }
        }
    }

    fn announce(&self, event: &Event) {
        let tag = |name: &str| {
            let tag = event.tags.iter().find(|tag| tag.as_slice().first().is_some_and(|first| first == name));
            tag.and_then(|tag| tag.content())
        };
        let announcement = Announcement::read(&event.content, tag("encryption"), tag("notifications"));
        let is_new = self.announced.send_if_modified(|announced| {
            let newer = announced.as_ref().is_none_or(|(at, _)| event.created_at >= *at);
            if newer {
                *announced = Some((event.created_at, announcement));
            }
            newer
        });
        if is_new {
            self.liveness.announced();
        }
    }

    /// Whether somebody wants the reply to this request.
    fn is_asked(&self, about: EventId) -> bool {
        self.waiting.lock().contains_key(&about)
            || self.payments.lock().contains(&about)
            || self.liveness.is_probe(about)
    }

    /// Hands a reply to who waits for it. That a payment arrived is told though nobody waits for it any more.
    fn answered(&self, event: &Event) -> Option<LightningNotice> {
        let about = relay_task::answers_to(event)?;
        let waiting = self.waiting.lock().remove(&about);
        let payment = self.payments.lock().get(&about).copied();
        if waiting.is_none() && payment.is_none() {
            return None;
        }
        let answer = match self.cipher.open(&event.content) {
            Ok(text) => Response::parse(&text)
                .map(|answer| answer.said_at(event.created_at.as_secs()))
                .map_err(|error| LightningError::Unknown(error.to_string())),
            Err(_) => Err(LightningError::Unknown("the answer cannot be decrypted".to_owned())),
        };
        let paid = answer.clone().and_then(|answer| answer.paid()).ok();
        let arrived = payment.zip(paid).filter(|(hash, paid)| paid.preimage.payment_hash() == *hash);
        if arrived.is_some() {
            // Once: it may come by several relays.
            self.payments.lock().pop(&about);
        }
        match waiting {
            Some(waiting) => {
                // Full: it has had an answer. Closed: nobody waits any more.
                let _ = waiting.try_send(answer);
                None
            }
            None => arrived.map(|(hash, paid)| LightningNotice::Sent(hash, paid)),
        }
    }

    fn notice(&self, event: &Event) -> Option<LightningNotice> {
        let text = self.cipher.open(&event.content).ok()?;
        match Notification::parse(&text) {
            Ok(Some(Notification::Received(hash, settlement))) => Some(LightningNotice::Settled(hash, settlement)),
            Ok(Some(Notification::Sent(hash, paid))) => Some(LightningNotice::Sent(hash, paid)),
            Ok(None) => None,
            Err(_) => {
                debug!("the wallet told something that makes no sense");
                None
            }
        }
    }

    /// Notes each connection, until everything stops.
    pub(crate) async fn watch_connections(&self) {
        let mut up = self.shared.up.subscribe();
        let mut before = up.borrow_and_update().clone();
        let watching = async {
            while up.changed().await.is_ok() {
                let now = up.borrow_and_update().clone();
                if now.iter().zip(&before).any(|(now, before)| *now && !before) {
                    self.liveness.connected();
                }
                before = now;
            }
        };
        tokio::select! {
            () = watching => {}
            () = self.shared.stop.cancelled() => {}
        }
    }

    /// Tells when the wallet can be heard again, until everything stops.
    pub(crate) async fn watch(&self, notices: mpsc::Sender<LightningNotice>) {
        let mut up = self.shared.up.subscribe();
        let watching = async {
            let _ = up.wait_for(|up| up.contains(&true)).await;
            loop {
                if up.wait_for(|up| !up.contains(&true)).await.is_err() {
                    return;
                }
                if up.wait_for(|up| up.contains(&true)).await.is_err()
                    || notices.send(LightningNotice::Reconnected).await.is_err()
                {
                    return;
                }
            }
        };
        tokio::select! {
            () = watching => {}
            () = self.shared.stop.cancelled() => {}
        }
    }
}

pub(super) fn stopping() -> LightningError {
    LightningError::Unknown("the service is stopping".to_owned())
}

pub(super) fn no_reply() -> LightningError {
    LightningError::Unknown("no answer in time".to_owned())
}
