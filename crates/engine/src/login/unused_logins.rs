//! Unused logins, in which no key was named yet. There are three tables: for OpenID Connect, for operators, and for
//! reusable logins.
//!
//! Anybody can begin one, so their number is limited. When a table is full, a network that holds fewer displaces the
//! oldest login of the network that holds the most. Within a network, a login whose page is open or was just seen is
//! not displaced for some minutes. So a flood does not end the login of an active user, and open pages cannot keep all
//! places.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use usher_places::{Full, Holder, Limit, Places};
use usher_token_bucket::Rate;

use crate::kernel::network_rates::NetworkRates;
use crate::ports::Clock;
use crate::{ClientNetwork, StreamId};

/// Logins that one network may begin: a hundred people who are shown a code at once are all admitted after 8 s.
const RATE: Rate = Rate::every(60, Duration::from_millis(200));

/// The earliest and latest time for a retry after a refusal.
const SOONEST: Duration = Duration::from_secs(2);
const LATEST: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct UnusedLogins(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    table: Mutex<Table>,
}

/// There is no room for another login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many logins are open, or were begun at this address")]
pub struct NoRoom {
    /// Whether only this network has reached its limit.
    pub is_of_network: bool,
    /// When to try again.
    pub retry_after: Duration,
}

struct Table {
    rates: NetworkRates,
    places: Places<StreamId, IsOpened>,
}

/// Whether the page was ever seen.
type IsOpened = bool;

/// Held while a page waits for a login.
pub(crate) struct LoginWatch {
    logins: UnusedLogins,
    id: StreamId,
}

impl UnusedLogins {
    /// `max_open` is the most operations that may be open.
    pub(crate) fn new(limit: &Limit, max_open: usize, clock: Arc<dyn Clock>) -> Self {
        let (rates, places) = (NetworkRates::new(RATE), Places::new(limit.of(max_open)));
        Self(Arc::new(Inner { clock, table: Mutex::new(Table { rates, places }) }))
    }

    /// Adds a login of this network, which is committed next. Returns the logins to end for it.
    pub(crate) fn begin(&self, id: StreamId, network: ClientNetwork) -> Result<Vec<StreamId>, NoRoom> {
        let now = self.0.clock.monotonic();
        let mut table = self.0.table.lock();
        let no_room = |is_of_network: bool, wait: Duration| {
            let retry_after = Duration::from_secs(wait.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX));
            NoRoom { is_of_network, retry_after: retry_after.clamp(SOONEST, LATEST) }
        };
        table.rates.take(network, now).map_err(|wait| no_room(true, wait))?;
        match table.places.take(id, &network.into(), false, now) {
            Ok(displaced) => Ok(displaced.into_iter().map(|(id, _)| id).collect()),
            Err(Full { is_of_holder, retry_after }) => {
                table.rates.give_back(network, now);
                Err(no_room(is_of_holder, retry_after.unwrap_or(LATEST)))
            }
        }
    }

    /// Adds an existing login; after a restart its network is unknown.
    pub(crate) fn add(&self, id: StreamId) {
        let now = self.0.clock.monotonic();
        let mut table = self.0.table.lock();
        if table.places.get(&id).is_none() {
            table.places.add(id, Holder::crowd("unknown"), false, now);
        }
    }

    pub(crate) fn has(&self, id: StreamId) -> bool {
        self.0.table.lock().places.get(&id).is_some()
    }

    pub(crate) fn is_idle(&self, id: StreamId) -> bool {
        let now = self.0.clock.monotonic();
        let table = self.0.table.lock();
        table.places.get(&id).is_some_and(|is_opened| !(*is_opened && table.places.is_protected(&id, now)))
    }

    pub(crate) fn seen(&self, id: StreamId) {
        self.change(id, Places::seen);
    }

    pub(crate) fn watch(&self, id: StreamId) -> LoginWatch {
        self.change(id, Places::open);
        LoginWatch { logins: self.clone(), id }
    }

    fn change(&self, id: StreamId, change: impl FnOnce(&mut Places<StreamId, IsOpened>, &StreamId, Duration)) {
        let now = self.0.clock.monotonic();
        let mut table = self.0.table.lock();
        if let Some(is_opened) = table.places.get_mut(&id) {
            *is_opened = true;
        }
        change(&mut table.places, &id, now);
    }

    /// Removes a login in which a key was named, or that has ended. Returns whether it was listed.
    pub(crate) fn remove(&self, id: StreamId) -> bool {
        self.0.table.lock().places.free(&id).is_some()
    }
}

impl Drop for LoginWatch {
    fn drop(&mut self) {
        self.logins.change(self.id, Places::close);
    }
}

#[cfg(test)]
mod tests;
