//! Which relays are in use: the operator's, and users' for as long as they are needed.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use lru::LruCache;
use usher_engine::UnixMillis;
use usher_protocol::PublicKey;

use crate::RelayAddress;
use crate::link::Link;

/// Users whose relays are counted. Those of a user who is forgotten stay until no answer is awaited.
const USERS: usize = 8192;

/// Users of one relay who are counted. A relay with more is everybody's and not closed for one user's sake.
const USERS_OF_A_RELAY: usize = 256;

/// The relays in use.
pub(crate) struct Directory {
    configured: Vec<Arc<Link>>,
    of_users: HashMap<RelayAddress, UserRelay>,
    /// The relays of each user, the one used last at the end.
    by_user: LruCache<PublicKey, Vec<RelayAddress>>,
    per_user: usize,
    in_all: usize,
    uses: u64,
}

struct UserRelay {
    link: Arc<Link>,
    until: UnixMillis,
    users: HashSet<PublicKey>,
    crowded: bool,
    last_use: u64,
}

/// The outcome of [`Directory::use_for`].
#[derive(Default)]
pub(crate) struct Used {
    /// The user's relays to send to, beside the configured ones.
    pub(crate) links: Vec<Arc<Link>>,
    /// Those of them that are new: a task has to be started for each.
    pub(crate) opened: Vec<Arc<Link>>,
    /// Relays of other users closed to make room.
    pub(crate) evicted: u64,
    /// Relays not used: too many.
    pub(crate) refused: u64,
}

impl Directory {
    pub(crate) fn new(per_user: usize, in_all: usize) -> Self {
        let mut by_user = LruCache::unbounded(); // `new` would allocate for the whole capacity at once
        by_user.resize(NonZeroUsize::new(USERS).unwrap_or(NonZeroUsize::MIN));
        Self { configured: Vec::new(), of_users: HashMap::new(), by_user, per_user, in_all, uses: 0 }
    }

    /// The operator's relays, in their order.
    pub(crate) fn configured(&self) -> Vec<Arc<Link>> {
        self.configured.clone()
    }

    /// Users' relays.
    pub(crate) fn of_users(&self) -> Vec<Arc<Link>> {
        self.of_users.values().map(|relay| Arc::clone(&relay.link)).collect()
    }

    /// The relay with this address, whoever wants it.
    pub(crate) fn link_to(&self, address: &RelayAddress) -> Option<Arc<Link>> {
        let ours = self.configured.iter().find(|link| link.address == *address);
        ours.or_else(|| self.of_users.get(address).map(|relay| &relay.link)).map(Arc::clone)
    }

    /// Adds a relay of the operator's; false when it is there. Were it in use for a user, that connection lives on
    /// beside the new one until it is not needed: no gap.
    pub(crate) fn add(&mut self, link: &Arc<Link>) -> bool {
        let new = !self.is_configured(&link.address);
        if new {
            self.configured.push(Arc::clone(link));
        }
        new
    }

    /// Takes a relay of the operator's out and returns it.
    pub(crate) fn remove(&mut self, address: &RelayAddress) -> Option<Arc<Link>> {
        let place = self.configured.iter().position(|link| link.address == *address)?;
        Some(self.configured.remove(place))
    }

    /// The relays of `user` among `wanted`, opened by `open` when they are not in use yet, and kept until `until`.
    /// The first ones count more than the last. The operator's own relays are not among them.
    pub(crate) fn use_for(
        &mut self,
        user: PublicKey,
        wanted: Vec<RelayAddress>,
        until: UnixMillis,
        now: UnixMillis,
        mut open: impl FnMut(RelayAddress) -> Arc<Link>,
    ) -> Used {
        let mut used = Used::default();
        let mut distinct = HashSet::new();
        let mut wanted = wanted;
        wanted.retain(|address| !self.is_configured(address) && distinct.insert(address.clone()));
        used.refused = wanted.len().saturating_sub(self.per_user) as u64;
        wanted.truncate(self.per_user);
        self.note(user, &wanted);
        for address in wanted {
            self.uses += 1;
            if let Some(relay) = self.of_users.get_mut(&address) {
                relay.until = relay.until.max(until);
                relay.last_use = self.uses;
                relay.note(user);
                used.links.push(Arc::clone(&relay.link));
            } else if self.of_users.len() < self.in_all || self.evict(now, &mut used) {
                let link = open(address.clone());
                let users = HashSet::from([user]);
                let relay = UserRelay { link: Arc::clone(&link), until, users, crowded: false, last_use: self.uses };
                self.of_users.insert(address, relay);
                used.opened.push(Arc::clone(&link));
                used.links.push(link);
            } else {
                used.refused += 1;
            }
        }
        used
    }

    /// Closes users' relays on which no answer has been awaited for `grace`.
    pub(crate) fn expire(&mut self, now: UnixMillis, grace: Duration) {
        self.of_users.retain(|_, relay| {
            let needed = relay.until.plus(grace) >= now;
            if !needed {
                relay.link.close.cancel();
            }
            needed
        });
    }

    fn is_configured(&self, address: &RelayAddress) -> bool {
        self.configured.iter().any(|link| link.address == *address)
    }

    /// Notes that `user` uses these relays now, and closes what is too many for one user, the oldest first.
    fn note(&mut self, user: PublicKey, wanted: &[RelayAddress]) {
        if wanted.is_empty() {
            return;
        }
        let list = self.by_user.get_or_insert_mut(user, Vec::new);
        list.retain(|address| !wanted.contains(address));
        list.extend(wanted.iter().rev().cloned());
        let too_many = list.len().saturating_sub(self.per_user);
        let dropped: Vec<_> = list.drain(..too_many).collect();
        for address in dropped {
            let unused = self.of_users.get_mut(&address).is_some_and(|relay| relay.leave(&user));
            if unused {
                self.close(&address);
            }
        }
    }

    /// Closes the user relay that is missed least: one no longer needed, else one that is down anyway, else the one
    /// used longest ago. False when there is none.
    fn evict(&mut self, now: UnixMillis, used: &mut Used) -> bool {
        let missed = |relay: &UserRelay| (relay.until >= now, !relay.link.is_down(), relay.last_use);
        let least = self.of_users.iter().min_by_key(|(_, relay)| missed(relay)).map(|(address, _)| address.clone());
        let Some(address) = least else { return false };
        self.close(&address);
        used.evicted += 1;
        true
    }

    fn close(&mut self, address: &RelayAddress) {
        if let Some(relay) = self.of_users.remove(address) {
            relay.link.close.cancel();
        }
    }
}

impl UserRelay {
    fn note(&mut self, user: PublicKey) {
        if self.users.len() < USERS_OF_A_RELAY {
            self.users.insert(user);
        } else if !self.users.contains(&user) {
            self.crowded = true;
        }
    }

    /// `user` has others now; true when nobody uses this one any more.
    fn leave(&mut self, user: &PublicKey) -> bool {
        self.users.remove(user);
        self.users.is_empty() && !self.crowded
    }
}

#[cfg(test)]
mod tests;
