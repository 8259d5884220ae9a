//! The connections to all relays of a user's wallet or of a Lightning wallet service.

mod error;
mod relay_connection;

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::select_all;
use futures_util::stream::FuturesUnordered;
use nostr::{Event, Filter, Keys, RelayUrl};
use parking_lot::RwLock;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;
use usher_nostr_connection::event_message;

pub use error::RelayClientError;
pub(crate) use relay_connection::RelayEvent;

use relay_connection::{Delivery, RelayHandle, RelayTask, State};

/// Relays that are connected at most: a wallet's own and those of the services it knows.
const MAX_RELAYS: usize = 64;

const MAX_SENDING: usize = 16_384;

/// Received events that may wait to be read, from all relays together.
const QUEUE: usize = 65_536;

#[derive(Clone, Copy, Debug, Default)]
struct PublishCounts {
    open: usize,
    /// No relay confirmed it, but one may have it.
    unconfirmed: usize,
    failed: usize,
}

/// What is known of all that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// Each event was taken by a relay (which is no receipt: the relay may lie, or the service be away).
    Accepted,
    /// Of some event it is not known: the relays that may have it say no OK, or not yet.
    Unconfirmed,
    /// Some event was taken by no relay.
    Failed,
}

/// All relays: receives what any of them sends, and sends events to all of them.
#[derive(Debug)]
pub(crate) struct RelayClient {
    keys: Keys,
    filter: Filter,
    relays: RwLock<Vec<RelayHandle>>,
    heard: mpsc::Sender<RelayEvent>,
    sending: Arc<Semaphore>,
    counts: watch::Sender<PublishCounts>,
    /// Said to each relay whenever it is connected anew, and when it changes.
    greeting: watch::Sender<Option<Event>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl RelayClient {
    /// A client without relays, for what `filter` lets through, until `stop`. `keys` answer a relay's authentication.
    pub(crate) fn new(
        keys: Keys,
        filter: Filter,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> (Self, mpsc::Receiver<RelayEvent>) {
        let (heard, queue) = mpsc::channel(QUEUE);
        let relay_client = Self {
            keys,
            filter,
            relays: RwLock::default(),
            heard,
            sending: Arc::new(Semaphore::new(MAX_SENDING)),
            counts: watch::Sender::default(),
            greeting: watch::Sender::default(),
            tasks,
            stop,
        };
        (relay_client, queue)
    }

    /// Connects to those relays that are new, without waiting for them.
    pub(crate) fn add(&self, urls: &[String]) {
        for url in urls {
            if let Err(error) = self.add_one(url) {
                tracing::warn!(relay = %url, %error, "the relay cannot be used");
            }
        }
    }

    fn add_one(&self, url: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let url = parse(url)?;
        let mut relays = self.relays.write();
        if relays.iter().any(|relay| relay.url == url) {
            return Ok(());
        }
        if relays.len() >= MAX_RELAYS {
            return Err("too many relays".into());
        }
        let (state, watched) = watch::channel(State::Down);
        let (sender, outgoing) = mpsc::unbounded_channel();
        relays.push(RelayHandle { url: url.clone(), state: watched, outgoing: sender });
        let task = RelayTask {
            index: relays.len(),
            url,
            keys: self.keys.clone(),
            filter: self.filter.clone(),
            heard: self.heard.clone(),
            state,
            outgoing,
            greeting: self.greeting.subscribe(),
            stop: self.stop.clone(),
        };
        self.tasks.spawn(task.run());
        Ok(())
    }

    /// Changes the event that is sent to each relay on every connection: the newest one of a replaceable kind.
    pub(crate) fn greet_with(&self, event: Event) {
        self.greeting.send_replace(Some(event));
    }

    /// Waits until one of these relays listens for us, or failing that, until the deadline and one is connected.
    pub(crate) async fn wait_for_any(&self, urls: &[String], deadline: Duration) -> Result<(), RelayClientError> {
        let wanted: Vec<Url> = urls.iter().filter_map(|url| parse(url).ok()).collect();
        let mut states: Vec<_> = {
            let relays = self.relays.read();
            relays.iter().filter(|handle| wanted.contains(&handle.url)).map(|handle| handle.state.clone()).collect()
        };
        if states.is_empty() {
            return Err(RelayClientError::Unreachable(urls.to_vec()));
        }
        let listening = select_all(states.iter_mut().map(|state| Box::pin(state.wait_for(|s| *s == State::Listening))));
        let in_time = tokio::time::timeout(deadline, listening).await.is_ok();
        if in_time || states.iter().any(|state| *state.borrow() >= State::Up) {
            return Ok(());
        }
        Err(RelayClientError::Unreachable(urls.to_vec()))
    }

    pub(crate) fn send(&self, event: &Event) -> Result<(), RelayClientError> {
        let relays = self.relays.read().clone();
        if relays.is_empty() {
            return Err(RelayClientError::NoRelays);
        }
        let permit = Arc::clone(&self.sending).try_acquire_owned().map_err(|_| RelayClientError::Busy)?;
        self.counts.send_modify(|counts| counts.open += 1);
        let (counts, id, message) = (self.counts.clone(), event.id, event_message(event));
        let sending = async move {
            let mut deliveries: FuturesUnordered<_> =
                relays.into_iter().map(|handle| handle.deliver(id, &message)).collect();
            let mut confirmed = false;
            let mut best = Delivery::Failed;
            while let Some(delivery) = deliveries.next().await {
                if delivery == Delivery::Taken && !confirmed {
                    confirmed = true;
                    counts.send_modify(|counts| counts.open -= 1);
                }
                best = best.min(delivery);
            }
            if !confirmed {
                counts.send_modify(|counts| {
                    counts.open -= 1;
                    counts.unconfirmed += usize::from(best == Delivery::Unconfirmed);
                    counts.failed += usize::from(best == Delivery::Failed);
                });
            }
            drop(permit);
        };
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(sending));
        Ok(())
    }

    /// Waits until nothing is on its way, at most until the deadline.
    pub(crate) async fn flush(&self, deadline: Duration) -> DeliveryStatus {
        let mut counts = self.counts.subscribe();
        let _ = tokio::time::timeout(deadline, counts.wait_for(|counts| counts.open == 0)).await;
        let counts = *self.counts.borrow();
        match counts {
            PublishCounts { failed: 1.., .. } => DeliveryStatus::Failed,
            PublishCounts { open: 0, unconfirmed: 0, .. } => DeliveryStatus::Accepted,
            _ => DeliveryStatus::Unconfirmed,
        }
    }
}

fn parse(url: &str) -> Result<Url, nostr::types::url::Error> {
    RelayUrl::parse(url).map(Url::from)
}
