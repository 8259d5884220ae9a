//! What pairings and the tasks of the relays share.

use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use url::Url;
use usher_engine::ports::{Clock, Randomness};
use usher_nostr_connection::address_guard::AddressSource;
use usher_nostr_connection::{ConnectLimits, network_of, site, url_simplicity};

use super::shared_relay::SharedRelay;
use crate::options::RemoteSignerOptions;
use crate::storage_cipher::SessionCipher;

pub(crate) struct Shared {
    pub(crate) options: RemoteSignerOptions,
    pub(crate) cipher: SessionCipher,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) randomness: Arc<dyn Randomness>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// The operator's relays, which our addresses name.
    pub(crate) own_relays: Vec<Url>,
    /// Oldest first.
    pub(crate) relays: Mutex<Vec<Arc<SharedRelay>>>,
    pub(crate) connect_limits: Mutex<ConnectLimits>,
}

impl Shared {
    /// The restrictions for relays named by users.
    pub(crate) const fn user_source(&self) -> AddressSource {
        if self.options.allow_private { AddressSource::Operator } else { AddressSource::User }
    }

    /// Whether it is one of the operator's relays, which are not limited.
    pub(super) fn is_own(&self, url: &Url) -> bool {
        self.own_relays.contains(url)
    }

    /// Makes room for a relay named by a user or a signer. Removed first is a relay that could not be reached, then one
    /// still connecting, then the one with the fewest pairings, and of these the oldest. Refusing newcomers instead
    /// would let an attacker who names enough relays lock everybody out. Within one site the least simple address is
    /// removed, and only for a simpler one, because anybody can make up paths.
    pub(super) fn make_room(&self, url: &Url, relays: &mut Vec<Arc<SharedRelay>>) -> bool {
        let (site, new_simplicity) = (site(url), url_simplicity(url));
        let of_users = || relays.iter().enumerate().filter(|(_, relay)| !self.is_own(&relay.url));
        let of_site = || of_users().filter(|(_, relay)| relay.site == site);
        let claim = |relay: &SharedRelay| (relay.is_listening(), !relay.has_failed(), relay.len());
        let victim = if of_site().count() >= self.options.user_connections_per_host {
            let weaker = of_site().filter(|(_, relay)| url_simplicity(&relay.url) <= new_simplicity);
            weaker.min_by_key(|(_, relay)| (url_simplicity(&relay.url), claim(relay)))
        } else if of_users().count() >= self.options.user_connections {
            of_users().min_by_key(|(_, relay)| claim(relay))
        } else {
            return true;
        };
        let Some(index) = victim.map(|(index, _)| index) else { return false };
        relays.remove(index).displaced.cancel();
        true
    }

    /// Whether this relay may connect to this network address, at which connections are limited.
    pub(super) fn admits(&self, relay: &Arc<SharedRelay>, ip: IpAddr) -> bool {
        if self.is_own(&relay.url) {
            return true;
        }
        let network = network_of(ip);
        let relays = self.relays.lock();
        let others = relays.iter().filter(|other| !Arc::ptr_eq(other, relay) && !self.is_own(&other.url));
        let admitted = others.filter(|other| other.network() == Some(network)).count()
            < self.options.user_connections_per_host
            && self.connect_limits.lock().take_at(network, &relay.url);
        if admitted {
            relay.connected_to(network);
        }
        admitted
    }

    /// Ends a relay without pairings; false if it has some.
    pub(super) fn retire(&self, relay: &Arc<SharedRelay>) -> bool {
        let mut relays = self.relays.lock();
        let unused = relay.is_empty();
        if unused {
            relays.retain(|other| !Arc::ptr_eq(other, relay));
        }
        unused
    }
}
