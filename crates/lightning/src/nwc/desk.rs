//! The desk: requests go out, and answers find who waits for them.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lru::LruCache;
use nostr::{Event, EventBuilder, EventId, JsonUtil as _, Kind, Tag, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tracing::debug;
use usher_engine::ports::{LightningError, LightningNotice};

use super::answer::{Announcement, Answer, Notice};
use super::cipher::{Cipher, Scheme};
use super::relay::{self, Outgoing, Shared};

/// Requests without an answer at the same time, payments aside.
const AT_ONCE: usize = 64;

/// Payments without an answer at the same time. They may take minutes, and must not keep anything else waiting.
const PAYING: usize = 32;

/// The method that pays.
pub(crate) const PAY: &str = "pay_invoice";

/// How long a connection is waited for before a request counts as not sent.
const REACH: Duration = Duration::from_secs(5);

/// How long, once a relay listens, the wallet's announcement is waited for. A wallet that announces nothing is an old one.
const ANNOUNCED: Duration = Duration::from_secs(2);

/// Notifications that are remembered, so that those from several relays are one.
const SEEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2047);

/// Notices that are remembered: a wallet tells by both encryptions, one after the other.
const TOLD: usize = 256;

/// Sends requests and reads what the wallet says.
pub(crate) struct Desk {
    shared: Arc<Shared>,
    cipher: Cipher,
    relays: Vec<mpsc::Sender<Arc<Outgoing>>>,
    waiting: Mutex<HashMap<EventId, oneshot::Sender<Result<Answer, LightningError>>>>,
    /// The newest announcement and when it was made.
    announced: watch::Sender<Option<(Timestamp, Announcement)>>,
    /// The announcement was waited for in vain.
    waited: AtomicBool,
    places: Semaphore,
    paying: Semaphore,
}

impl Desk {
    pub(crate) fn new(shared: Arc<Shared>, cipher: Cipher, relays: Vec<mpsc::Sender<Arc<Outgoing>>>) -> Self {
        Self {
            shared,
            cipher,
            relays,
            waiting: Mutex::default(),
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

    /// Asks, and waits for the answer, `patience` at most; the wallet shall not act on it after `until` (Unix seconds).
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: &Value,
        until: u64,
        patience: Duration,
    ) -> Result<Answer, LightningError> {
        let deadline = Instant::now() + patience;
        let preparing = async {
            let places = if method == PAY { &self.paying } else { &self.places };
            let place = places.acquire().await.ok()?;
            let mut up = self.shared.up.subscribe();
            timeout(REACH, up.wait_for(|up| up.contains(&true))).await.ok()?.ok()?;
            let scheme = self.scheme().await;
            let in_time = self.shared.clock.now().secs() < until;
            Some((place, self.request(scheme, method, params, until).filter(|_| in_time)?))
        };
        let asking = async {
            match timeout_at(deadline, preparing).await {
                Ok(Some((_place, event))) => self.exchange(&event, until, deadline).await,
                Ok(None) | Err(_) => Err(LightningError::NotSent),
            }
        };
        tokio::select! {
            answer = asking => answer,
            () = self.shared.stop.cancelled() => Err(LightningError::Unknown("the service is stopping".to_owned())),
        }
    }

    /// How the wallet reads.
    async fn scheme(&self) -> Scheme {
        let mut announced = self.announced.subscribe();
        if announced.borrow().is_none() && !self.waited.load(Ordering::Relaxed) {
            let waiting = timeout(ANNOUNCED, announced.wait_for(Option::is_some)).await.is_err();
            self.waited.fetch_or(waiting, Ordering::Relaxed);
        }
        let nip44 = announced.borrow().as_ref().is_some_and(|(_, wallet)| wallet.nip44);
        if nip44 { Scheme::Nip44 } else { Scheme::Nip04 }
    }

    fn request(&self, scheme: Scheme, method: &str, params: &Value, until: u64) -> Option<Event> {
        let text = json!({ "method": method, "params": params }).to_string();
        let content = self.cipher.seal(scheme, &text).ok()?;
        let mut builder = EventBuilder::new(Kind::from_u16(relay::REQUEST), content)
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
    async fn exchange(&self, event: &Event, until: u64, deadline: Instant) -> Result<Answer, LightningError> {
        let outgoing = Outgoing::new(event.id, nostr::ClientMessage::event(event.clone()).as_json(), until);
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(event.id, sender);
        let _forget = Forget { desk: self, id: event.id, outgoing: Arc::clone(&outgoing) };
        let up = self.shared.up.borrow().clone();
        let handed = self.relays.iter().zip(up).filter(|(_, up)| *up);
        let handed = handed.filter(|(relay, _)| relay.try_send(Arc::clone(&outgoing)).is_ok()).count();
        if handed == 0 {
            return Err(LightningError::NotSent);
        }
        // The relay may go down with the request still in its queue.
        let mut up = self.shared.up.subscribe();
        let gone = async {
            let _ = up.wait_for(|up| !up.contains(&true)).await;
            sleep(Duration::from_millis(200)).await;
            if !outgoing.take_back() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            answer = answer => answer.unwrap_or_else(|_| Err(LightningError::Unknown("no answer".to_owned()))),
            () = gone => Err(LightningError::NotSent),
            () = sleep_until(deadline) => {
                if outgoing.take_back() {
                    Err(LightningError::NotSent)
                } else {
                    Err(LightningError::Unknown("no answer in time".to_owned()))
                }
            }
        }
    }

    /// Reads what the relays hear, until everything stops.
    pub(crate) async fn read(&self, mut heard: mpsc::Receiver<Event>, notices: mpsc::Sender<LightningNotice>) {
        let mut seen = LruCache::new(SEEN);
        let mut told = VecDeque::with_capacity(TOLD);
        loop {
            let event = tokio::select! {
                event = heard.recv() => event,
                () = self.shared.stop.cancelled() => return,
            };
            let Some(event) = event else { return };
            let wanted = match event.kind.as_u16() {
                relay::RESPONSE => {
                    relay::answers_to(&event).is_some_and(|about| self.waiting.lock().contains_key(&about))
                }
                relay::INFO | relay::NOTIFICATION | relay::NOTIFICATION_NIP04 => !seen.contains(&event.id),
                _ => false,
            };
            if !wanted || event.pubkey != self.shared.url.wallet || event.verify().is_err() {
                continue;
            }
            match event.kind.as_u16() {
                relay::RESPONSE => self.answered(&event),
                relay::INFO => {
                    seen.put(event.id, ());
                    self.announce(&event);
                }
                _ => {
                    seen.put(event.id, ());
                    let Some(notice) = self.notice(&event).filter(|notice| !told.contains(notice)) else { continue };
                    told.truncate(TOLD - 1);
                    told.push_front(notice.clone());
                    // Full: the relays wait.
                    tokio::select! {
                        sent = notices.send(notice) => if sent.is_err() { return },
                        () = self.shared.stop.cancelled() => return,
                    }
                }
            }
        }
    }

    fn announce(&self, event: &Event) {
        let tag = |name: &str| {
            let tag = event.tags.iter().find(|tag| tag.as_slice().first().is_some_and(|first| first == name));
            tag.and_then(|tag| tag.content())
        };
        let announcement = Announcement::read(&event.content, tag("encryption"), tag("notifications"));
        self.announced.send_if_modified(|announced| {
            let newer = announced.as_ref().is_none_or(|(at, _)| event.created_at >= *at);
            if newer {
                *announced = Some((event.created_at, announcement));
            }
            newer
        });
    }

    fn answered(&self, event: &Event) {
        let Some(waiting) = relay::answers_to(event).and_then(|about| self.waiting.lock().remove(&about)) else {
            return;
        };
        let answer = match self.cipher.open(&event.content) {
            Ok(text) => Answer::parse(&text).map_err(|error| LightningError::Unknown(error.to_string())),
            Err(_) => Err(LightningError::Unknown("the answer cannot be decrypted".to_owned())),
        };
        // Nobody waits any more.
        let _ = waiting.send(answer);
    }

    fn notice(&self, event: &Event) -> Option<LightningNotice> {
        let text = self.cipher.open(&event.content).ok()?;
        match Notice::parse(&text) {
            Ok(Some(Notice::Received(hash, settlement))) => Some(LightningNotice::Settled(hash, settlement)),
            Ok(Some(Notice::Sent(hash, paid))) => Some(LightningNotice::Sent(hash, paid)),
            Ok(None) => None,
            Err(_) => {
                debug!("the wallet told something that makes no sense");
                None
            }
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

/// Nobody waits any more, however the waiting ended.
struct Forget<'a> {
    desk: &'a Desk,
    id: EventId,
    outgoing: Arc<Outgoing>,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.desk.waiting.lock().remove(&self.id);
        self.outgoing.take_back();
    }
}
