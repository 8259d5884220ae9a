//! Unused logins: begun by browsers, for OpenID Connect, by operators, or at a reusable login, and nobody has named a key yet. There
//! is a table for each of the three.
//!
//! Anybody can begin one, so their number is bounded. When a table is full, a network that holds fewer displaces the oldest of the
//! one that holds the most. Within a network, one whose page is open, or was seen a moment ago, makes room for no other one, for
//! some minutes: so a flood does not end the login of a user who is there, and nobody keeps all places by keeping pages open.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use usher_places::{Full, Holder, Limit, Places};
use usher_token_bucket::Rate;

use crate::kernel::network_rates::NetworkRates;
use crate::ports::Clock;
use crate::{ClientNetwork, StreamId};

/// Logins that one network may begin: a hundred people who are shown a code in the same minute are all in after 8 s.
const RATE: Rate = Rate::every(60, Duration::from_millis(200));

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
    rates: NetworkRates,
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
    /// `max_open` is the number of operations that may be open.
    pub(crate) fn new(limit: &Limit, max_open: usize, clock: Arc<dyn Clock>) -> Self {
        let (rates, places) = (NetworkRates::new(RATE), Places::new(limit.of(max_open)));
        Self(Arc::new(Inner { clock, table: Mutex::new(Table { rates, places }) }))
    }

    /// A browser of this network begins a login, which is committed next. Returns the logins that must end for it.
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
