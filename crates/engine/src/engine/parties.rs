//! Who may close a subscription before it has begun.
//!
//! A wallet names its subscription when it agrees to it. When its close overtakes that (relays hand out what they have stored
//! newest first), the close names a subscription that nobody knows; its author is known, though: it is one of those who are
//! asked at that moment. Messages of all others are dropped here, so that nobody else can make the service keep anything.

use std::collections::HashMap;

use parking_lot::RwLock;
use usher_protocol::PublicKey;

use crate::StreamId;

/// Open operations by those who take part in them. A few hundred bytes for each user who is asked to agree to a subscription.
#[derive(Default)]
pub(super) struct Parties(RwLock<Both>);

#[derive(Default)]
struct Both {
    by_key: HashMap<PublicKey, Vec<StreamId>>,
    by_stream: HashMap<StreamId, Vec<PublicKey>>,
}

impl Parties {
    /// From now on these take part in `id`, and no others.
    pub(super) fn set(&self, id: StreamId, keys: Vec<PublicKey>) {
        let mut both = self.0.write();
        if both.by_stream.get(&id) == Some(&keys) {
            return;
        }
        both.remove(id);
        for key in &keys {
            both.by_key.entry(*key).or_default().push(id);
        }
        both.by_stream.insert(id, keys);
    }

    /// Nobody takes part in `id` any more.
    pub(super) fn remove(&self, id: StreamId) {
        if self.0.read().by_stream.contains_key(&id) {
            self.0.write().remove(id);
        }
    }

    /// What `key` takes part in.
    pub(super) fn of(&self, key: &PublicKey) -> Vec<StreamId> {
        self.0.read().by_key.get(key).cloned().unwrap_or_default()
    }
}

impl Both {
    fn remove(&mut self, id: StreamId) {
        for key in self.by_stream.remove(&id).unwrap_or_default() {
            if let Some(streams) = self.by_key.get_mut(&key) {
                streams.retain(|stream| *stream != id);
                if streams.is_empty() {
                    self.by_key.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found_until_they_take_no_part_any_more() {
        let (parties, key) = (Parties::default(), |n| PublicKey::from_byte_array([n; 32]));
        let [one, other] = [1, 2].map(|n| StreamId::from_parts(0, [n; 10]));
        parties.set(one, vec![key(1), key(2)]);
        parties.set(other, vec![key(1)]);
        parties.set(one, vec![key(1), key(3)]);
        assert_eq!([1, 2, 3, 4].map(|n| parties.of(&key(n)).len()), [2, 0, 1, 0]);
        parties.remove(other);
        parties.remove(other);
        assert_eq!(parties.of(&key(1)), [one]);
        parties.remove(one);
        assert!(parties.0.read().by_key.is_empty() && parties.0.read().by_stream.is_empty());
    }
}
