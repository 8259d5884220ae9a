//! The pool: all relays together.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::UnixMillis;
use usher_engine::ports::{Clock, Inbound, Letter, Messenger};
use usher_protocol::envelope::{self, Contents};
use usher_protocol::{Event, EventId, PublicKey};

use crate::counters::{CounterValues, add};
use crate::directory::Used;
use crate::link::Link;
use crate::recent::Recent;
use crate::shared::{Shared, outgoing};
use crate::status::{Origin, RelayStatus};
use crate::{RelayAddress, RelayOptions, connection};

/// Most addresses of one letter that are looked at.
const MAX_ADDRESSES_PER_LETTER: usize = 16;

/// Connections to relays, and the way of messages over them.
pub struct RelayPool {
    pub(crate) shared: Arc<Shared>,
    recent: Arc<Recent>,
    tasks: TaskTracker,
    runtime: Handle,
}

impl RelayPool {
    /// Starts to connect to the configured relays and to deliver what wallets say into `inbox`.
    ///
    /// The tasks run on `tasks` and end when `stop` is cancelled, after a moment in which what is queued is sent. A full
    /// `inbox` holds up the reading of relays; nothing is lost by it.
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
        let relays = options.relays.clone();
        let shared = Arc::new(Shared::new(options, inbox, clock, stop));
        let recent = Arc::new(Recent::default());
        let pool = Arc::new(Self { shared, recent, tasks: tasks.clone(), runtime: Handle::current() });
        for relay in relays {
            pool.add(relay);
        }
        tasks.spawn(sweep(Arc::clone(&pool.shared), Arc::clone(&pool.recent)));
        pool
    }

    /// Connects to one more relay of the operator's; false when it is one already. The others are not touched.
    ///
    /// What was sent to users in the last minute and may still be answered goes there, too, unless the relay is in use
    /// for a user already: the engine repeats what is unanswered.
    pub fn add(&self, address: RelayAddress) -> bool {
        let link = self.link(address, Origin::Configured);
        let (added, in_use) = {
            let mut directory = self.shared.directory.lock();
            let in_use = directory.link_to(&link.address).is_some();
            (directory.add(&link), in_use)
        };
        // A user's relay has had what was meant for that user: not twice.
        if added && !in_use {
            for event in self.recent.awaited(self.shared.clock.now(), Instant::now()) {
                self.shared.enqueue(&link, event);
            }
        }
        if added {
            self.open(&link);
            self.shared.changed();
        }
        added
    }

    /// Leaves a relay of the operator's, after what is queued for it has been sent; false when it was none. The others
    /// are not touched.
    pub fn remove(&self, address: &RelayAddress) -> bool {
        let removed = self.shared.directory.lock().remove(address);
        if let Some(link) = &removed {
            link.close.cancel();
            self.shared.changed();
        }
        removed.is_some()
    }

    /// How each relay is doing: the operator's in their order, then users' by address.
    pub fn status(&self) -> Vec<RelayStatus> {
        let (configured, mut of_users) = {
            let directory = self.shared.directory.lock();
            (directory.configured(), directory.of_users())
        };
        of_users.sort_by(|a, b| a.address.cmp(&b.address));
        configured.iter().chain(&of_users).map(|link| link.status()).collect()
    }

    /// What has been counted since the start.
    pub fn counters(&self) -> CounterValues {
        self.shared.counters.values()
    }

    /// Our relays, in their order.
    pub(crate) fn links(&self) -> Vec<Arc<Link>> {
        self.shared.directory.lock().configured()
    }

    /// The connection to a relay, when there is one at the moment: ours or a user's.
    pub(crate) fn link_to(&self, address: &RelayAddress) -> Option<Arc<Link>> {
        self.shared.directory.lock().link_to(address).filter(|link| !link.is_down())
    }

    fn link(&self, address: RelayAddress, origin: Origin) -> Arc<Link> {
        Arc::new(Link::new(address, origin, &self.shared.options, &self.shared.stop))
    }

    fn open(&self, link: &Arc<Link>) {
        if !self.shared.stop.is_cancelled() {
            let task = connection::keep(Arc::clone(&self.shared), Arc::clone(link));
            self.tasks.spawn_on(task, &self.runtime);
        }
    }

    fn seal(&self, letter: &Letter, recipient: &PublicKey) -> Option<Event> {
        let contents = Contents {
            participants: &letter.participants,
            kind: letter.kind,
            plaintext: &letter.content,
            created_at: letter.made_at.secs(),
        };
        let sealed = self.shared.conversations.with(recipient).and_then(|conversation| {
            envelope::seal_repeatable(&self.shared.options.identity.keys, &conversation, &contents)
        });
        match sealed {
            Ok(event) => {
                add(&self.shared.counters.sealed);
                Some(event)
            }
            Err(error) => {
                tracing::warn!(kind = letter.kind, recipient = %recipient, %error, "a message cannot be sealed");
                None
            }
        }
    }

    /// The user's own relays for this letter, opened where they are not yet.
    fn user_relays(&self, letter: &Letter, now: UnixMillis) -> Vec<Arc<Link>> {
        let Some(user) = user_of(letter) else { return Vec::new() };
        let parse =
            if self.shared.options.allow_private { RelayAddress::parse } else { RelayAddress::parse_from_stranger };
        let counters = &self.shared.counters;
        let mut wanted = Vec::new();
        for text in letter.relays.iter().take(MAX_ADDRESSES_PER_LETTER) {
            match parse(text) {
                Ok(address) => wanted.push(address),
                Err(error) => {
                    add(&counters.user_relays_refused);
                    tracing::debug!(%error, "a user's relay is not used");
                }
            }
        }
        if wanted.is_empty() {
            return Vec::new();
        }
        let Used { links, opened, evicted, refused } =
            self.shared
                .directory
                .lock()
                .use_for(user, wanted, letter.until, now, |address| self.link(address, Origin::User));
        counters.user_relays_evicted.fetch_add(evicted, Ordering::Relaxed);
        counters.user_relays_refused.fetch_add(refused, Ordering::Relaxed);
        for link in &opened {
            self.open(link);
        }
        links
    }
}

impl Messenger for RelayPool {
    fn send(&self, letter: &Letter) -> Vec<EventId> {
        let now = self.shared.clock.now();
        let mut links = self.shared.directory.lock().configured();
        links.extend(self.user_relays(letter, now));
        let mut ids = Vec::with_capacity(letter.recipients.len());
        for recipient in &letter.recipients {
            if let Some(event) = self.seal(letter, recipient) {
                let event = outgoing(&event, user_of(letter));
                ids.push(event.id);
                self.recent.sent(event.clone(), letter.until);
                for link in &links {
                    self.shared.enqueue(link, event.clone());
                }
            }
        }
        ids
    }

    fn relays(&self) -> Vec<String> {
        self.shared.directory.lock().configured().iter().map(|link| link.address.to_string()).collect()
    }
}

/// The user that a letter is for: by the protocol the main key is the first of those who take part.
fn user_of(letter: &Letter) -> Option<PublicKey> {
    letter.participants.first().or(letter.recipients.first()).copied()
}

/// Closes users' relays that are no longer needed, and drops events that grew old in the queues of relays that are down.
async fn sweep(shared: Arc<Shared>, recent: Arc<Recent>) {
    loop {
        tokio::select! {
            () = sleep(shared.options.timing.sweep) => {}
            () = shared.stop.cancelled() => return,
        }
        let links = {
            let mut directory = shared.directory.lock();
            directory.expire(shared.clock.now(), shared.options.user_relay_grace);
            let mut links = directory.configured();
            links.extend(directory.of_users());
            links
        };
        let now = Instant::now();
        recent.forget_old(now);
        for link in links {
            shared.counters.dropped.fetch_add(link.queue.drop_stale(now), Ordering::Relaxed);
        }
    }
}
