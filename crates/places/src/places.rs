use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use crate::holder::{Group, Holder};
use crate::ranking::{Ranking, Turn, Victim};

/// The number of places, and what happens when they are taken.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Places in total.
    pub total: usize,
    /// Most places of one network (at the narrowest width) or key.
    pub share: usize,
    /// Places reserved for the operator, of the total.
    pub reserved: usize,
    /// What happens when all places are taken.
    pub when_full: WhenFull,
    /// How long a place is protected.
    pub protection: Protection,
}

/// What happens when all places are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Newcomers are refused.
    Refuse,
    /// The oldest place, whoever holds it.
    OldestDisplaced,
    /// A newcomer whose network holds fewer displaces a place of the network that holds the most, even a protected one.
    /// Otherwise the newcomer displaces an unprotected place of its own network.
    FewerDisplace,
    /// The same, but protection only determines the order: no newcomer is refused.
    AlwaysDisplace,
}

/// How long a place is protected from newcomers of its own network.
#[derive(Clone, Copy, Debug)]
pub struct Protection {
    /// After it was taken or seen.
    pub after_seen: Duration,
    /// At most this long after it was taken, which also applies while it is open.
    pub longest: Duration,
}

impl Protection {
    /// No protection: the oldest place is displaced first.
    pub const NONE: Self = Self { after_seen: Duration::ZERO, longest: Duration::ZERO };
}

/// There is no place for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full {
    /// Whether only this network or key has reached its limit.
    pub is_of_holder: bool,
    /// When a place may become free; `None` if unknown.
    pub retry_after: Option<Duration>,
}

/// A table of places by key, each with a value. Takes about 200 bytes per place without displacement, otherwise 500,
/// and twice that if all are of different networks.
pub struct Places<K, V = ()> {
    limits: Limits,
    taken: HashMap<K, Taken<V>>,
    /// Places held by each key, or network of the narrowest width; `None` is the operator.
    held: HashMap<Option<Group>, usize>,
    /// Displaceable places in the order of displacement within one network.
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
    /// A table without taken places.
    pub fn new(limits: Limits) -> Self {
        let (taken, held, turns, ranking) = (HashMap::new(), HashMap::new(), BTreeMap::new(), Ranking::default());
        Self { limits, taken, held, turns, ranking, last_number: 0 }
    }

    /// Changes the limits, but not what happens when all places are taken.
    pub const fn set_limits(&mut self, limits: Limits) {
        self.limits = Limits { when_full: self.limits.when_full, ..limits };
    }

    /// Takes a place, replacing one that `key` has. Returns the displaced ones.
    ///
    /// # Errors
    /// [`Full`]; the only change is then that `key` has lost its earlier place.
    pub fn take(&mut self, key: K, holder: &Holder, value: V, now: Duration) -> Result<Vec<(K, V)>, Full> {
        self.free(&key);
        let displaced = self.make_room(holder, now)?;
        self.add(key, holder.clone(), value, now);
        Ok(displaced)
    }

    /// Makes room for a newcomer, whose place is later taken with [`add`](Self::add). Returns the displaced ones.
    ///
    /// # Errors
    /// [`Full`]; nothing has changed then.
    pub fn make_room(&mut self, holder: &Holder, now: Duration) -> Result<Vec<(K, V)>, Full> {
        let mut displaced = Vec::new();
        if holder.has_share && self.held_by(holder) >= self.limits.share.max(1) {
            let first = holder.groups.last().and_then(|own| self.ranking.first_of(own));
            let victim = first.map(|turn| Victim { turn, is_of_larger: false });
            displaced
                .extend(self.displace(victim, now).map_err(|retry_after| Full { is_of_holder: true, retry_after })?);
        }
        // Places can be added without making room, as after a restart: several may then be displaced.
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
        // The operator's places count beyond the reserved ones.
        let of_operator = self.held_by(&Holder::operator());
        let kept = if holder.is_operator() { 0 } else { self.limits.reserved.saturating_sub(of_operator) };
        self.taken.len() + kept >= self.limits.total
    }

    fn held_by(&self, holder: &Holder) -> usize {
        self.held.get(&holder.groups.last().cloned()).copied().unwrap_or_default()
    }

    /// Displaces a place, if allowed; otherwise returns when it may be.
    fn displace(&mut self, victim: Option<Victim>, now: Duration) -> Result<Option<(K, V)>, Option<Duration>> {
        let Victim { turn, is_of_larger } = victim.ok_or(None)?;
        let wait = turn.0.saturating_sub(now);
        if self.limits.when_full == WhenFull::FewerDisplace && !is_of_larger && !wait.is_zero() {
            return Err(Some(wait));
        }
        let key = self.turns.get(&turn).cloned().ok_or(None)?;
        Ok(self.free(&key).map(|value| (key, value)))
    }

    /// Adds a place, even if there is no room for it, replacing one that `key` has.
    pub fn add(&mut self, key: K, holder: Holder, value: V, now: Duration) {
        self.free(&key);
        self.last_number += 1;
        let turn = (now, self.last_number);
        self.insert(key, Taken { holder, turn, taken_at: now, seen_at: now, open: 0, value });
    }

    /// Frees a place and returns its value; `None` if there is no such place.
    pub fn free(&mut self, key: &K) -> Option<V> {
        self.remove(key).map(|taken| taken.value)
    }

    /// Changes the holder of a place.
    pub fn set_holder(&mut self, key: &K, holder: Holder) {
        self.change(key, |taken| taken.holder = holder);
    }

    /// Records activity of the holder.
    pub fn seen(&mut self, key: &K, now: Duration) {
        self.change(key, |taken| taken.seen_at = now);
    }

    /// Marks the place as open, until it is closed as often.
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

    /// Whether the place is protected: open or recently seen, within the longest time.
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

    /// All taken places, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.taken.iter().map(|(key, taken)| (key, &taken.value))
    }

    /// The number of taken places.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether no place is taken.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }
}

#[cfg(test)]
mod tests;
