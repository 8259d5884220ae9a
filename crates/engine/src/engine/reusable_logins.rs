//! The logins at reusable logins: which are open, and how many may be.
//!
//! Anybody can begin one, in a browser or with a wallet. Those in which nobody has named a key yet make room for each other
//! ([`BrowserLogins`]), apart from those of other protocols: a flood of the one kind ends none of the other. Keys cost nothing
//! either, so those in which somebody has named one are bounded, too: beyond that, scans wait.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::warn;
use usher_protocol::PublicKey;

use super::browser_logins::BrowserLogins;
use crate::operations::Login;
use crate::ports::Clock;
use crate::{StreamId, UnixMillis};

/// How many of the operations that may be open may be logins in which somebody has named a key: one in so many.
const SHARE: usize = 4;

/// A warning of scans that wait is written at most this often.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// The open logins at reusable logins.
#[derive(Clone)]
pub(super) struct ReusableLogins(Arc<Inner>);

struct Inner {
    /// Those in which nobody has named a key.
    unused: BrowserLogins,
    open: Mutex<Open>,
    /// Most in which somebody has.
    most: usize,
    waits: Mutex<Waits>,
}

/// All that are open: about 180 bytes each.
#[derive(Default)]
struct Open {
    /// By the stream of their reusable login and their own.
    logins: BTreeMap<(StreamId, StreamId), Entry>,
    /// The reusable login of each.
    reusable: HashMap<StreamId, StreamId>,
    /// The stream of the reusable login, the key that is asked there, and the login's own stream.
    by_user: BTreeSet<(StreamId, [u8; 32], StreamId)>,
    /// Those of commits that are under way, and in how many of them.
    starting: BTreeMap<(StreamId, [u8; 32], StreamId), usize>,
    /// In how many somebody has.
    used: usize,
}

/// Logins in which a user is asked once a commit is in the store: known until this is dropped, when the commit is applied or
/// has failed.
pub(super) struct Starting {
    logins: ReusableLogins,
    users: Vec<(StreamId, [u8; 32], StreamId)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Entry {
    /// Somebody has named a key.
    is_used: bool,
    /// The key whose wallet is asked.
    asked: Option<[u8; 32]>,
}

/// Scans that had to wait since the last warning.
#[derive(Default)]
struct Waits {
    count: u64,
    warned_at: UnixMillis,
}

impl ReusableLogins {
    /// `max_open` is the number of operations that may be open.
    pub(super) fn new(max_open: usize, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            unused: BrowserLogins::new(max_open, clock),
            open: Mutex::default(),
            most: (max_open / SHARE).max(1),
            waits: Mutex::default(),
        }))
    }

    /// Those in which nobody has named a key.
    pub(super) fn unused(&self) -> &BrowserLogins {
        &self.0.unused
    }

    /// Whether another user may name their key, beside so many whose logins are about to start.
    pub(super) fn has_room_for(&self, starting: usize) -> bool {
        self.0.open.lock().used.saturating_add(starting) < self.0.most
    }

    /// The reusable login that a login is at, if nobody has named a key there yet.
    pub(super) fn unused_at(&self, id: StreamId) -> Option<StreamId> {
        if self.0.unused.has(id) { self.0.open.lock().reusable.get(&id).copied() } else { None }
    }

    /// A scan waits because there is no room.
    pub(super) fn scan_waits(&self, now: UnixMillis) {
        let mut waits = self.0.waits.lock();
        waits.count += 1;
        if now.since(waits.warned_at) >= WARN_EVERY {
            warn!(
                waiting = waits.count,
                "too many logins at reusable URLs are open: scans wait until some have ended. A flood ends with DELETE \
                 /key-handshake/{{stream_id}} of its URL; for more users at once, raise limits.max_open_streams"
            );
            *waits = Waits { count: 0, warned_at: now };
        }
    }

    /// A login at the reusable login `reusable` is open, after a step.
    pub(super) fn stepped(&self, id: StreamId, reusable: StreamId, login: &Login, is_new: bool) {
        let is_used = !login.is_unused();
        if is_used {
            self.0.unused.remove(id);
        } else if is_new {
            self.0.unused.add(id);
        }
        let asked = login.asked_key().map(|key| key.to_bytes());
        self.0.open.lock().set((reusable, id), Some(Entry { is_used, asked }));
    }

    /// It has ended. Its row goes when its page has been seen: its events are another's.
    pub(super) fn ended(&self, id: StreamId, reusable: StreamId, login: &Login, now: UnixMillis) {
        self.0.open.lock().set((reusable, id), None);
        if login.has_user() {
            self.0.unused.remove(id);
            self.0.unused.remember_ended(id, now);
        } else {
            self.0.unused.end(id, now);
        }
    }

    /// These logins are about to be committed. Each names its user on the stream of its reusable login, so of two commits for
    /// one user the second finds the first in the store; it must find its login here, too, although it may not be applied yet.
    pub(super) fn starting<'a>(&self, steps: impl Iterator<Item = (StreamId, &'a Login)>) -> Starting {
        let user = |(id, login): (StreamId, &Login)| Some((login.reusable()?, login.asked_key()?.to_bytes(), id));
        let users: Vec<_> = steps.filter_map(user).collect();
        if !users.is_empty() {
            let mut open = self.0.open.lock();
            for user in &users {
                *open.starting.entry(*user).or_default() += 1;
            }
        }
        Starting { logins: self.clone(), users }
    }

    /// The open logins at a reusable login in which the wallet of this user is asked: one, as a later one ends the earlier. Some
    /// may have ended a moment ago, or be in no store yet.
    pub(super) fn of_user(&self, reusable: StreamId, main_key: &PublicKey) -> Vec<StreamId> {
        let (open, key) = (self.0.open.lock(), main_key.to_bytes());
        let (first, last) = (StreamId::from_bytes([0; 16]), StreamId::from_bytes([0xff; 16]));
        let range = (reusable, key, first)..=(reusable, key, last);
        let starting = open.starting.range(range.clone()).map(|(login, _)| login);
        starting.chain(open.by_user.range(range)).map(|(_, _, id)| *id).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The open logins at a reusable login.
    pub(super) fn of(&self, reusable: StreamId) -> Vec<StreamId> {
        let open = self.0.open.lock();
        let (first, last) = (StreamId::from_bytes([0; 16]), StreamId::from_bytes([0xff; 16]));
        open.logins.range((reusable, first)..=(reusable, last)).map(|((_, id), _)| *id).collect()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if self.users.is_empty() {
            return;
        }
        let mut open = self.logins.0.open.lock();
        for user in &self.users {
            if let Some(count) = open.starting.get_mut(user) {
                *count -= 1;
                if *count == 0 {
                    open.starting.remove(user);
                }
            }
        }
    }
}

impl Open {
    /// How far a login is; `None`: it is not open any more.
    fn set(&mut self, login: (StreamId, StreamId), entry: Option<Entry>) {
        let before = match entry {
            Some(entry) => self.logins.insert(login, entry),
            None => self.logins.remove(&login),
        };
        self.used += usize::from(entry.is_some_and(|entry| entry.is_used));
        self.used -= usize::from(before.is_some_and(|entry| entry.is_used));
        let (reusable, id) = login;
        match entry {
            Some(_) => self.reusable.insert(id, reusable),
            None => self.reusable.remove(&id),
        };
        if let Some(asked) = before.and_then(|entry| entry.asked) {
            self.by_user.remove(&(reusable, asked, id));
        }
        if let Some(asked) = entry.and_then(|entry| entry.asked) {
            self.by_user.insert((reusable, asked, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use usher_protocol::{Keys, SecretKey};

    use super::*;
    use crate::Visitor;
    use crate::operations::{LoginMethod, LoginOrigin, LoginTerms};
    use crate::testing::ManualClock;

    const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

    fn logins() -> (ReusableLogins, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(NOW));
        (ReusableLogins::new(8, clock.clone()), clock)
    }

    fn id(n: u64) -> StreamId {
        StreamId::from_parts(n, [0; 10])
    }

    fn login(reusable: StreamId) -> Login {
        Login::start(terms(reusable))
    }

    fn terms(reusable: StreamId) -> LoginTerms {
        LoginTerms {
            token: "token".to_owned(),
            wallet_challenge: "challenge".to_owned(),
            signer_challenge: "other challenge".to_owned(),
            page_secret: "secret".to_owned(),
            browser: None,
            origin: LoginOrigin::Reusable { stream: reusable },
            return_url: None,
            expires_at: NOW.plus(Duration::from_secs(600)),
            challenge_ttl: Duration::from_secs(300),
            service_proof: None,
        }
    }

    fn used(reusable: StreamId) -> Login {
        let mut login = login(reusable);
        let key = Keys::new(SecretKey::from_slice(&[1; 32]).unwrap()).public_key();
        login.prove(key, LoginMethod::Extension, NOW).unwrap();
        login
    }

    #[test]
    fn logins_in_which_somebody_has_named_a_key_are_bounded() {
        let (logins, _) = logins();
        let (poster, door) = (id(1), id(2));
        for n in 10..20 {
            logins.stepped(id(n), poster, &login(poster), true);
        }
        assert!(logins.has_room_for(1) && !logins.has_room_for(2), "nobody has named a key");
        logins.stepped(id(10), poster, &used(poster), false);
        assert!(logins.has_room_for(0));
        logins.stepped(id(30), door, &used(door), true);
        assert!(!logins.has_room_for(0));
        // A later step changes nothing.
        logins.stepped(id(30), door, &used(door), false);
        logins.ended(id(30), door, &used(door), NOW);
        assert!(logins.has_room_for(0));
        // It ends once.
        logins.ended(id(30), door, &used(door), NOW);
        assert_eq!((logins.of(poster).len(), logins.of(door).len()), (10, 0));
        assert_eq!(logins.unused().take_ended(NOW.plus(WARN_EVERY), 9), [id(30), id(30)], "their rows are removed");
    }

    #[test]
    fn users_of_commits_that_are_under_way_are_known() {
        let (logins, _) = logins();
        let (poster, key) = (id(1), Keys::new(SecretKey::from_slice(&[1; 32]).unwrap()).public_key());
        let terms = LoginTerms { expires_at: NOW, ..terms(poster) };
        let (asking, _) = Login::start_asking(terms, key, NOW);
        let waiting = login(poster);
        let first = logins.starting([(id(10), &asking), (id(11), &waiting)].into_iter());
        let again = logins.starting([(id(10), &asking), (id(12), &asking)].into_iter());
        assert_eq!(logins.of_user(poster, &key), [id(10), id(12)]);
        drop(first);
        logins.stepped(id(10), poster, &asking, true);
        assert_eq!(logins.of_user(poster, &key), [id(10), id(12)]);
        drop(again);
        assert_eq!(logins.of_user(poster, &key), [id(10)]);
        assert!(logins.of_user(id(2), &key).is_empty() && logins.0.open.lock().starting.is_empty());
    }

    #[test]
    fn logins_that_make_room_for_others_are_forgotten() {
        let (logins, clock) = logins();
        let poster = id(1);
        for n in 10..12 {
            assert_eq!(logins.unused().make_room(Visitor::Loopback), Ok(Vec::new()));
            logins.stepped(id(n), poster, &login(poster), true);
        }
        clock.turn(Duration::from_secs(90));
        assert_eq!(logins.unused().make_room(Visitor::Loopback), Ok(vec![id(10)]));
        logins.ended(id(10), poster, &login(poster), NOW);
        assert_eq!(logins.of(poster), [id(11)]);
        assert_eq!(logins.unused().take_ended(NOW.plus(WARN_EVERY), 9), [], "who chose it removes it");
    }
}
