use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use crate::holder::Holder;
use crate::ranking::{Ranking, Turn};

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

/// A table of places, by key, each with a value. About 500 bytes for each place.
pub struct Places<K, V = ()> {
    limits: Limits,
    taken: HashMap<K, Taken<V>>,
    /// All but the operator's, in the order in which they would go if all were of one network.
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
        let (taken, turns, ranking) = (HashMap::new(), BTreeMap::new(), Ranking::default());
        Self { limits, taken, turns, ranking, last_number: 0 }
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
        if let Some(own) = holder.groups.last().filter(|_| holder.has_share)
            && self.ranking.held(own) >= self.limits.share.max(1)
        {
            let first = self.ranking.first_of(own);
            displaced.extend(
                self.displace(first, false, now).map_err(|retry_after| Full { is_of_holder: true, retry_after })?,
            );
        }
        // Places can be added for which no room was made, as after a restart: then several go.
        while self.is_full_for(holder) {
            let victim = self.ranking.victim(holder);
            let is_of_larger = victim.is_some_and(|victim| victim.is_of_larger);
            match self.displace(victim.map(|victim| victim.turn), is_of_larger, now) {
                Ok(place) => displaced.extend(place),
                Err(retry_after) if displaced.is_empty() => return Err(Full { is_of_holder: false, retry_after }),
                Err(_) => break,
            }
        }
        Ok(displaced)
    }

    fn is_full_for(&self, holder: &Holder) -> bool {
        if holder.is_operator() {
            self.taken.len() >= self.limits.total
        } else {
            // Those of the operator count where they have more than is reserved.
            let of_operator = (self.taken.len() - self.turns.len()).max(self.limits.reserved);
            self.turns.len() + of_operator >= self.limits.total
        }
    }

    /// Displaces the place with this turn, if it may go; otherwise says when it may.
    fn displace(
        &mut self,
        turn: Option<Turn>,
        is_of_larger: bool,
        now: Duration,
    ) -> Result<Option<(K, V)>, Option<Duration>> {
        let turn = turn.ok_or(None)?;
        let wait = turn.0.saturating_sub(now);
        match self.limits.when_full {
            WhenFull::Refuse => return Err(None),
            WhenFull::FewerDisplace if !is_of_larger && !wait.is_zero() => return Err(Some(wait)),
            WhenFull::FewerDisplace | WhenFull::AlwaysDisplace => {}
        }
        let key = self.turns.get(&turn).cloned().ok_or(None)?;
        Ok(self.free(&key).map(|value| (key, value)))
    }

    /// Adds a place, even if there is no room for it, instead of the one that `key` has already.
    pub fn add(&mut self, key: K, holder: Holder, value: V, now: Duration) {
        self.free(&key);
        self.last_number += 1;
        let mut taken = Taken { holder, turn: (now, self.last_number), taken_at: now, seen_at: now, open: 0, value };
        taken.turn.0 = taken.protected_until(self.limits.protection);
        if !taken.holder.is_operator() {
            self.turns.insert(taken.turn, key.clone());
            self.ranking.add(&taken.holder, taken.turn);
        }
        self.taken.insert(key, taken);
    }

    /// The place is given up. Returns its value; `None` if there is no such place.
    pub fn free(&mut self, key: &K) -> Option<V> {
        let taken = self.taken.remove(key)?;
        self.turns.remove(&taken.turn);
        self.ranking.remove(&taken.holder, taken.turn);
        Some(taken.value)
    }

    /// It is known now who holds the place.
    pub fn set_holder(&mut self, key: &K, holder: Holder) {
        let Some(taken) = self.taken.get_mut(key) else { return };
        self.turns.remove(&taken.turn);
        self.ranking.remove(&taken.holder, taken.turn);
        taken.holder = holder;
        if !taken.holder.is_operator() {
            self.turns.insert(taken.turn, key.clone());
            self.ranking.add(&taken.holder, taken.turn);
        }
    }

    /// Whoever holds the place was there a moment ago.
    pub fn seen(&mut self, key: &K, now: Duration) {
        self.change(key, now, |_| {});
    }

    /// Whoever holds the place is there, until it is closed as often.
    pub fn open(&mut self, key: &K, now: Duration) {
        self.change(key, now, |open| *open += 1);
    }

    /// The opposite of [`open`](Self::open).
    pub fn close(&mut self, key: &K, now: Duration) {
        self.change(key, now, |open| *open = open.saturating_sub(1));
    }

    fn change(&mut self, key: &K, now: Duration, change: impl Fn(&mut usize)) {
        let Some(taken) = self.taken.get_mut(key) else { return };
        change(&mut taken.open);
        taken.seen_at = now;
        let before = taken.turn;
        taken.turn.0 = taken.protected_until(self.limits.protection);
        if !taken.holder.is_operator() && taken.turn != before {
            self.turns.remove(&before);
            self.turns.insert(taken.turn, key.clone());
            self.ranking.remove(&taken.holder, before);
            self.ranking.add(&taken.holder, taken.turn);
        }
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
