//! Which relays are in use: the operator's, and users' while they are needed.
//!
//! Anybody can generate keys and name relays, so connections to users' relays are limited:
//!
//! 1. By host: a limited number of relays of one [site](RelayAddress::site), and at one network address.
//! 2. A relay on which a reply is awaited stays, unless the new relay has priority: the host of the old one has more than
//!    half of the relays that a host may have, and the host of the new one at least two fewer; or the new relay is a higher
//!    choice of its user. Otherwise the new relay is refused, and its user is reached at the operator's relays.
//!
//! [`Places`](usher_places::Places) does not fit: site names cost nothing, so a site with fewer relays must not
//! displace others, and which relay to close depends on its connection.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use usher_engine::UnixMillis;
use usher_nostr_connection::{ConnectLimits, network_of};
use usher_places::{LruCache, bounded};
use usher_protocol::PublicKey;

use crate::relay_address::RelayAddress;
use crate::relay_handle::RelayHandle;

/// Users whose relays are counted. Relays of an uncounted user stay until no reply is awaited.
const USERS: usize = 8192;

/// Most users' relays on the host of one of the operator's relays: relays limit connections per client, and users must
/// not use up ours.
const BESIDE_OURS: usize = 2;

/// Counted users of one relay. A relay with more is not closed for a single user.
const USERS_OF_A_RELAY: usize = 256;

pub(crate) struct RelaysInUse {
    configured: Vec<Arc<RelayHandle>>,
    of_users: HashMap<RelayAddress, UserRelay>,
    /// The relays of each user, the one used last at the end.
    by_user: LruCache<PublicKey, Vec<RelayAddress>>,
    connect_limits: ConnectLimits,
    bounds: Bounds,
    uses: u64,
}

/// Most users' relays in use at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) per_user: usize,
    /// At one site, whatever their paths and ports, and at one network address, whatever their names.
    pub(crate) per_host: usize,
    pub(crate) in_all: usize,
}

impl Bounds {
    /// NIP-65 asks users to list 2 to 4 relays.
    pub(crate) const USUAL: Self = Self { per_user: 4, per_host: 8, in_all: 64 };
}

struct UserRelay {
    handle: Arc<RelayHandle>,
    site: String,
    /// Where it was last connected to.
    network: Option<IpAddr>,
    /// How many other relays its user prefers; for several users, the lowest number.
    choice: usize,
    until: UnixMillis,
    users: HashSet<PublicKey>,
    has_uncounted_users: bool,
    /// Opening order.
    opened: u64,
    last_use: u64,
}

#[derive(Default)]
pub(crate) struct Used {
    pub(crate) handles: Vec<Arc<RelayHandle>>,
    /// Newly opened ones, each of which needs a task.
    pub(crate) opened: Vec<Arc<RelayHandle>>,
    /// Other users' relays closed to make room.
    pub(crate) evicted: u64,
    /// Relays not used because there were too many.
    pub(crate) refused: u64,
}

impl RelaysInUse {
    pub(crate) fn new(bounds: Bounds) -> Self {
        let (by_user, connect_limits) = (bounded(USERS), ConnectLimits::default());
        Self { configured: Vec::new(), of_users: HashMap::new(), by_user, connect_limits, bounds, uses: 0 }
    }

    pub(crate) fn configured(&self) -> Vec<Arc<RelayHandle>> {
        self.configured.clone()
    }

    pub(crate) fn of_users(&self) -> Vec<Arc<RelayHandle>> {
        self.of_users.values().map(|relay| Arc::clone(&relay.handle)).collect()
    }

    pub(crate) fn handle_to(&self, address: &RelayAddress) -> Option<Arc<RelayHandle>> {
        let ours = self.configured.iter().find(|handle| handle.address == *address);
        ours.or_else(|| self.of_users.get(address).map(|relay| &relay.handle)).map(Arc::clone)
    }

    /// Adds one of the operator's relays; false if it is there already. If it is in use for a user, that connection
    /// stays until it is no longer needed, so there is no gap.
    pub(crate) fn add(&mut self, handle: &Arc<RelayHandle>) -> bool {
        let new = !self.is_configured(&handle.address);
        if new {
            self.configured.push(Arc::clone(handle));
        }
        new
    }

    pub(crate) fn remove(&mut self, address: &RelayAddress) -> Option<Arc<RelayHandle>> {
        let place = self.configured.iter().position(|handle| handle.address == *address)?;
        Some(self.configured.remove(place))
    }

    /// The relays in `wanted`, opened with `open` if not in use, and kept until `until`. Earlier ones take precedence.
    /// The operator's relays are excluded.
    pub(crate) fn use_for(
        &mut self,
        user: PublicKey,
        wanted: Vec<RelayAddress>,
        until: UnixMillis,
        now: UnixMillis,
        mut open: impl FnMut(RelayAddress) -> Arc<RelayHandle>,
    ) -> Used {
        let mut used = Used::default();
        let mut distinct = HashSet::new();
        let mut wanted = wanted;
        wanted.retain(|address| !self.is_configured(address) && distinct.insert(address.clone()));
        used.refused = wanted.len().saturating_sub(self.bounds.per_user) as u64;
        wanted.truncate(self.bounds.per_user);
        self.record(user, &wanted);
        for (choice, address) in wanted.into_iter().enumerate() {
            self.uses += 1;
            if let Some(relay) = self.of_users.get_mut(&address) {
                relay.until = relay.until.max(until);
                relay.last_use = self.uses;
                relay.choice = relay.choice.min(choice);
                relay.record(user);
                used.handles.push(Arc::clone(&relay.handle));
            } else if self.make_room(&address, choice, now, &mut used) {
                let handle = open(address.clone());
                let relay = UserRelay {
                    handle: Arc::clone(&handle),
                    site: address.site(),
                    network: None,
                    choice,
                    until,
                    users: HashSet::from([user]),
                    has_uncounted_users: false,
                    opened: self.uses,
                    last_use: self.uses,
                };
                self.of_users.insert(address, relay);
                used.opened.push(Arc::clone(&handle));
                used.handles.push(handle);
            } else {
                used.refused += 1;
            }
        }
        used
    }

    /// Closes users' relays on which no reply has been awaited for `grace`.
    pub(crate) fn expire(&mut self, now: UnixMillis, grace: Duration) {
        self.of_users.retain(|_, relay| {
            let needed = relay.until.plus(grace) >= now;
            if !needed {
                relay.handle.close.cancel();
            }
            needed
        });
    }

    fn is_configured(&self, address: &RelayAddress) -> bool {
        self.configured.iter().any(|handle| handle.address == *address)
    }

    /// Records that `user` uses these relays, and closes those beyond the user's limit, the oldest first.
    fn record(&mut self, user: PublicKey, wanted: &[RelayAddress]) {
        if wanted.is_empty() {
            return;
        }
        let list = self.by_user.get_or_insert_mut(user, Vec::new);
        list.retain(|address| !wanted.contains(address));
        list.extend(wanted.iter().rev().cloned());
        let too_many = list.len().saturating_sub(self.bounds.per_user);
        let dropped: Vec<_> = list.drain(..too_many).collect();
        for address in dropped {
            let unused = self.of_users.get_mut(&address).is_some_and(|relay| relay.leave(&user));
            if unused {
                self.close(&address);
            }
        }
    }

    /// Records the network address of a user's relay. False if users have too many there and none can be closed.
    pub(crate) fn settle(&mut self, address: &RelayAddress, ip: IpAddr, now: UnixMillis) -> bool {
        let network = network_of(ip);
        let there = |of: &RelayAddress, relay: &UserRelay| of != address && relay.network == Some(network);
        let others = self.of_users.iter().filter(|(of, relay)| there(of, relay)).count();
        let admitted = others < self.bounds.per_host || {
            let idle = self.least_missed(now, there);
            idle.inspect(|idle| self.close(idle)).is_some()
        };
        if let Some(relay) = self.of_users.get_mut(address) {
            relay.network = admitted.then_some(network);
        }
        admitted
    }

    /// Makes room for one more relay of a user. False if all others have priority.
    fn make_room(&mut self, address: &RelayAddress, choice: usize, now: UnixMillis, used: &mut Used) -> bool {
        let site = address.site();
        let same = |_: &RelayAddress, relay: &UserRelay| relay.site == site;
        let of_site = self.of_users.values().filter(|relay| relay.site == site).count();
        let server = |of: &RelayAddress| of.host() == address.host() && of.port() == address.port();
        if self.configured.iter().any(|handle| server(&handle.address))
            && self.of_users.keys().filter(|of| server(of)).count() >= BESIDE_OURS
        {
            return false;
        }
        if !self.connect_limits.has_one(address.url()) {
            return false;
        }
        let victim = if of_site >= self.bounds.per_host {
            // Within a site a simpler address takes precedence: anybody can make up paths on a host that honest users
            // use.
            let plainer = |(of, relay): &(&RelayAddress, &UserRelay)| {
                relay.site == site && of.url_simplicity() < address.url_simplicity()
            };
            let oldest = || self.of_users.iter().filter(plainer).min_by_key(|(_, relay)| relay.last_use);
            self.least_missed(now, same).or_else(|| oldest().map(|(of, _)| of.clone()))
        } else if self.of_users.len() < self.bounds.in_all {
            None
        } else {
            self.least_missed(now, |_, _| true).or_else(|| self.weakest_claim(of_site, choice))
        };
        if let Some(victim) = &victim {
            self.close(victim);
            used.evicted += 1;
        }
        let room = victim.is_some() || (of_site < self.bounds.per_host && self.of_users.len() < self.bounds.in_all);
        room && self.connect_limits.take(address.url()).is_ok()
    }

    /// The relay to close among `considered`: one on which no reply is awaited, else one that is down; of several, the
    /// least recently used.
    fn least_missed(
        &self,
        now: UnixMillis,
        considered: impl Fn(&RelayAddress, &UserRelay) -> bool,
    ) -> Option<RelayAddress> {
        let missed = |relay: &UserRelay| (relay.until >= now, relay.last_use);
        let unused = |relay: &UserRelay| relay.until < now || relay.handle.is_down();
        let candidates = self.of_users.iter().filter(|(address, relay)| considered(address, relay) && unused(relay));
        candidates.min_by_key(|(_, relay)| missed(relay)).map(|(address, _)| address.clone())
    }

    /// The relay that makes room for a new one, given the new relay's rank with its user and how many relays its site
    /// has.
    fn weakest_claim(&self, of_site: usize, choice: usize) -> Option<RelayAddress> {
        let count = |is_there: &dyn Fn(&&UserRelay) -> bool| self.of_users.values().filter(is_there).count();
        let share = |relay: &UserRelay| {
            let of_network = count(&|other| relay.network.is_some() && other.network == relay.network);
            count(&|other| other.site == relay.site).max(of_network)
        };
        // One host may have half of its limit without being displaced.
        let fair = (of_site + 1).max(self.bounds.per_host / 2);
        let weaker = |relay: &&UserRelay| share(relay) > fair || relay.choice > choice;
        // Within one host the least simple address, then the newest: it may be generated to displace an older one.
        let claim = |relay: &&UserRelay| {
            (share(relay), relay.choice, Reverse(relay.handle.address.url_simplicity()), relay.opened)
        };
        let weakest = self.of_users.values().filter(weaker).max_by_key(claim);
        weakest.map(|relay| relay.handle.address.clone())
    }

    fn close(&mut self, address: &RelayAddress) {
        if let Some(relay) = self.of_users.remove(address) {
            relay.handle.close.cancel();
        }
    }
}

impl UserRelay {
    fn record(&mut self, user: PublicKey) {
        if self.users.len() < USERS_OF_A_RELAY {
            self.users.insert(user);
        } else if !self.users.contains(&user) {
            self.has_uncounted_users = true;
        }
    }

    /// Records that `user` has left this relay; true if it has no users left.
    fn leave(&mut self, user: &PublicKey) -> bool {
        self.users.remove(user);
        self.users.is_empty() && !self.has_uncounted_users
    }
}

#[cfg(test)]
mod tests;
