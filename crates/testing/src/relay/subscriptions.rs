//! The relay subscriptions of all connections.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use nostr::filter::MatchEventOptions;
use nostr::{Alphabet, Event, Filter, SingleLetterTag, SubscriptionId};

use super::outbox::Outbox;

/// One subscription of one connection.
#[derive(Debug)]
pub(super) struct Subscription {
    /// Unique in the relay, unlike the id that the client chose.
    pub(super) serial: u64,
    /// The id that the client chose.
    pub(super) id: SubscriptionId,
    pub(super) filters: Vec<Filter>,
    pub(super) outbox: Outbox,
}

impl Subscription {
    pub(super) fn wants(&self, event: &Event) -> bool {
        self.filters.iter().any(|filter| filter.match_event(event, MatchEventOptions::new()))
    }

    /// The `#p` values, when every filter has some: then only events tagged with one of them can match.
    fn recipients(&self) -> Option<HashSet<&String>> {
        let tag = SingleLetterTag::lowercase(Alphabet::P);
        let mut keys = HashSet::new();
        for filter in &self.filters {
            keys.extend(filter.generic_tags.get(&tag)?);
        }
        Some(keys)
    }
}

/// The subscriptions of all connections, indexed by `#p`: a relay with a thousand wallets must not try a thousand
/// filters for each event.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    by_recipient: HashMap<String, Vec<Arc<Subscription>>>,
    others: Vec<Arc<Subscription>>,
}

impl Subscriptions {
    pub(super) fn insert(&mut self, subscription: &Arc<Subscription>) {
        match subscription.recipients() {
            Some(keys) => {
                for key in keys {
                    self.by_recipient.entry(key.clone()).or_default().push(Arc::clone(subscription));
                }
            }
            None => self.others.push(Arc::clone(subscription)),
        }
    }

    pub(super) fn remove(&mut self, subscription: &Subscription) {
        let Some(keys) = subscription.recipients() else {
            self.others.retain(|other| other.serial != subscription.serial);
            return;
        };
        for key in keys {
            if let Some(bucket) = self.by_recipient.get_mut(key) {
                bucket.retain(|other| other.serial != subscription.serial);
                if bucket.is_empty() {
                    self.by_recipient.remove(key);
                }
            }
        }
    }

    /// The subscriptions that `event` matches, each once.
    pub(super) fn matching(&self, event: &Event) -> Vec<Arc<Subscription>> {
        let tag = SingleLetterTag::lowercase(Alphabet::P);
        let values = event.tags.iter().filter(|t| t.single_letter_tag() == Some(tag)).filter_map(|t| t.content());
        let mut seen = HashSet::new();
        values
            .filter_map(|value| self.by_recipient.get(value))
            .flatten()
            .chain(&self.others)
            .filter(|subscription| seen.insert(subscription.serial) && subscription.wants(event))
            .cloned()
            .collect()
    }
}
