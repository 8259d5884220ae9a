//! One connection per relay, shared by all pairings.
//!
//! Anybody can name relays, so they are limited like users' relays (`usher-relays`): in total, by registered domain, by
//! network address, and in how often they are connected to.

mod reconnect;
mod session;
mod shared;
mod shared_relay;

use std::sync::Arc;

use nostr::Event;
use tokio::sync::mpsc;
use url::Url;
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::event_message;
use usher_protocol::PublicKey;

pub(crate) use self::shared::Shared;
pub(crate) use self::shared_relay::Received;
use self::shared_relay::{Member, SharedRelay};

impl Shared {
    /// Delivers this relay's events for `key` to `received` until the membership is dropped. `None` if there are too
    /// many relays at its site.
    pub(crate) fn join(
        self: &Arc<Self>,
        url: &Url,
        source: AddressSource,
        key: PublicKey,
        received: mpsc::Sender<Received>,
    ) -> Option<Membership> {
        // Joining and leaving hold this lock, so that a relay does not end while a pairing joins it.
        let mut relays = self.relays.lock();
        let existing = relays.iter().find(|relay| relay.url == *url && relay.source == source && relay.has_room());
        let relay = if let Some(relay) = existing {
            Arc::clone(relay)
        } else {
            if !self.is_own(url) && !self.make_room(url, &mut relays) {
                return None;
            }
            let relay = Arc::new(SharedRelay::new(url.clone(), source));
            relays.push(Arc::clone(&relay));
            self.tasks.spawn(reconnect::run(Arc::clone(self), Arc::clone(&relay)));
            relay
        };
        let number = relay.insert(key, Member::new(received));
        Some(Membership { relay, key, number })
    }
}

pub(crate) struct Membership {
    relay: Arc<SharedRelay>,
    key: PublicKey,
    /// Distinguishes it from other pairings with the same key.
    number: u64,
}

impl Membership {
    pub(crate) fn is_at(&self, url: &Url) -> bool {
        self.relay.url == *url
    }

    /// From now on delivers only events of this author.
    pub(crate) fn expect(&self, author: PublicKey) {
        self.relay.expect(self.key, self.number, author);
    }

    /// Sends an event, if the relay is connected. It may be lost.
    pub(crate) fn publish(&self, event: &Event) {
        self.relay.send(event_message(event));
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.relay.remove(self.key, self.number);
    }
}
