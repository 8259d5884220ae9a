//! Unused logins: begun by browsers, for OpenID Connect or at a reusable login, and nobody has named a key yet. There
//! is a table for each of the two.
//!
//! Anybody can begin one, so their number is bounded: the one whose page was seen least recently makes room. One whose
//! page waits over an open connection, or was seen a moment ago, never does, so a flood does not end the login of a
//! user who is there. Each network has a share of the room ([`NetworkQuotas`]), and makes room among its own logins
//! first.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::network_quotas::NetworkQuotas;
use crate::ports::Clock;
use crate::{ClientNetwork, StreamId};

/// Most of them at reusable logins, with the default of `limits.max_open_streams`.
const MAX_LOGINS: usize = 20_000;

/// Most of them for OpenID Connect: the provider has 16 MiB for its requests, of which each takes 8.2 kB at most.
const MAX_OF_CLIENTS: usize = 2_000;

/// How many of the operations that may be open they may be: one in so many.
const SHARE: usize = 4;

/// How long a login makes no room after its page was last seen: a page without JavaScript reloads every 5 s, but a
/// phone may show the wallet meanwhile.
const GRACE: Duration = Duration::from_secs(90);

/// When those for whom there is no room may try again, at the earliest and at the latest.
const SOONEST: Duration = Duration::from_secs(2);
const LATEST: Duration = Duration::from_secs(30);

/// The unused logins: about 150 bytes each. Of those of before a restart it is not known who has begun them.
#[derive(Clone)]
pub(crate) struct UnusedLogins(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
}

/// Another login cannot begin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many logins are open, or were begun at this address")]
pub struct NoRoom {
    /// Whether others may: this network has begun too many.
    pub is_of_network: bool,
    /// When to try again.
    pub retry_after: Duration,
}

struct Table {
    most: usize,
    quotas: NetworkQuotas,
    seen: u64,
    unused: HashMap<StreamId, Unused>,
    /// Those that no page waits for, the one that was seen least recently first.
    idle: BTreeMap<u64, StreamId>,
}

struct Unused {
    seen: u64,
    seen_at: Duration,
    opened: bool,
    network: Option<ClientNetwork>,
    watchers: usize,
}

/// A page waits for a login: it makes no room for others until this is dropped.
pub(crate) struct LoginWatch {
    logins: UnusedLogins,
    id: StreamId,
}

impl UnusedLogins {
    /// Logins at reusable logins. `max_open` is the number of operations that may be open.
    pub(crate) fn at_reusable(max_open: usize, clock: Arc<dyn Clock>) -> Self {
        Self::with_most(MAX_LOGINS.min(max_open / SHARE).max(1), clock)
    }

    /// Logins of other protocols.
    pub(crate) fn of_clients(max_open: usize, clock: Arc<dyn Clock>) -> Self {
        Self::with_most(MAX_OF_CLIENTS.min(max_open / SHARE).max(1), clock)
    }

    fn with_most(most: usize, clock: Arc<dyn Clock>) -> Self {
        let (unused, idle) = (HashMap::new(), BTreeMap::new());
        let table = Table { most, quotas: NetworkQuotas::new(most), seen: 0, unused, idle };
        Self(Arc::new(Inner { clock, table: Mutex::new(table) }))
    }

    pub(crate) fn make_room(&self, network: ClientNetwork) -> Result<Vec<StreamId>, NoRoom> {
        let now = self.0.clock.monotonic();
        let mut table = self.0.table.lock();
        let no_room = |is_of_network: bool, wait: Duration| {
            let retry_after = Duration::from_secs(wait.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX));
            NoRoom { is_of_network, retry_after: retry_after.clamp(SOONEST, LATEST) }
        };
        table.quotas.begin(network, now).map_err(|wait| no_room(true, wait))?;
        let chosen = table.choose(network, now);
        if chosen.is_err() {
            table.quotas.give_back(network);
        }
        chosen.map_err(|(is_of_network, wait)| no_room(is_of_network, wait))
    }

    pub(crate) fn add(&self, id: StreamId) {
        let seen_at = self.0.clock.monotonic();
        let mut table = self.0.table.lock();
        let seen = table.next();
        table.unused.insert(id, Unused { seen, seen_at, opened: false, network: None, watchers: 0 });
        table.idle.insert(seen, id);
    }

    pub(crate) fn begun_by(&self, id: StreamId, network: ClientNetwork) {
        let mut table = self.0.table.lock();
        let Table { unused, quotas, .. } = &mut *table;
        if let Some(unused) = unused.get_mut(&id).filter(|unused| unused.network.is_none()) {
            unused.network = Some(network);
            quotas.add(network);
            quotas.change_idle(network, unused.seen, Some(unused.seen).filter(|_| unused.watchers == 0));
        }
    }

    pub(crate) fn has(&self, id: StreamId) -> bool {
        self.0.table.lock().unused.contains_key(&id)
    }

    /// Whether this login is one of them, no page waits for it, and none was seen a moment ago.
    pub(crate) fn is_idle(&self, id: StreamId) -> bool {
        let now = self.0.clock.monotonic();
        let is_idle =
            |unused: &Unused| unused.watchers == 0 && !(unused.opened && now.saturating_sub(unused.seen_at) < GRACE);
        self.0.table.lock().unused.get(&id).is_some_and(is_idle)
    }

    pub(crate) fn seen(&self, id: StreamId) {
        self.change(id, |unused| unused.opened = true);
    }

    pub(crate) fn watch(&self, id: StreamId) -> LoginWatch {
        self.change(id, |unused| {
            unused.opened = true;
            unused.watchers += 1;
        });
        LoginWatch { logins: self.clone(), id }
    }

    fn change(&self, id: StreamId, change: impl FnOnce(&mut Unused)) {
        let now = self.0.clock.monotonic();
        self.0.table.lock().change(id, now, change);
    }

    /// Somebody has named a key in this login, or it has ended. Returns whether it was one of them.
    pub(crate) fn remove(&self, id: StreamId) -> bool {
        self.0.table.lock().remove(id)
    }
}

impl Table {
    fn next(&mut self) -> u64 {
        self.seen += 1;
        self.seen
    }

    /// Which logins must end so that this network may begin another; otherwise whether others may, and when there may be room.
    fn choose(&mut self, network: ClientNetwork, now: Duration) -> Result<Vec<StreamId>, (bool, Duration)> {
        let mut chosen = Vec::new();
        if self.quotas.is_full(network) {
            let oldest = self.quotas.oldest_idle(network);
            chosen.push(self.end_idle(oldest, now).map_err(|wait| (true, wait))?);
        }
        while self.unused.len() >= self.most {
            let oldest = self.idle.first_key_value().map(|(seen, _)| *seen);
            match self.end_idle(oldest, now) {
                Ok(id) => chosen.push(id),
                Err(wait) if chosen.is_empty() => return Err((false, wait)),
                Err(_) => break,
            }
        }
        Ok(chosen)
    }

    /// Removes a login that makes room, if it was not seen a moment ago; otherwise says when it will do so.
    fn end_idle(&mut self, seen: Option<u64>, now: Duration) -> Result<StreamId, Duration> {
        let id = seen.and_then(|seen| self.idle.get(&seen)).copied().ok_or(GRACE)?;
        let seen_at = self.unused.get(&id).map_or(now, |unused| unused.seen_at);
        match GRACE.checked_sub(now.saturating_sub(seen_at)) {
            None | Some(Duration::ZERO) => {
                self.remove(id);
                Ok(id)
            }
            Some(wait) => Err(wait),
        }
    }

    fn change(&mut self, id: StreamId, now: Duration, change: impl FnOnce(&mut Unused)) {
        let seen = self.next();
        let Some(unused) = self.unused.get_mut(&id) else { return };
        let before = std::mem::replace(&mut unused.seen, seen);
        self.idle.remove(&before);
        unused.seen_at = now;
        change(unused);
        let idle = (unused.watchers == 0).then_some(seen);
        if let Some(seen) = idle {
            self.idle.insert(seen, id);
        }
        if let Some(network) = unused.network {
            self.quotas.change_idle(network, before, idle);
        }
    }

    fn remove(&mut self, id: StreamId) -> bool {
        let removed = self.unused.remove(&id);
        if let Some(unused) = &removed {
            self.idle.remove(&unused.seen);
            if let Some(network) = unused.network {
                self.quotas.remove(network, unused.seen);
            }
        }
        removed.is_some()
    }
}

impl Drop for LoginWatch {
    fn drop(&mut self) {
        self.logins.change(self.id, |unused| unused.watchers = unused.watchers.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests;
