//! What the tasks of a wallet service share: keys, account and relays, and how requests are read and responses sent.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use nostr::{EventBuilder, Kind, Tag, Timestamp};
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::nwc::{Cipher, REQUEST, RESPONSE, Scheme};
use usher_protocol::{Event, EventId, Keys};

use super::announcement::LastAnnouncement;
use super::capabilities::{Capabilities, Encryptions};
use super::executor;
use super::keys::NwcKeys;
use super::metrics::NwcMetrics;
use super::notification;
use super::received_request::NwcRequest;
use super::wire::{Call, Response};
use super::{ErrorCode, Method};
use crate::lightning::Account;
use crate::relay_client::RelayClient;

/// Requests whose event ids are remembered.
const SEEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(65_535);

/// The state of a wallet service. It outlives a stop and the next start.
#[derive(Debug)]
pub struct NwcServiceContext {
    account: Account,
    keys: NwcKeys,
    pub(super) relays: Vec<String>,
    capabilities: Mutex<Capabilities>,
    pub(super) metrics: watch::Sender<NwcMetrics>,
    cipher: Option<Cipher>,
    seen: Mutex<LruCache<EventId, ()>>,
    announced: Mutex<LastAnnouncement>,
    pub(super) running: RwLock<Option<Running>>,
}

#[derive(Clone, Debug)]
pub(super) struct Running {
    pub(super) client: Arc<RelayClient>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl NwcServiceContext {
    pub(super) fn new(account: Account, relays: Vec<String>, keys: NwcKeys, capabilities: Capabilities) -> Self {
        Self {
            account,
            relays,
            capabilities: Mutex::new(capabilities),
            metrics: watch::Sender::default(),
            cipher: Cipher::new(keys.wallet.secret_key(), keys.app.public_key()).ok(),
            keys,
            seen: Mutex::new(LruCache::new(SEEN)),
            announced: Mutex::default(),
            running: RwLock::new(None),
        }
    }

    pub const fn account(&self) -> &Account {
        &self.account
    }

    pub const fn keys(&self) -> &NwcKeys {
        &self.keys
    }

    pub fn capabilities(&self) -> Capabilities {
        self.capabilities.lock().clone()
    }

    /// Changes what the service can do from now on, and announces it.
    pub fn set_capabilities(&self, capabilities: Capabilities) {
        *self.capabilities.lock() = capabilities;
        self.announce();
    }

    /// Forgets which request events were received: copies of them are handled as new ones.
    pub fn forget_seen(&self) {
        self.seen.lock().clear();
    }

    pub fn count(&self, change: impl FnOnce(&mut NwcMetrics)) {
        self.metrics.send_modify(change);
    }

    /// Unix seconds.
    pub fn now(&self) -> u64 {
        self.account.now()
    }

    /// Runs a task until the service stops; not at all when it is stopped.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(Running { tasks, stop, .. }) = self.running.read().clone() {
            tasks.spawn(stop.run_until_cancelled_owned(task));
        }
    }

    /// Publishes the capabilities to each relay, now and whenever it is connected.
    pub(super) fn announce(&self) {
        let capabilities = self.capabilities();
        let Some(running) = self.running.read().clone().filter(|_| capabilities.announced) else { return };
        if let Some(event) = self.announced.lock().event(&capabilities, &self.keys.wallet, self.now()) {
            running.client.greet_with(event);
        }
    }

    /// Reads a request; `None` for anything else, and for a copy unless `copies` are wanted. Id and signature
    /// were verified.
    pub(super) fn read(&self, event: &Event, copies: bool) -> Option<NwcRequest> {
        if event.kind.as_u16() != REQUEST || event.pubkey != self.keys.app.public_key() {
            return None;
        }
        if self.seen.lock().put(event.id, ()).is_some() {
            self.count(|metrics| metrics.copies += 1);
            if !copies {
                return None;
            }
        }
        let unreadable = || {
            self.count(|metrics| metrics.unreadable += 1);
            None
        };
        let (Some(scheme), Some(cipher)) = (scheme_of(event), &self.cipher) else { return unreadable() };
        let accepted = match self.capabilities.lock().encryptions {
            Encryptions::Both => scheme,
            Encryptions::Nip04 => Scheme::Nip04,
            Encryptions::Nip44 => Scheme::Nip44,
        };
        let text = Some(&event.content).filter(|content| Scheme::of(content) == scheme);
        let text = text.and_then(|content| cipher.open(content).ok());
        let call = text.and_then(|text| serde_json::from_str::<Call>(&text).ok());
        let Some(call) = call else { return unreadable() };
        let method = Method::parse(&call.method);
        let expires_at = event.tags.expiration().map(|at| at.as_secs());
        let request = NwcRequest { id: event.id, scheme: accepted, method, call: Arc::new(call), expires_at };
        if accepted != scheme {
            let message = format!("{} is not supported", scheme.as_str());
            self.respond(&request, &Response::refused(ErrorCode::UnsupportedEncryption, message));
            return unreadable();
        }
        match method {
            Some(method) => self.count(|metrics| *metrics.calls.entry(method).or_default() += 1),
            None => self.count(|metrics| metrics.unreadable += 1),
        }
        Some(request)
    }

    /// Whether a request has expired; if so, it is counted.
    pub fn expire(&self, request: &NwcRequest) -> bool {
        let expired = request.expires_at.is_some_and(|at| at <= self.now());
        if expired {
            self.count(|metrics| metrics.expired += 1);
        }
        expired
    }

    pub fn supported(&self, request: &NwcRequest) -> Option<Method> {
        request.method.filter(|method| self.capabilities.lock().methods.contains(method))
    }

    pub fn execute(&self, request: &NwcRequest) -> Response {
        let Some(method) = self.supported(request) else {
            return Response::refused(ErrorCode::NotImplemented, "the method is not supported");
        };
        let result = executor::execute(&self.account, &self.capabilities(), method, request);
        self.count(|metrics| *metrics.executed.entry(method).or_default() += 1);
        Response(result)
    }

    pub fn respond(&self, request: &NwcRequest, response: &Response) {
        self.respond_with(request, &request.text_of(response));
    }

    pub fn respond_with(&self, request: &NwcRequest, text: &str) {
        let Some(content) = self.seal(request.scheme, text) else { return };
        let builder = EventBuilder::new(Kind::from_u16(RESPONSE), content)
            .tag(Tag::public_key(self.keys.app.public_key()))
            .tag(Tag::event(request.id));
        if self.send(&self.keys.wallet, builder) {
            self.count(|metrics| metrics.answers += 1);
        }
    }

    /// Sends a notification, in each encryption that the service uses.
    pub fn notify(&self, notification_type: &str, notification: &Value) {
        let encryptions = self.capabilities.lock().encryptions;
        for (kind, scheme, text) in notification::encodings(encryptions, notification_type, notification) {
            let Some(content) = self.seal(scheme, &text) else { continue };
            let app = Tag::public_key(self.keys.app.public_key());
            if self.send(&self.keys.wallet, EventBuilder::new(Kind::from_u16(kind), content).tag(app)) {
                self.count(|metrics| metrics.notifications += 1);
            }
        }
    }

    fn seal(&self, scheme: Scheme, text: &str) -> Option<String> {
        self.cipher.as_ref()?.seal(scheme, text).ok()
    }

    fn send(&self, keys: &Keys, builder: EventBuilder) -> bool {
        let builder = builder.custom_created_at(Timestamp::from_secs(self.now()));
        let client = self.running.read().as_ref().map(|running| Arc::clone(&running.client));
        let (Some(client), Ok(event)) = (client, builder.sign_with_keys(keys)) else { return false };
        client.send(&event).inspect_err(|error| tracing::warn!(%error, "the wallet service cannot respond")).is_ok()
    }
}

/// The encryption of a request: without a tag it is the old one. `None` when nobody here knows it.
fn scheme_of(event: &Event) -> Option<Scheme> {
    let tag = event.tags.iter().find(|tag| tag.as_slice().first().is_some_and(|name| name == "encryption"));
    tag.and_then(|tag| tag.content()).map_or(Some(Scheme::Nip04), Scheme::parse)
}
