//! Reading events of services and reacting to them.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use tokio::sync::mpsc;
use tokio::time::Instant;
use usher_protocol::message::{CloseSubscription, ServiceMessage, WalletMessage};
use usher_protocol::subkey::{Permission, SubkeyProof};
use usher_protocol::{Event, EventId, PublicKey, kind};

use crate::relay_client::RelayEvent;

use super::received_requests::{Decision, Due};
use super::wallet_state::WalletState;
use super::{Closed, Identity, KnownService, Reaction, Request, RequestContent, Subscription};

const SEEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// Most proofs sent per second: what a device cannot decrypt may be junk from anybody.
const PROOFS_PER_SECOND: u32 = 20;

const MAX_PENDING: usize = 20_000;

pub(super) struct Inbox {
    inner: Arc<WalletState>,
    /// The relays that sent an event since the service last sent it.
    seen: LruCache<EventId, Vec<usize>>,
    proofs: (Instant, u32),
    /// When the last event that is not a copy was received.
    heard_at: Option<Instant>,
}

/// A deployed wallet loses events that arrive within this time of another event.
const RIGHT_BEHIND: Duration = Duration::from_millis(5);

impl Inbox {
    pub(super) fn new(inner: Arc<WalletState>) -> Self {
        Self { inner, seen: LruCache::new(SEEN), proofs: (Instant::now(), 0), heard_at: None }
    }

    pub(super) async fn run(mut self, mut received: mpsc::Receiver<RelayEvent>) {
        while let Some(received) = received.recv().await {
            self.receive(&received);
        }
    }

    /// The id and the signature were verified.
    fn receive(&mut self, received: &RelayEvent) {
        let event = &received.event;
        if event.pubkey == self.inner.identity.public_key() || self.is_lost(event) || self.is_copy(received) {
            return;
        }
        let Ok(text) = self.inner.messages.open(event) else {
            return self.unreadable(event);
        };
        match ServiceMessage::from_event(event, &text) {
            Ok(ServiceMessage::SubkeyProof { proof, about }) => self.moved(event.pubkey, &proof, &about),
            Ok(message) => self.request(self.inner.request(event, message)),
            Err(error) => {
                tracing::debug!(%error, kind = event.kind.as_u16(), "the wallet received an unreadable message")
            }
        }
    }

    /// Whether a deployed wallet would lose the event.
    fn is_lost(&mut self, event: &Event) -> bool {
        if !self.inner.deployed || self.seen.contains(&event.id) {
            return false;
        }
        let now = Instant::now();
        let before = self.heard_at.replace(now);
        before.is_some_and(|before| now.saturating_duration_since(before) < RIGHT_BEHIND)
    }

    /// Whether this is a copy from another relay. From the same relay it is a repetition: the service has no reply.
    fn is_copy(&mut self, received: &RelayEvent) -> bool {
        let Some(relays) = self.seen.peek_mut(&received.event.id) else {
            self.seen.push(received.event.id, vec![received.relay]);
            return false;
        };
        if relays.contains(&received.relay) && !self.inner.deployed {
            relays.clear();
            relays.push(received.relay);
            return false;
        }
        relays.push(received.relay);
        true
    }

    fn request(&self, request: Request) {
        let inner = &self.inner;
        if let RequestContent::Closed(close) = &request.content {
            inner.closed(&request, close);
        }
        if matches!(request.content, RequestContent::Token(_)) {
            return inner.token_arrived(request);
        }
        match inner.requests.take(request.clone(), |is_new| inner.decide(&request, is_new)) {
            Due::Repetition(answer) => match inner.send(request.from, &answer) {
                Ok(_) => inner.requests.answered(&request, *answer),
                Err(error) => tracing::debug!(%error, "the wallet could not repeat its reply"),
            },
            Due::Nothing => {}
            Due::Decided(Decision::Ask) => {
                if let Some(saver) = &inner.saver {
                    saver.save(request);
                }
            }
            Due::Decided(Decision::Ignore) => {}
            Due::Decided(Decision::Reply(reaction, delay)) if delay.is_zero() => inner.react_alone(&request, &reaction),
            Due::Decided(_) if inner.tasks.len() >= MAX_PENDING => {
                tracing::warn!("too many automatic replies are waiting; a request is ignored");
            }
            Due::Decided(Decision::Reply(reaction, delay)) => {
                let later = Arc::clone(inner);
                inner.tasks.spawn(inner.stop.clone().run_until_cancelled_owned(async move {
                    later.clock.sleep(delay).await;
                    if later.requests.is_pending(&request) {
                        later.react_alone(&request, &reaction);
                    }
                }));
            }
            Due::Decided(Decision::PayLate) => {
                let later = Arc::clone(inner);
                inner.tasks.spawn(inner.stop.clone().run_until_cancelled_owned(async move {
                    let RequestContent::Payment(asked) = &request.content else { return };
                    let is_wanted = || later.requests.is_pending(&request);
                    if let Some(Err(error)) = later.pay_late(&asked.invoice, asked.expires_at, is_wanted).await {
                        tracing::warn!(%error, "the wallet could not pay late");
                    }
                }));
            }
        }
    }

    /// The service runs on a subkey and could not decrypt our event: sends it again to the subkey.
    fn moved(&self, author: PublicKey, proof: &SubkeyProof, about: &EventId) {
        let inner = &self.inner;
        let Some(said) = inner.messages.find(about).filter(|said| said.to == proof.main_key) else { return };
        let permission = match said.outgoing.message.kind() {
            kind::KEY_HANDSHAKE | kind::AUTH_RESPONSE => Permission::Auth,
            _ => Permission::Payment,
        };
        if let Err(error) = proof.verify(&author, permission, inner.messages.now()) {
            tracing::debug!(%error, "a subkey proof is invalid");
            return;
        }
        KnownService::add_subkey(&mut inner.services.lock(), &proof.main_key, author);
        if let Err(error) = inner.send(author, &said.outgoing) {
            tracing::debug!(%error, "the wallet could not repeat its message to the subkey");
        }
    }

    /// A device that cannot decrypt an event tagged for its main key sends its proof (docs/protocol.md, Subkeys); not
    /// when it is tagged itself (another copy is for it), and not to proofs (two devices would reply to each other for
    /// ever).
    fn unreadable(&mut self, event: &Event) {
        let Identity::Device { keys, proof } = &self.inner.identity else { return };
        let tagged = |key: &PublicKey| event.tags.public_keys().any(|tag| tag == key);
        if event.kind.as_u16() == kind::SUBKEY_PROOF || !tagged(&proof.main_key) || tagged(&keys.public_key()) {
            return;
        }
        if self.proofs.0.elapsed() >= Duration::from_secs(1) {
            self.proofs = (Instant::now(), 0);
        }
        self.proofs.1 = self.proofs.1.saturating_add(1);
        if self.proofs.1 > PROOFS_PER_SECOND {
            return;
        }
        let message = WalletMessage::SubkeyProof { proof: proof.as_ref().clone(), about: event.id };
        if let Err(error) = self.inner.send(event.pubkey, &message.into()) {
            tracing::debug!(%error, "the device could not send its proof");
        }
    }
}

impl WalletState {
    fn react_alone(self: &Arc<Self>, request: &Request, reaction: &Reaction) {
        match self.react(request, reaction) {
            Ok(_) if matches!(request.content, RequestContent::Recurring(_)) => {
                if let Some(saver) = &self.saver {
                    saver.save_subscriptions();
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the automatic reply failed"),
        }
    }

    pub(super) fn read(&self, event: &Event) -> Option<Request> {
        let text = self.messages.open(event).ok()?;
        Some(self.request(event, ServiceMessage::from_event(event, &text).ok()?))
    }

    /// The service closes a subscription. Only the service of that subscription can.
    fn closed(&self, request: &Request, close: &CloseSubscription) {
        let same = |known: &Subscription| {
            known.service == request.from
                || self.service_of(&known.service, None).is_some_and(|main| request.service == Some(main))
        };
        let mut subscriptions = self.subscriptions.lock();
        if let Some(known) = subscriptions.iter_mut().find(|known| known.id == close.subscription_id && same(known)) {
            known.closed.get_or_insert(Closed { by_service: true, reason: close.reason.clone() });
        }
    }

    pub(super) fn is_agreed(&self, request: &Request) -> bool {
        let RequestContent::Payment(asked) = &request.content else { return false };
        self.subscriptions.lock().iter().any(|known| {
            asked.subscription_id.as_ref() == Some(&known.id)
                && known.is_open()
                && known.service == request.from
                && known.currency == asked.currency
                && asked.amount <= known.amount
        })
    }

    fn request(&self, event: &Event, message: ServiceMessage) -> Request {
        let (id, content) = RequestContent::from_message(message, event);
        let service = self.service_of(&event.pubkey, content.proof());
        Request {
            id,
            from: event.pubkey,
            service,
            content,
            event: event.clone(),
            received_at: self.messages.now(),
            times: 1,
            is_automatic: false,
            answers: 0,
            failed: false,
        }
    }

    /// The known service that signs with `author`, as a handshake URL or its proof says.
    fn service_of(&self, author: &PublicKey, proof: Option<&SubkeyProof>) -> Option<PublicKey> {
        let mut services = self.services.lock();
        if let Some(service) = services.iter().find(|service| service.has_key(author)) {
            return Some(service.main_key);
        }
        let proof = proof?;
        let known = services.iter().any(|service| service.main_key == proof.main_key);
        (known && proof.verify(author, Permission::Auth, self.messages.now()).is_ok()).then(|| {
            KnownService::add_subkey(&mut services, &proof.main_key, *author);
            proof.main_key
        })
    }
}
