//! Logins that browsers have begun, for OpenID Connect or at a reusable login, and in which nobody has named a key yet. There is
//! a table for each of the two.
//!
//! Anybody can begin one, so their number is bounded: when there are as many as there may be, the one whose page was seen
//! least recently makes room. One whose page waits over an open connection never does, so a flood of requests does not end
//! the login of a user who has its page open.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{StreamId, UnixMillis};

/// Most of them, with the default of `limits.max_open_streams`.
const MOST: usize = 20_000;

/// How many of the operations that may be open they may be: one in so many.
const SHARE: usize = 4;

/// How many logins that ended without an event are remembered for their removal, in times the most that are open.
const MOST_ENDED: usize = 8;

/// The unused logins: about 100 bytes each. Those of before a restart are not known any more: they expire by themselves.
#[derive(Clone)]
pub(super) struct BrowserLogins(Arc<Mutex<Table>>);

struct Table {
    most: usize,
    /// Counts what was seen.
    seen: u64,
    unused: HashMap<StreamId, Unused>,
    /// Those that no page waits for, the one that was seen least recently first.
    idle: BTreeMap<u64, StreamId>,
    /// Those that have ended without an event, the one that ended first first.
    ended: VecDeque<(UnixMillis, StreamId)>,
}

struct Unused {
    seen: u64,
    /// How many pages wait for it.
    watchers: usize,
}

/// A page waits for a login: it makes no room for others until this is dropped.
pub struct LoginWatch {
    logins: BrowserLogins,
    id: StreamId,
}

impl BrowserLogins {
    /// `max_open` is the number of operations that may be open.
    pub(super) fn new(max_open: usize) -> Self {
        Self::with_most(MOST.min(max_open / SHARE).max(1))
    }

    fn with_most(most: usize) -> Self {
        let (unused, idle, ended) = (HashMap::new(), BTreeMap::new(), VecDeque::new());
        Self(Arc::new(Mutex::new(Table { most, seen: 0, unused, idle, ended })))
    }

    /// Which logins must end so that another may begin; `None` when pages wait for all of them.
    pub(super) fn make_room(&self) -> Option<Vec<StreamId>> {
        let mut table = self.0.lock();
        let mut chosen = Vec::new();
        while table.unused.len() >= table.most {
            match table.idle.pop_first() {
                Some((_, id)) => {
                    table.unused.remove(&id);
                    chosen.push(id);
                }
                None if chosen.is_empty() => return None,
                None => break,
            }
        }
        Some(chosen)
    }

    /// A login has begun.
    pub(super) fn add(&self, id: StreamId) {
        let mut table = self.0.lock();
        let seen = table.next();
        table.unused.insert(id, Unused { seen, watchers: 0 });
        table.idle.insert(seen, id);
    }

    /// Whether this login is one of them.
    pub(super) fn has(&self, id: StreamId) -> bool {
        self.0.lock().unused.contains_key(&id)
    }

    /// The page of a login was opened.
    pub(super) fn seen(&self, id: StreamId) {
        let mut table = self.0.lock();
        table.change(id, |_| {});
    }

    /// The page of a login waits for it.
    pub(super) fn watch(&self, id: StreamId) -> LoginWatch {
        self.0.lock().change(id, |unused| unused.watchers += 1);
        LoginWatch { logins: self.clone(), id }
    }

    /// Somebody has named a key in this login, or it has ended.
    pub(super) fn remove(&self, id: StreamId) {
        self.0.lock().remove(id);
    }

    /// This login has ended, and nobody has named a key.
    pub(super) fn end(&self, id: StreamId, now: UnixMillis) {
        // One that has made room is removed at once by who chose it.
        let was_open = self.0.lock().remove(id);
        if was_open {
            self.remember_ended(id, now);
        }
    }

    /// This login has ended and has no events.
    pub(super) fn remember_ended(&self, id: StreamId, now: UnixMillis) {
        let mut table = self.0.lock();
        table.ended.push_back((now, id));
        if table.ended.len() > table.most.saturating_mul(MOST_ENDED) {
            // It stays for as long as all operations do.
            table.ended.pop_front();
        }
    }

    /// Takes up to `limit` logins that ended before this time.
    pub(super) fn take_ended(&self, before: UnixMillis, limit: usize) -> Vec<StreamId> {
        let ended = &mut self.0.lock().ended;
        let old = ended.iter().take_while(|(at, _)| *at < before).take(limit).count();
        ended.drain(..old).map(|(_, id)| id).collect()
    }
}

impl Table {
    fn next(&mut self) -> u64 {
        self.seen += 1;
        self.seen
    }

    /// Changes a login that was just seen.
    fn change(&mut self, id: StreamId, change: impl FnOnce(&mut Unused)) {
        let seen = self.next();
        let Some(unused) = self.unused.get_mut(&id) else { return };
        self.idle.remove(&unused.seen);
        unused.seen = seen;
        change(unused);
        if unused.watchers == 0 {
            self.idle.insert(seen, id);
        }
    }

    fn remove(&mut self, id: StreamId) -> bool {
        let removed = self.unused.remove(&id);
        if let Some(unused) = &removed {
            self.idle.remove(&unused.seen);
        }
        removed.is_some()
    }
}

impl Drop for LoginWatch {
    fn drop(&mut self) {
        self.logins.0.lock().change(self.id, |unused| unused.watchers = unused.watchers.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> StreamId {
        StreamId::from_parts(n, [0; 10])
    }

    fn full(most: u64) -> BrowserLogins {
        let logins = BrowserLogins::with_most(usize::try_from(most).unwrap());
        for n in 1..=most {
            assert_eq!(logins.make_room(), Some(Vec::new()));
            logins.add(id(n));
        }
        logins
    }

    #[test]
    fn least_recently_seen_login_makes_room() {
        let logins = full(3);
        logins.seen(id(1));
        assert_eq!(logins.make_room(), Some(vec![id(2)]));
        logins.add(id(4));
        assert_eq!(logins.make_room(), Some(vec![id(3)]));
        logins.add(id(5));
        assert_eq!(logins.make_room(), Some(vec![id(1)]));
    }

    #[test]
    fn login_whose_page_waits_never_makes_room() {
        let logins = full(3);
        let (first, again) = (logins.watch(id(1)), logins.watch(id(1)));
        for n in 4..1_000 {
            let chosen = logins.make_room().unwrap();
            assert!(chosen.len() == 1 && !chosen.contains(&id(1)), "{chosen:?}");
            logins.add(id(n));
        }
        drop(first);
        assert!(!logins.make_room().unwrap().contains(&id(1)), "another page still waits");
        logins.add(id(1_000));
        drop(again);
        // From now on it is the one that was seen last.
        assert_eq!(logins.make_room(), Some(vec![id(999)]));
        assert_eq!(logins.make_room(), Some(Vec::new()));
        logins.add(id(1_001));
        assert_eq!(logins.make_room(), Some(vec![id(1_000)]));
        logins.add(id(1_002));
        assert_eq!(logins.make_room(), Some(vec![id(1)]));
    }

    #[test]
    fn nobody_makes_room_when_all_pages_wait() {
        let logins = full(2);
        let watches = [logins.watch(id(1)), logins.watch(id(2))];
        assert_eq!(logins.make_room(), None);
        logins.remove(id(2));
        assert_eq!(logins.make_room(), Some(Vec::new()), "somebody has named a key there");
        drop(watches);
    }

    #[test]
    fn logins_that_ended_unused_are_remembered_until_they_are_removed() {
        let logins = full(3);
        logins.remove(id(1));
        logins.end(id(1), UnixMillis(5));
        logins.end(id(2), UnixMillis(10));
        logins.end(id(3), UnixMillis(20));
        assert_eq!(logins.take_ended(UnixMillis(10), 9), []);
        assert_eq!(logins.take_ended(UnixMillis(21), 1), [id(2)], "somebody has named a key in the first");
        assert_eq!(logins.take_ended(UnixMillis(21), 9), [id(3)]);
        for n in 1..100 {
            logins.add(id(n));
            logins.end(id(n), UnixMillis(n));
        }
        assert_eq!(logins.take_ended(UnixMillis(1_000), 1_000).len(), 3 * MOST_ENDED);
        assert_eq!(logins.make_room(), Some(Vec::new()));
    }

    #[test]
    fn they_leave_room_for_other_operations() {
        for (max_open, most) in [(1, 1), (8, 2), (1_000_000, MOST)] {
            let logins = BrowserLogins::new(max_open);
            for n in 0..most as u64 {
                assert_eq!(logins.make_room(), Some(Vec::new()), "{max_open}");
                logins.add(id(n));
            }
            assert_eq!(logins.make_room(), Some(vec![id(0)]), "{max_open}");
        }
    }
}
