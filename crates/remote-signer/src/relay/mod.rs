//! One connection per relay, shared by all pairings.

mod session;
mod shared_relay;

use std::sync::Arc;

use nostr::{ClientMessage, Event, JsonUtil as _};
use parking_lot::Mutex;
use rustls::ClientConfig;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;
use usher_engine::ports::{Clock, Randomness};
use usher_nostr_connection::address_guard::Trust;
use usher_protocol::PublicKey;

use crate::options::RemoteSignerOptions;
use crate::session_cipher::SessionCipher;
use shared_relay::{Member, SharedRelay};

/// Most pairings on one connection: a relay subscription of so many keys has 35 KB. More get another connection.
const MAX_PAIRINGS: usize = 512;

/// What a relay delivers to a pairing.
#[derive(Debug)]
pub(crate) enum Received {
    /// The relay delivers from now on what is sent to the pairing's key. After an interruption once more.
    Listening,
    /// An event addressed to the pairing's key. Nothing is checked but its kind, and its author if one is expected.
    Event(Box<Event>),
}

/// Shared by pairings and the tasks of the relays.
pub(crate) struct Shared {
    pub(crate) options: RemoteSignerOptions,
    pub(crate) cipher: SessionCipher,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// The operator's relays, which addresses of ours name.
    pub(crate) own_relays: Vec<Url>,
    /// The oldest first.
    pub(crate) relays: Mutex<Vec<Arc<SharedRelay>>>,
}

impl Shared {
    /// What a relay that a user named is trusted with.
    pub(crate) const fn user_trust(&self) -> Trust {
        if self.options.allow_private { Trust::Operator } else { Trust::User }
    }

    /// Lets `received` have what this relay delivers for `key`, until the membership is dropped.
    pub(crate) fn join(
        self: &Arc<Self>,
        url: &Url,
        trust: Trust,
        key: PublicKey,
        received: mpsc::Sender<Received>,
    ) -> Membership {
        // Joining and leaving hold this lock, so that no relay ends while somebody joins it.
        let mut relays = self.relays.lock();
        let existing = relays.iter().find(|relay| relay.url == *url && relay.trust == trust && relay.has_room());
        let relay = existing.cloned().unwrap_or_else(|| {
            if !self.own_relays.contains(url) {
                self.make_room(&mut relays);
            }
            let relay = Arc::new(SharedRelay::new(url.clone(), trust));
            relays.push(Arc::clone(&relay));
            self.tasks.spawn(shared_relay::run(Arc::clone(self), Arc::clone(&relay)));
            relay
        });
        let number = relay.insert(key, Member::new(received));
        Membership { relay, key, number }
    }

    /// Makes room for a relay that a user or a signer names: the one that the fewest wait on, and of these the oldest, goes. If
    /// newcomers were refused, whoever names enough relays would lock everybody out.
    fn make_room(&self, relays: &mut Vec<Arc<SharedRelay>>) {
        let of_users = || relays.iter().enumerate().filter(|(_, relay)| !self.own_relays.contains(&relay.url));
        if of_users().count() < self.options.user_connections {
            return;
        }
        if let Some((index, _)) = of_users().min_by_key(|(_, relay)| relay.len()) {
            relays.remove(index).displaced.cancel();
        }
    }

    /// Ends a relay that nobody needs; false when somebody does.
    fn retire(&self, relay: &Arc<SharedRelay>) -> bool {
        let mut relays = self.relays.lock();
        let unused = relay.is_empty();
        if unused {
            relays.retain(|other| !Arc::ptr_eq(other, relay));
        }
        unused
    }
}

/// A pairing's place on a relay's connection.
pub(crate) struct Membership {
    relay: Arc<SharedRelay>,
    key: PublicKey,
    /// Tells it from those of other pairings with the same key.
    number: u64,
}

impl Membership {
    pub(crate) fn is_at(&self, url: &Url) -> bool {
        self.relay.url == *url
    }

    /// From now on only events of this author are delivered.
    pub(crate) fn expect(&self, author: PublicKey) {
        self.relay.expect(self.key, self.number, author);
    }

    /// Sends an event, if the relay is connected. It may be lost.
    pub(crate) fn publish(&self, event: &Event) {
        self.relay.send(ClientMessage::event(event.clone()).as_json());
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.relay.remove(self.key, self.number);
    }
}
