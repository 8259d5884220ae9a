use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use crate::holder::{Group, Holder};
use crate::ranking::{Ranking, Turn, Victim};

/// How many places there are, and what happens when they are taken.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Places in all.
    pub total: usize,
    /// Most that one network (the narrowest that is counted) or one key may hold.
    pub share: usize,
    /// Of all, those that only the operator takes.
    pub reserved: usize,
    /// Who makes room when there is none.
    pub when_full: WhenFull,
    /// How long a place is protected.
    pub protection: Protection,
}

/// Who makes room when all places are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Nobody: newcomers are refused.
    Refuse,
    /// The oldest place, whoever holds it.
    OldestDisplaced,
    /// The network that holds the most, for one that holds fewer, even if the place is protected. Others displace a place of their
    /// own network, unless all of these are protected.
    FewerDisplace,
    /// The same, and protection only says who goes first: no newcomer is refused.
    AlwaysDisplace,
}

/// How long a place is protected from newcomers of its own network.
#[derive(Clone, Copy, Debug)]
pub struct Protection {
    /// After it was taken or seen.
    pub after_seen: Duration,
    /// At most, counted from when it was taken. While it is open it is protected for so long.
    pub longest: Duration,
}

impl Protection {
    /// The place that was taken first goes first.
    pub const NONE: Self = Self { after_seen: Duration::ZERO, longest: Duration::ZERO };
}

/// There is no place for this newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Whether others may have one: this network or key holds its share.
    pub is_of_holder: bool,
    /// When a place may be given up; `None` if that is unknown.
    pub retry_after: Option<Duration>,
}

/// A table of places, by key, each with a value. About 200 bytes for each place where nobody is displaced, otherwise 500; twice that
/// where all are of different networks.
pub struct Places<K, V = ()> {
    limits: Limits,
    taken: HashMap<K, Taken<V>>,
    /// How many each key, or each network of the narrowest width, holds; `None` is the operator.
    held: HashMap<Option<Group>, usize>,
    /// Those that can be displaced, in the order in which they would go if all were of one network.
    turns: BTreeMap<Turn, K>,
    ranking: Ranking,
    last_number: u64,
}

struct Taken<V> {
    holder: Holder,
    turn: Turn,
    taken_at: Duration,
    seen_at: Duration,
    open: usize,
    value: V,
}

impl<V> Taken<V> {
    fn protected_until(&self, protection: Protection) -> Duration {
        let longest = self.taken_at.saturating_add(protection.longest);
        if self.open > 0 { longest } else { longest.min(self.seen_at.saturating_add(protection.after_seen)) }
    }
}

impl<K: Clone + Eq + Hash, V> Places<K, V> {
    /// Empty places.
    pub fn new(limits: Limits) -> Self {
        let (taken, held, turns, ranking) = (HashMap::new(), HashMap::new(), BTreeMap::new(), Ranking::default());
        Self { limits, taken, held, turns, ranking, last_number: 0 }
    }

    /// Other limits from now on; who makes room stays as it is.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.limits = Limits { when_full: self.limits.when_full, ..limits };
    }

    /// Takes a place, instead of the one that `key` has already. Returns those that had to go for it.
    ///
    /// # Errors
    /// [`Full`]; then nothing has changed, but that `key` has lost its earlier place.
    pub fn take(&mut self, key: K, holder: &Holder, value: V, now: Duration) -> Result<Vec<(K, V)>, Full> {
        self.free(&key);
        let displaced = self.make_room(holder, now)?;
        self.add(key, holder.clone(), value, now);
        Ok(displaced)
    }

    /// Makes room for a newcomer, who takes the place with [`add`](Self::add) when what needs it has begun. Returns those that had
    /// to go.
    ///
    /// # Errors
    /// [`Full`]; then nothing has changed.
    pub fn make_room(&mut self, holder: &Holder, now: Duration) -> Result<Vec<(K, V)>, Full> {
        let mut displaced = Vec::new();
        if holder.has_share && self.held_by(holder) >= self.limits.share.max(1) {
            let first = holder.groups.last().and_then(|own| self.ranking.first_of(own));
            let victim = first.map(|turn| Victim { turn, is_of_larger: false });
            displaced
                .extend(self.displace(victim, now).map_err(|retry_after| Full { is_of_holder: true, retry_after })?);
        }
        // Places can be added for which no room was made, as after a restart: then several go.
        while self.is_full_for(holder) {
            let victim = match self.limits.when_full {
                WhenFull::Refuse => None,
                WhenFull::OldestDisplaced => {
                    self.turns.keys().next().map(|turn| Victim { turn: *turn, is_of_larger: true })
                }
                WhenFull::FewerDisplace | WhenFull::AlwaysDisplace => self.ranking.victim(holder),
            };
            match self.displace(victim, now) {
                Ok(place) => displaced.extend(place),
                Err(retry_after) if displaced.is_empty() => return Err(Full { is_of_holder: false, retry_after }),
                Err(_) => break,
            }
        }
        Ok(displaced)
    }

    fn is_full_for(&self, holder: &Holder) -> bool {
        // Those of the operator count where they have more than is reserved.
        let of_operator = self.held_by(&Holder::operator());
        let kept = if holder.is_operator() { 0 } else { self.limits.reserved.saturating_sub(of_operator) };
        self.taken.len() + kept >= self.limits.total
    }

    fn held_by(&self, holder: &Holder) -> usize {
        self.held.get(&holder.groups.last().cloned()).copied().unwrap_or_default()
    }

    /// Displaces a place, if it may go; otherwise says when it may.
    fn displace(&mut self, victim: Option<Victim>, now: Duration) -> Result<Option<(K, V)>, Option<Duration>> {
        let Victim { turn, is_of_larger } = victim.ok_or(None)?;
        let wait = turn.0.saturating_sub(now);
        if self.limits.when_full == WhenFull::FewerDisplace && !is_of_larger && !wait.is_zero() {
            return Err(Some(wait));
        }
        let key = self.turns.get(&turn).cloned().ok_or(None)?;
        Ok(self.free(&key).map(|value| (key, value)))
    }

    /// Adds a place, even if there is no room for it, instead of the one that `key` has already.
    pub fn add(&mut self, key: K, holder: Holder, value: V, now: Duration) {
        self.free(&key);
        self.last_number += 1;
        let turn = (now, self.last_number);
        self.insert(key, Taken { holder, turn, taken_at: now, seen_at: now, open: 0, value });
    }

    /// The place is given up. Returns its value; `None` if there is no such place.
    pub fn free(&mut self, key: &K) -> Option<V> {
        self.remove(key).map(|taken| taken.value)
    }

    /// Another holds the place from now on.
    pub fn set_holder(&mut self, key: &K, holder: Holder) {
        self.change(key, |taken| taken.holder = holder);
    }

    /// Whoever holds the place was there a moment ago.
    pub fn seen(&mut self, key: &K, now: Duration) {
        self.change(key, |taken| taken.seen_at = now);
    }

    /// Whoever holds the place is there, until it is closed as often.
    pub fn open(&mut self, key: &K, now: Duration) {
        self.change(key, |taken| (taken.open, taken.seen_at) = (taken.open + 1, now));
    }

    /// The opposite of [`open`](Self::open).
    pub fn close(&mut self, key: &K, now: Duration) {
        self.change(key, |taken| (taken.open, taken.seen_at) = (taken.open.saturating_sub(1), now));
    }

    fn change(&mut self, key: &K, change: impl FnOnce(&mut Taken<V>)) {
        if let Some(mut taken) = self.remove(key) {
            change(&mut taken);
            self.insert(key.clone(), taken);
        }
    }

    fn insert(&mut self, key: K, mut taken: Taken<V>) {
        taken.turn.0 = taken.protected_until(self.limits.protection);
        *self.held.entry(taken.holder.groups.last().cloned()).or_default() += 1;
        if self.can_be_displaced(&taken) {
            self.turns.insert(taken.turn, key.clone());
            self.ranking.add(&taken.holder, taken.turn);
        }
        self.taken.insert(key, taken);
    }

    fn remove(&mut self, key: &K) -> Option<Taken<V>> {
        let taken = self.taken.remove(key)?;
        if let Entry::Occupied(mut held) = self.held.entry(taken.holder.groups.last().cloned()) {
            *held.get_mut() -= 1;
            if *held.get() == 0 {
                held.remove();
            }
        }
        if self.can_be_displaced(&taken) {
            self.turns.remove(&taken.turn);
            self.ranking.remove(&taken.holder, taken.turn);
        }
        Some(taken)
    }

    fn can_be_displaced(&self, taken: &Taken<V>) -> bool {
        self.limits.when_full != WhenFull::Refuse && !taken.holder.is_operator()
    }

    /// Whether the place is in use, and not for too long: open, or seen a moment ago.
    pub fn is_protected(&self, key: &K, now: Duration) -> bool {
        self.taken.get(key).is_some_and(|taken| taken.turn.0 > now)
    }

    /// The value of a place.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.taken.get(key).map(|taken| &taken.value)
    }

    /// The value of a place.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.taken.get_mut(key).map(|taken| &mut taken.value)
    }

    /// How many are taken.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether none is taken.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }
}

#[cfg(test)]
mod tests;
