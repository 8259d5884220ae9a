//! The order of displacement: the group that holds the most, then the widest group within it that does, and there the
//! place whose protection ends first.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::holder::{Group, Holder};

/// When the protection of a place ends, and its serial number.
pub(crate) type Turn = (Duration, u64);

/// The number of places of a group, and the first of them to be displaced. Of equal groups, the one with the earliest
/// place ranks last.
type Rank = (usize, Reverse<Turn>, Group);

#[derive(Default)]
pub(crate) struct Ranking {
    /// Groups without a parent.
    widest: BTreeSet<Rank>,
    groups: HashMap<Group, Node>,
}

#[derive(Default)]
struct Node {
    turns: BTreeSet<Turn>,
    /// Its subgroups.
    parts: BTreeSet<Rank>,
}

/// The place to be displaced for a newcomer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Victim {
    pub(crate) turn: Turn,
    /// Whether its group holds more than the newcomer's.
    pub(crate) is_of_larger: bool,
}

impl Ranking {
    pub(crate) fn add(&mut self, holder: &Holder, turn: Turn) {
        self.change(holder, |turns| {
            turns.insert(turn);
        });
    }

    pub(crate) fn remove(&mut self, holder: &Holder, turn: Turn) {
        self.change(holder, |turns| {
            turns.remove(&turn);
        });
    }

    fn change(&mut self, holder: &Holder, change: impl Fn(&mut BTreeSet<Turn>)) {
        let mut parent = None;
        for group in &holder.groups {
            let node = self.groups.entry(group.clone()).or_default();
            let before = node.rank(group);
            change(&mut node.turns);
            let after = node.rank(group);
            if after.is_none() {
                self.groups.remove(group);
            }
            let siblings = match parent {
                None => Some(&mut self.widest),
                // The parent is gone if it has just lost its last place.
                Some(parent) => self.groups.get_mut(parent).map(|parent: &mut Node| &mut parent.parts),
            };
            if let Some(siblings) = siblings {
                before.inspect(|before| {
                    siblings.remove(before);
                });
                siblings.extend(after);
            }
            parent = Some(group);
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.widest.is_empty() && self.groups.is_empty()
    }

    pub(crate) fn held(&self, group: &Group) -> usize {
        self.groups.get(group).map_or(0, |node| node.turns.len())
    }

    pub(crate) fn first_of(&self, group: &Group) -> Option<Turn> {
        self.groups.get(group)?.turns.first().copied()
    }

    /// The place to be displaced for a newcomer of `holder`, if any.
    pub(crate) fn victim(&self, holder: &Holder) -> Option<Victim> {
        let (mut groups, mut own, mut is_of_larger) = (&self.widest, holder.groups.iter(), false);
        loop {
            let (most, _, largest) = groups.last()?;
            let mut chosen = largest;
            if !is_of_larger {
                match own.next() {
                    Some(group) if self.held(group) >= *most => chosen = group,
                    _ => is_of_larger = true,
                }
            }
            let node = self.groups.get(chosen)?;
            if node.parts.is_empty() {
                return Some(Victim { turn: *node.turns.first()?, is_of_larger });
            }
            groups = &node.parts;
        }
    }
}

impl Node {
    fn rank(&self, group: &Group) -> Option<Rank> {
        Some((self.turns.len(), Reverse(*self.turns.first()?), group.clone()))
    }
}
