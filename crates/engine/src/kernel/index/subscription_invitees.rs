//! The users who may close a subscription before it has begun. A wallet chooses the subscription's id when it agrees.
//! If its close arrives first, the id is unknown, but an open request has its author as participant. Messages of others
//! are dropped, so that they cannot make the service store anything.

use std::collections::HashMap;

use parking_lot::RwLock;
use usher_protocol::PublicKey;

use crate::StreamId;

/// Open operations by participant: a few hundred bytes for each user asked to agree to a subscription.
#[derive(Default)]
pub(super) struct Participants(RwLock<Maps>);

#[derive(Default)]
struct Maps {
    by_key: HashMap<PublicKey, Vec<StreamId>>,
    by_stream: HashMap<StreamId, Vec<PublicKey>>,
}

impl Participants {
    pub(super) fn set(&self, id: StreamId, keys: Vec<PublicKey>) {
        let mut maps = self.0.write();
        if maps.by_stream.get(&id) == Some(&keys) {
            return;
        }
        maps.remove(id);
        for key in &keys {
            maps.by_key.entry(*key).or_default().push(id);
        }
        maps.by_stream.insert(id, keys);
    }

    pub(super) fn remove(&self, id: StreamId) {
        if self.0.read().by_stream.contains_key(&id) {
            self.0.write().remove(id);
        }
    }

    pub(super) fn of(&self, key: &PublicKey) -> Vec<StreamId> {
        self.0.read().by_key.get(key).cloned().unwrap_or_default()
    }
}

impl Maps {
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
    fn participants_are_found_until_they_are_replaced_or_removed() {
        let (participants, key) = (Participants::default(), |n| PublicKey::from_byte_array([n; 32]));
        let [one, other] = [1, 2].map(|n| StreamId::from_parts(0, [n; 10]));
        participants.set(one, vec![key(1), key(2)]);
        participants.set(other, vec![key(1)]);
        participants.set(one, vec![key(1), key(3)]);
        assert_eq!([1, 2, 3, 4].map(|n| participants.of(&key(n)).len()), [2, 0, 1, 0]);
        participants.remove(other);
        participants.remove(other);
        assert_eq!(participants.of(&key(1)), [one]);
        participants.remove(one);
        assert!(participants.0.read().by_key.is_empty() && participants.0.read().by_stream.is_empty());
    }
}
