//! The pool of all relays: the engine's `Messenger`.

use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock, Inbound, Messenger, OutgoingMessage};
use usher_nostr_connection::address_guard::AddressSource;
use usher_protocol::envelope::{self, Contents};
use usher_protocol::{Event, EventId, PublicKey};

use crate::added_relay_backlog::AddedRelayBacklog;
use crate::metrics::Metrics;
use crate::options::RelayOptions;
use crate::relay_address::RelayAddress;
use crate::relay_handle::RelayHandle;
use crate::relay_status::{Origin, RelayStatus};
use crate::relay_task;
use crate::relays_in_use::Used;
use crate::shared_state::{SharedState, outgoing};

/// Most addresses used for one message.
const MAX_ADDRESSES_PER_MESSAGE: usize = 16;

/// All relay connections, and the messages sent over them.
pub struct RelayPool {
    pub(crate) shared: Arc<SharedState>,
    recent: Arc<AddedRelayBacklog>,
    tasks: TaskTracker,
    runtime: Handle,
}

impl RelayPool {
    /// Connects to the configured relays and delivers wallets' messages into `inbox`.
    ///
    /// The tasks run on `tasks`. When `stop` is cancelled, they send queued events for a moment and end. A full `inbox`
    /// delays reading from relays; nothing is lost.
    ///
    /// # Panics
    /// Outside a Tokio runtime.
    pub fn start(
        options: RelayOptions,
        inbox: mpsc::Sender<Inbound>,
        clock: Arc<dyn Clock>,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let relays: Vec<_> =
            options.relays.iter().map(|relay| (relay.clone(), options.public_only.contains(relay))).collect();
        let shared = Arc::new(SharedState::new(options, inbox, clock, stop));
        let recent = Arc::new(AddedRelayBacklog::default());
        let pool = Arc::new(Self { shared, recent, tasks: tasks.clone(), runtime: Handle::current() });
        for (relay, public_only) in relays {
            pool.add(relay, public_only);
        }
        let sweeping = sweep(Arc::clone(&pool.shared), Arc::clone(&pool.recent));
        tasks.spawn(pool.shared.stop.clone().run_until_cancelled_owned(sweeping));
        pool
    }

    /// Connects to one more of the operator's relays, with `public_only` only at public addresses; false if it is one
    /// already.
    ///
    /// Events sent to users in the last minute whose reply is awaited are sent there too, unless the relay is already
    /// in use for a user.
    pub fn add(&self, address: RelayAddress, public_only: bool) -> bool {
        let mut handle = self.handle(address, Origin::Configured);
        if public_only {
            handle.source = AddressSource::User;
        }
        let handle = Arc::new(handle);
        let (added, in_use) = {
            let mut relays_in_use = self.shared.relays_in_use.lock();
            let in_use = relays_in_use.handle_to(&handle.address).is_some();
            (relays_in_use.add(&handle), in_use)
        };
        // A user's relay has already received that user's events.
        if added && !in_use {
            for event in self.recent.awaited(self.shared.clock.now(), Instant::now()) {
                self.shared.enqueue(&handle, event);
            }
        }
        if added {
            self.open(&handle);
            self.shared.changed();
        }
        added
    }

    /// Leaves one of the operator's relays after sending its queued events; false if it is none.
    pub fn remove(&self, address: &RelayAddress) -> bool {
        let removed = self.shared.relays_in_use.lock().remove(address);
        if let Some(handle) = &removed {
            handle.close.cancel();
            self.shared.changed();
        }
        removed.is_some()
    }

    /// The status of each relay: the operator's in their order, then users', sorted by address.
    pub fn status(&self) -> Vec<RelayStatus> {
        let (configured, mut of_users) = {
            let relays_in_use = self.shared.relays_in_use.lock();
            (relays_in_use.configured(), relays_in_use.of_users())
        };
        of_users.sort_by(|a, b| a.address.cmp(&b.address));
        configured.iter().chain(&of_users).map(|handle| handle.status()).collect()
    }

    /// The counters since the start.
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    pub(crate) fn handles(&self) -> Vec<Arc<RelayHandle>> {
        self.shared.relays_in_use.lock().configured()
    }

    /// A connected relay with this address, ours or a user's.
    pub(crate) fn handle_to(&self, address: &RelayAddress) -> Option<Arc<RelayHandle>> {
        self.shared.relays_in_use.lock().handle_to(address).filter(|handle| !handle.is_down())
    }

    fn handle(&self, address: RelayAddress, origin: Origin) -> RelayHandle {
        RelayHandle::new(address, origin, &self.shared.options, &self.shared.stop)
    }

    fn open(&self, handle: &Arc<RelayHandle>) {
        if !self.shared.stop.is_cancelled() {
            let task = relay_task::run(Arc::clone(&self.shared), Arc::clone(handle));
            self.tasks.spawn_on(task, &self.runtime);
        }
    }

    fn seal(&self, message: &OutgoingMessage, recipient: &PublicKey) -> Option<Event> {
        let contents = Contents {
            participants: &message.participants,
            kind: message.kind,
            plaintext: &message.content,
            created_at: message.made_at.secs(),
        };
        let sealed = match &message.signer {
            None => self.shared.conversation_keys.with(recipient).and_then(|conversation| {
                envelope::seal_repeatable(&self.shared.options.identity.keys, &conversation, &contents)
            }),
            // Such a key signs a few events and is then discarded: not cached.
            Some(signer) => envelope::conversation_key(signer, recipient)
                .and_then(|conversation| envelope::seal_repeatable(signer, &conversation, &contents)),
        };
        match sealed {
            Ok(event) => {
                self.shared.metrics.sealed.add(1);
                Some(event)
            }
            Err(error) => {
                tracing::warn!(kind = message.kind, recipient = %recipient, %error, "cannot encrypt a message");
                None
            }
        }
    }

    /// The user's relays for this message, opened if necessary.
    fn user_relays(&self, message: &OutgoingMessage, now: UnixMillis) -> Vec<Arc<RelayHandle>> {
        let Some(user) = user_of(message) else { return Vec::new() };
        let parse = if self.shared.options.allow_private { RelayAddress::parse } else { RelayAddress::parse_from_user };
        let metrics = &self.shared.metrics;
        let mut wanted = Vec::new();
        for text in message.relays.iter().take(MAX_ADDRESSES_PER_MESSAGE) {
            match parse(text) {
                Ok(address) => wanted.push(address),
                Err(error) => {
                    metrics.user_relays_refused.add(1);
                    tracing::debug!(%error, "a user's relay is refused");
                }
            }
        }
        if wanted.is_empty() {
            return Vec::new();
        }
        let Used { handles, opened, evicted, refused } =
            self.shared
                .relays_in_use
                .lock()
                .use_for(user, wanted, message.until, now, |address| Arc::new(self.handle(address, Origin::User)));
        metrics.user_relays_evicted.add(evicted);
        metrics.user_relays_refused.add(refused);
        for handle in &opened {
            self.open(handle);
        }
        handles
    }
}

impl Messenger for RelayPool {
    fn send(&self, message: &OutgoingMessage) -> Vec<EventId> {
        let now = self.shared.clock.now();
        let mut handles = self.shared.relays_in_use.lock().configured();
        handles.extend(self.user_relays(message, now));
        let mut ids = Vec::with_capacity(message.recipients.len());
        for recipient in &message.recipients {
            if let Some(event) = self.seal(message, recipient) {
                let event = outgoing(&event, user_of(message));
                ids.push(event.id);
                self.recent.sent(event.clone(), message.until);
                for handle in &handles {
                    self.shared.enqueue(handle, event.clone());
                }
            }
        }
        ids
    }

    fn relays(&self) -> Vec<String> {
        self.shared.relays_in_use.lock().configured().iter().map(|handle| handle.address.to_string()).collect()
    }

    fn is_reachable(&self) -> bool {
        self.handles().iter().any(|handle| !handle.is_down())
    }
}

/// The main key of a message's user: in the protocol, the first participant.
fn user_of(message: &OutgoingMessage) -> Option<PublicKey> {
    message.participants.first().or(message.recipients.first()).copied()
}

/// Closes users' relays that are no longer needed, and drops stale events in the queues of relays that are down.
async fn sweep(shared: Arc<SharedState>, recent: Arc<AddedRelayBacklog>) {
    loop {
        sleep(shared.options.timing.sweep).await;
        let handles = {
            let mut relays_in_use = shared.relays_in_use.lock();
            relays_in_use.expire(shared.clock.now(), shared.options.user_relay_grace);
            let mut handles = relays_in_use.configured();
            handles.extend(relays_in_use.of_users());
            handles
        };
        let now = Instant::now();
        recent.forget_old(now);
        for handle in handles {
            shared.metrics.dropped.add(handle.queue.drop_stale(now));
        }
    }
}
