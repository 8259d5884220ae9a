//! The connections to all relays.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::select_all;
use futures_util::stream::FuturesUnordered;
use nostr_sdk::{Client, ClientOptions, Event, Filter, Kind, RelayOptions, RelayPoolOptions, RelayUrl};
use parking_lot::RwLock;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::kind;

use super::link::{Delivery, Heard, Keeper, Link, State};
use super::{Identity, WalletError};

/// Relays a wallet connects to at most: its own and those of the services it knows.
const MAX_RELAYS: usize = 64;

/// Events that may be on their way at a time.
const MAX_SENDING: usize = 4_096;

/// Events heard that may wait to be read, from all relays together.
const QUEUE: usize = 65_536;

/// How long to wait before connecting again.
const RECONNECT: Duration = Duration::from_millis(500);

/// Events on their way, and what became of the others.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Nothing is known yet.
    open: usize,
    /// No relay confirmed it, but one may have it.
    unconfirmed: usize,
    /// No relay took it.
    failed: usize,
}

/// What is known of all that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Each event was taken by a relay (which is no receipt: the relay may lie, or the service be away).
    Taken,
    /// Of some event it is not known: the relays that may have it say no OK, or not yet.
    Unconfirmed,
    /// Some event was taken by no relay.
    Failed,
}

/// All relays: what one of them says is heard, what the wallet says goes to each.
#[derive(Debug)]
pub(super) struct Line {
    client: Client,
    filter: Filter,
    notifications: usize,
    links: RwLock<Vec<Link>>,
    heard: mpsc::Sender<Heard>,
    sending: Arc<Semaphore>,
    tally: watch::Sender<Tally>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Line {
    pub(super) fn new(
        identity: &Identity,
        notifications: usize,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> (Self, mpsc::Receiver<Heard>) {
        // The pool's own channel is not used (each relay's is), so it need not hold anything.
        let pool = RelayPoolOptions::new().notification_channel_size(1);
        let client = Client::builder().signer(identity.keys().clone()).opts(ClientOptions::new().pool(pool)).build();
        let (heard, queue) = mpsc::channel(QUEUE);
        // Kind 30000 is kept by relays; of the past a few are enough.
        let filter = Filter::new()
            .pubkeys([identity.public_key(), identity.main_key()])
            .kinds(kind::FROM_SERVICE.map(Kind::from_u16))
            .limit(100);
        let line = Self {
            client,
            filter,
            notifications: notifications.max(16),
            links: RwLock::default(),
            heard,
            sending: Arc::new(Semaphore::new(MAX_SENDING)),
            tally: watch::Sender::default(),
            tasks,
            stop,
        };
        (line, queue)
    }

    /// Connects to those relays that are new, without waiting for them.
    pub(super) async fn add(&self, urls: &[String]) {
        for url in urls {
            if let Err(error) = self.add_one(url).await {
                tracing::warn!(relay = %url, %error, "the wallet cannot use the relay");
            }
        }
    }

    async fn add_one(&self, url: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let url = RelayUrl::parse(url)?;
        if self.links.read().len() >= MAX_RELAYS {
            return Err("too many relays".into());
        }
        let options = RelayOptions::new()
            .retry_interval(RECONNECT)
            .adjust_retry_interval(false)
            .notification_channel_size(self.notifications);
        if !self.client.pool().add_relay(url.clone(), options).await? {
            return Ok(());
        }
        let relay = self.client.pool().relay(url).await?;
        let notifications = relay.notifications();
        let (state, watched) = watch::channel(State::Down);
        let link = {
            let mut links = self.links.write();
            links.push(Link { relay: relay.clone(), state: watched });
            links.len()
        };
        let keeper =
            Keeper { link, relay: relay.clone(), filter: self.filter.clone(), heard: self.heard.clone(), state };
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(keeper.run(notifications)));
        relay.connect();
        Ok(())
    }

    /// Waits until one of these relays listens for us, or failing that, until the deadline and one is connected.
    pub(super) async fn wait_for_any(&self, urls: &[String], deadline: Duration) -> Result<(), WalletError> {
        let wanted: Vec<RelayUrl> = urls.iter().filter_map(|url| RelayUrl::parse(url).ok()).collect();
        let mut states: Vec<_> = {
            let links = self.links.read();
            links.iter().filter(|link| wanted.contains(link.relay.url())).map(|link| link.state.clone()).collect()
        };
        if states.is_empty() {
            return Err(WalletError::Unreachable(urls.to_vec()));
        }
        let listening = select_all(states.iter_mut().map(|state| Box::pin(state.wait_for(|s| *s == State::Listening))));
        let in_time = tokio::time::timeout(deadline, listening).await.is_ok();
        if in_time || states.iter().any(|state| *state.borrow() >= State::Up) {
            return Ok(());
        }
        Err(WalletError::Unreachable(urls.to_vec()))
    }

    /// Sends an event to every relay, each at its own pace.
    pub(super) fn send(&self, event: &Event) -> Result<(), WalletError> {
        let links = self.links.read().clone();
        if links.is_empty() {
            return Err(WalletError::NoRelays);
        }
        let permit = Arc::clone(&self.sending).try_acquire_owned().map_err(|_| WalletError::Busy)?;
        self.tally.send_modify(|tally| tally.open += 1);
        let (tally, event) = (self.tally.clone(), event.clone());
        let sending = async move {
            let event = &event;
            let mut deliveries: FuturesUnordered<_> = links.into_iter().map(|link| link.deliver(event)).collect();
            let mut confirmed = false;
            let mut best = Delivery::Failed;
            while let Some(delivery) = deliveries.next().await {
                if delivery == Delivery::Taken && !confirmed {
                    confirmed = true;
                    tally.send_modify(|tally| tally.open -= 1);
                }
                best = best.min(delivery);
            }
            if !confirmed {
                tally.send_modify(|tally| {
                    tally.open -= 1;
                    tally.unconfirmed += usize::from(best == Delivery::Unconfirmed);
                    tally.failed += usize::from(best == Delivery::Failed);
                });
            }
            drop(permit);
        };
        self.tasks.spawn(self.stop.clone().run_until_cancelled_owned(sending));
        Ok(())
    }

    /// Waits until nothing is on its way, at most until the deadline.
    pub(super) async fn settle(&self, deadline: Duration) -> Settled {
        let mut tally = self.tally.subscribe();
        let _ = tokio::time::timeout(deadline, tally.wait_for(|tally| tally.open == 0)).await;
        let tally = *self.tally.borrow();
        match tally {
            Tally { failed: 1.., .. } => Settled::Failed,
            Tally { open: 0, unconfirmed: 0, .. } => Settled::Taken,
            _ => Settled::Unconfirmed,
        }
    }

    /// Closes all connections, without waiting.
    pub(super) fn disconnect(&self) {
        for link in self.links.read().iter() {
            link.relay.disconnect();
        }
    }

    /// Closes all connections.
    pub(super) async fn shutdown(&self) {
        self.client.shutdown().await;
    }
}
