//! The open logins at reusable logins, and their limits. Anybody can begin one. Unused ones displace each other
//! ([`UnusedLogins`]), separately from those of other protocols. Keys can be generated, so logins waiting for a wallet
//! are limited, too: the oldest is displaced.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use usher_places::limit;
use usher_protocol::PublicKey;

use super::unused_logins::UnusedLogins;
use crate::StreamId;
use crate::login::operation::Login;
use crate::ports::Clock;

#[derive(Clone)]
pub(crate) struct ChildLogins(Arc<Inner>);

struct Inner {
    unused: UnusedLogins,
    open: Mutex<Open>,
    most: usize,
}

/// All open logins: about 200 bytes each.
#[derive(Default)]
struct Open {
    /// By the stream of their reusable login and their own: the key whose wallet was challenged.
    logins: BTreeMap<(StreamId, StreamId), Option<[u8; 32]>>,
    reusable: HashMap<StreamId, StreamId>,
    /// The stream of the reusable login, the challenged key, and the login's own stream.
    by_user: BTreeSet<(StreamId, [u8; 32], StreamId)>,
    /// Logins of pending commits, with the number of these commits.
    starting: BTreeMap<(StreamId, [u8; 32], StreamId), usize>,
    /// Logins waiting for a wallet, oldest first: 16 bytes each, instead of 500 for a [`Places`](usher_places::Places).
    asking: BTreeSet<StreamId>,
}

/// Logins of a pending commit; dropped when it is applied or has failed.
pub(crate) struct Starting {
    logins: ChildLogins,
    users: Vec<(StreamId, [u8; 32], StreamId)>,
}

impl ChildLogins {
    pub(crate) fn new(max_open: usize, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner {
            unused: UnusedLogins::new(&limit::UNUSED_LOGINS, max_open, clock),
            open: Mutex::default(),
            most: limit::ASKING_LOGINS.of(max_open).total,
        }))
    }

    pub(crate) fn unused(&self) -> &UnusedLogins {
        &self.0.unused
    }

    /// The login to end when another user names their key and the limit is reached. Each is returned once.
    pub(crate) fn make_room(&self) -> Option<StreamId> {
        let asking = &mut self.0.open.lock().asking;
        if asking.len() < self.0.most { None } else { asking.pop_first() }
    }

    /// The reusable login of a login in which no key was named.
    pub(crate) fn unused_at(&self, id: StreamId) -> Option<StreamId> {
        if self.0.unused.has(id) { self.0.open.lock().reusable.get(&id).copied() } else { None }
    }

    /// A later step may be reported first.
    pub(crate) fn stepped(&self, id: StreamId, reusable: StreamId, login: &Login, is_new: bool) {
        if !login.is_unused() {
            self.0.unused.remove(id);
        } else if self.0.open.lock().logins.get(&(reusable, id)).is_some_and(Option::is_some) {
            // A key was named afterwards.
            return;
        } else if is_new {
            self.0.unused.add(id);
        }
        self.0.open.lock().set(reusable, id, Some(login.requested_key().map(|key| key.to_bytes())));
    }

    /// Handles an ended login. Returns whether no key was named. One chosen to make room is no longer listed; it is
    /// removed by whoever chose it.
    pub(crate) fn ended(&self, id: StreamId, reusable: StreamId) -> bool {
        self.0.open.lock().set(reusable, id, None);
        self.0.unused.remove(id)
    }

    /// Records that these logins are about to be committed. Each commit names its user on the stream of the reusable
    /// login, so of two commits for one user the second finds the first one's login in the store; it must also find it
    /// here, though it may not be applied yet.
    pub(crate) fn starting<'a>(&self, steps: impl Iterator<Item = (StreamId, &'a Login)>) -> Option<Starting> {
        let user = |(id, login): (StreamId, &Login)| Some((login.reusable()?, login.requested_key()?.to_bytes(), id));
        let users: Vec<_> = steps.filter_map(user).collect();
        if users.is_empty() {
            return None;
        }
        let mut open = self.0.open.lock();
        for user in &users {
            *open.starting.entry(*user).or_default() += 1;
        }
        drop(open);
        Some(Starting { logins: self.clone(), users })
    }

    /// The open logins of this user at a reusable login. Some may have just ended, or not be stored yet.
    pub(crate) fn of_user(&self, reusable: StreamId, main_key: &PublicKey) -> Vec<StreamId> {
        let (open, key) = (self.0.open.lock(), main_key.to_bytes());
        let (first, last) = (StreamId::from_bytes([0; 16]), StreamId::from_bytes([0xff; 16]));
        let range = (reusable, key, first)..=(reusable, key, last);
        let starting = open.starting.range(range.clone()).map(|(login, _)| login);
        starting.chain(open.by_user.range(range)).map(|(_, _, id)| *id).collect::<BTreeSet<_>>().into_iter().collect()
    }

    pub(crate) fn of(&self, reusable: StreamId) -> Vec<StreamId> {
        let open = self.0.open.lock();
        let (first, last) = (StreamId::from_bytes([0; 16]), StreamId::from_bytes([0xff; 16]));
        open.logins.range((reusable, first)..=(reusable, last)).map(|((_, id), _)| *id).collect()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
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
    fn set(&mut self, reusable: StreamId, id: StreamId, asked: Option<Option<[u8; 32]>>) {
        let before = match asked {
            Some(asked) => self.logins.insert((reusable, id), asked),
            None => self.logins.remove(&(reusable, id)),
        };
        let (before, now) = (before.flatten(), asked.flatten());
        match asked {
            Some(_) => self.reusable.insert(id, reusable),
            None => self.reusable.remove(&id),
        };
        if before == now {
            return;
        }
        if let Some(key) = before {
            self.asking.remove(&id);
            self.by_user.remove(&(reusable, key, id));
        }
        if let Some(key) = now {
            self.asking.insert(id);
            self.by_user.insert((reusable, key, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ClientNetwork;
    use crate::kernel::fixtures::id;
    use crate::login::operation::tests as tests_of_logins;
    use crate::login::operation::{LoginOrigin, LoginTerms};
    use crate::operations::fixtures::NOW;
    use crate::testing::{ManualClock, user};

    fn logins() -> (ChildLogins, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(NOW));
        (ChildLogins::new(8, clock.clone()), clock)
    }

    fn login(reusable: StreamId) -> Login {
        Login::start(terms(reusable))
    }

    fn terms(reusable: StreamId) -> LoginTerms {
        LoginTerms { origin: LoginOrigin::Reusable { stream: reusable }, ..tests_of_logins::terms() }
    }

    fn asking(reusable: StreamId) -> Login {
        Login::start_asking(terms(reusable), user(1).public_key(), NOW).0
    }

    #[test]
    fn oldest_login_in_which_a_wallet_is_asked_makes_room() {
        let (logins, _) = logins();
        let (poster, table) = (id(1), id(2));
        for n in 10..20 {
            logins.stepped(id(n), poster, &login(poster), true);
        }
        assert_eq!(logins.make_room(), None, "nobody has named a key");
        logins.stepped(id(12), poster, &asking(poster), false);
        assert_eq!(logins.make_room(), None);
        logins.stepped(id(30), table, &asking(table), true);
        logins.stepped(id(30), table, &asking(table), false);
        assert_eq!(logins.make_room(), Some(id(12)));
        assert_eq!(logins.make_room(), None, "it is named once");
        logins.stepped(id(11), poster, &asking(poster), false);
        assert!(!logins.ended(id(30), table) && !logins.ended(id(30), table));
        assert_eq!(logins.make_room(), None, "it ends once");
        logins.stepped(id(14), poster, &asking(poster), false);
        assert_eq!(logins.make_room(), Some(id(11)));
        assert_eq!((logins.of(poster).len(), logins.of(table).len()), (10, 0));
        assert!(logins.ended(id(15), poster) && !logins.ended(id(15), poster), "nobody has named a key");
    }

    #[test]
    fn users_of_commits_that_are_under_way_are_known() {
        let (logins, _) = logins();
        let (poster, key) = (id(1), user(1).public_key());
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
    fn key_is_known_although_an_earlier_step_is_reported_last() {
        let (logins, _) = logins();
        let (poster, key) = (id(1), user(1).public_key());
        logins.stepped(id(10), poster, &asking(poster), false);
        logins.stepped(id(10), poster, &login(poster), true);
        assert_eq!(logins.of_user(poster, &key), [id(10)]);
        assert!(!logins.unused().has(id(10)));
    }

    #[test]
    fn logins_that_make_room_for_others_are_forgotten() {
        let (logins, clock) = logins();
        let poster = id(1);
        for n in 10..12 {
            assert_eq!(logins.unused().begin(id(n), ClientNetwork::Loopback), Ok(Vec::new()));
            logins.stepped(id(n), poster, &login(poster), true);
        }
        clock.turn(Duration::from_secs(90));
        assert_eq!(logins.unused().begin(id(12), ClientNetwork::Loopback), Ok(vec![id(10)]));
        assert!(!logins.ended(id(10), poster), "who chose it removes it");
        assert_eq!(logins.of(poster), [id(11)]);
    }
}
