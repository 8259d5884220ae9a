//! Places for what clients hold for a while. A key has a quarter of them at most, and all keys leave an eighth to the token: so one
//! leaked key locks nobody out.

use std::time::Duration;

use usher_engine::Origin;
use usher_places::{Holder, Limits, Place, Protection, SharedPlaces, WhenFull};

use crate::problem::{ErrorCode, Problem, RETRY_SECONDS};

/// So many places of one kind.
pub(crate) struct ClientPlaces {
    places: SharedPlaces,
    limit: &'static str,
}

/// There is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    #[error("{0} is reached")]
    All(&'static str),
    #[error("the API key holds a quarter of {0}, which is its share")]
    OfKey(&'static str),
}

/// Of so many places, the most that one key may hold.
pub(crate) fn most_of_key(all: usize) -> usize {
    (all / 4).max(1)
}

/// Of so many places, those that only the token takes.
pub(crate) const fn reserved(all: usize) -> usize {
    all / 8
}

impl ClientPlaces {
    /// `total` places; `limit` is what errors call them.
    pub(crate) fn new(total: usize, limit: &'static str) -> Self {
        let (share, reserved) = (most_of_key(total), reserved(total));
        let limits = Limits { total, share, reserved, when_full: WhenFull::Refuse, protection: Protection::NONE };
        Self { places: SharedPlaces::new(limits), limit }
    }

    /// A place for this key; `None` is the token.
    pub(crate) fn take(&self, client: Option<Origin>) -> Result<Place, Full> {
        let holder = client.map_or_else(Holder::operator, |Origin(key)| Holder::key(&key.to_string()));
        // Nobody is displaced: what time it is does not matter.
        let taken = self.places.take(&holder, (), Duration::ZERO).map(|(place, _)| place);
        taken.map_err(|full| if full.is_of_holder { Full::OfKey(self.limit) } else { Full::All(self.limit) })
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.places.len()
    }
}

impl From<Full> for Problem {
    fn from(full: Full) -> Self {
        Self::new(ErrorCode::Overloaded, full.to_string()).retry_after(RETRY_SECONDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_a_quarter_and_keys_leave_an_eighth_to_the_token() {
        let places = ClientPlaces::new(16, "x");
        let mut held = Vec::new();
        let mut most = |client: Option<Origin>| loop {
            match places.take(client) {
                Ok(place) => held.push(place),
                Err(full) => return (held.len(), full),
            }
        };
        for (key, taken) in [(1, 4), (2, 8), (3, 12)] {
            assert_eq!(most(Some(Origin(key))), (taken, Full::OfKey("x")));
        }
        assert_eq!(most(Some(Origin(4))), (14, Full::All("x")));
        assert_eq!(most(None), (16, Full::All("x")));
        held.truncate(3);
        assert!(places.take(Some(Origin(1))).is_ok() && places.taken() == 3);
    }
}
