//! Unused logins: begun by browsers, for OpenID Connect, by operators, or at a reusable login, and nobody has named a key yet. There
//! is a table for each of the three.
//!
//! Anybody can begin one, so their number is bounded. When a table is full, a network that holds fewer displaces the oldest of the
//! one that holds the most. Within a network, one whose page is open, or was seen a moment ago, makes room for no other one, for
//! some minutes: so a flood does not end the login of a user who is there, and nobody keeps all places by keeping pages open.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use usher_places::{Full, Holder, Limits, Places, Protection, WhenFull};

use super::begin_rates::BeginRates;
use crate::ports::Clock;
use crate::{ClientNetwork, StreamId};

/// Most of them at reusable logins, with the default of `limits.max_open_streams`.
const MAX_LOGINS: usize = 20_000;

/// Most of them for OpenID Connect.
const MAX_OF_CLIENTS: usize = 2_000;

/// Most of them of operators, who are few.
const MAX_OF_OPERATORS: usize = 500;

/// How many of the operations that may be open they may be: one in so many.
const SHARE: usize = 4;

/// What those of one network may be: one in so many.
const NETWORK_SHARE: usize = 8;

const PROTECTION: Protection = Protection {
    // A page without JavaScript reloads every 5 s, but a phone may show the wallet meanwhile.
    after_seen: Duration::from_secs(90),
    longest: Duration::from_secs(300),
};

/// When those for whom there is no room may try again, at the earliest and at the latest.
const SOONEST: Duration = Duration::from_secs(2);
const LATEST: Duration = Duration::from_secs(30);

/// The unused logins.
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
    rates: BeginRates,
    places: Places<StreamId, IsOpened>,
}

/// Whether the page was ever seen.
type IsOpened = bool;

/// A page waits for a login until this is dropped.
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

    /// Logins of operators: what happens to those of users does not keep operators out.
    pub(crate) fn of_operators(max_open: usize, clock: Arc<dyn Clock>) -> Self {
        Self::with_most(MAX_OF_OPERATORS.min(max_open / SHARE).max(1), clock)
    }

    fn with_most(most: usize, clock: Arc<dyn Clock>) -> Self {
        let places = Places::new(Limits {
            total: most,
            share: most / NETWORK_SHARE,
            reserved: 0,
            when_full: WhenFull::FewerDisplace,
            protection: PROTECTION,
        });
        Self(Arc::new(Inner { clock, table: Mutex::new(Table { rates: BeginRates::new(), places }) }))
    }

    /// A browser of this network begins a login, which is committed next. Returns the logins that must end for it.
    pub(crate) fn begin(&self, id: StreamId, network: ClientNetwork) -> Result<Vec<StreamId>, NoRoom> {
        let now = self.0.clock.monotonic();
        let mut table = self.0.table.lock();
        let no_room = |is_of_network: bool, wait: Duration| {
            let retry_after = Duration::from_secs(wait.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX));
            NoRoom { is_of_network, retry_after: retry_after.clamp(SOONEST, LATEST) }
        };
        table.rates.begin(network, now).map_err(|wait| no_room(true, wait))?;
        match table.places.take(id, &network.into(), false, now) {
            Ok(displaced) => Ok(displaced.into_iter().map(|(id, _)| id).collect()),
            Err(Full { is_of_holder, retry_after }) => {
                table.rates.give_back(network);
                Err(no_room(is_of_holder, retry_after.unwrap_or(LATEST)))
            }
        }
    }

    /// A login is there, also if it was not begun here: of those of before a restart it is not known who has begun them.
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

    /// Whether this login is one of them, and no page waits for it or was seen a moment ago: none that is protected.
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

    /// Somebody has named a key in this login, or it has ended. Returns whether it was one of them.
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
