//! The events that a relay stores.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use nostr::filter::MatchEventOptions;
use nostr::{Event, Filter, Kind};
use tokio::time::Instant;

use super::outbox::Published;

/// Events kept; the oldest goes first.
const CAPACITY: usize = 20_000;

/// The result of storing an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// New: forward it.
    New,
    /// The same event is already stored.
    Duplicate,
    /// A newer one is stored in its place (replaceable and addressable kinds).
    Superseded,
}

/// Stores everything but ephemeral events, as NIP-01 requires; those too, for a while, if configured.
#[derive(Debug, Default)]
pub(super) struct EventStore {
    events: VecDeque<Published>,
    ephemeral_events: VecDeque<(Instant, Published)>,
}

impl EventStore {
    pub(super) fn keep(&mut self, published: &Published) -> Kept {
        let event = &published.event;
        if self.events.iter().any(|other| other.event.id == event.id) {
            return Kept::Duplicate;
        }
        if let Some(place) = self.events.iter().position(|other| same_place(&other.event, event)) {
            let newer = self.events.get(place).is_some_and(|other| is_newer(&other.event, event));
            if newer {
                return Kept::Superseded;
            }
            self.events.remove(place);
        }
        if self.events.len() >= CAPACITY {
            self.events.pop_front();
        }
        self.events.push_back(published.clone());
        Kept::New
    }

    /// Stores an ephemeral event; returns whether it is new.
    pub(super) fn keep_ephemeral(&mut self, published: &Published) -> bool {
        if self.ephemeral_events.iter().any(|(_, other)| other.event.id == published.event.id) {
            return false;
        }
        if self.ephemeral_events.len() >= CAPACITY {
            self.ephemeral_events.pop_front();
        }
        self.ephemeral_events.push_back((Instant::now(), published.clone()));
        true
    }

    /// The kept events that match a filter, newest first, each filter with its own `limit`; ephemeral ones that came
    /// less than `ephemeral` ago among them.
    pub(super) fn matching(&self, filters: &[Filter], ephemeral: Option<Duration>) -> Vec<&Published> {
        let young = |at: &Instant| ephemeral.is_some_and(|age| at.elapsed() < age);
        let ephemeral = self.ephemeral_events.iter().filter(|(at, _)| young(at)).map(|(_, published)| published);
        let all: Vec<&Published> = self.events.iter().chain(ephemeral).collect();
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for filter in filters {
            let mut hits: Vec<&Published> =
                all.iter().copied().filter(|p| filter.match_event(&p.event, MatchEventOptions::new())).collect();
            hits.sort_by_key(|p| std::cmp::Reverse(p.event.created_at));
            hits.truncate(filter.limit.unwrap_or(usize::MAX));
            found.extend(hits.into_iter().filter(|p| seen.insert(p.event.id)));
        }
        found
    }
}

/// Whether `other` is the newer of two for one place; at the same second the lower id is (NIP-01).
fn is_newer(other: &Event, event: &Event) -> bool {
    (other.created_at, std::cmp::Reverse(other.id)) > (event.created_at, std::cmp::Reverse(event.id))
}

/// Whether only one of the two is kept. Mind that kind 30000, the subkey proof, is addressable: a relay keeps one for
/// each author (and `d` tag), and may not forward one that is as old as the last.
fn same_place(one: &Event, other: &Event) -> bool {
    one.kind == other.kind
        && one.pubkey == other.pubkey
        && (is_replaceable(one.kind)
            || (one.kind.is_addressable()
                && one.tags.identifier().unwrap_or("") == other.tags.identifier().unwrap_or("")))
}

fn is_replaceable(kind: Kind) -> bool {
    // Not the crate's `is_replaceable`, which counts kind 41 in; NIP-01 names these.
    matches!(kind.as_u16(), 0 | 3 | 10_000..=19_999)
}
