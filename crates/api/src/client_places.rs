//! Places for what clients hold for a while. A key has a quarter of them at most, and all keys leave an eighth to the token: so one
//! leaked key locks nobody out.

use usher_engine::Origin;
use usher_places::{Holder, Limit, Place, SharedPlaces};

use crate::problem::{ErrorCode, Problem, RETRY_SECONDS};

/// So many places of one kind.
pub(crate) struct ClientPlaces {
    places: SharedPlaces,
    name: &'static str,
}

/// There is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    #[error("{0} is reached")]
    All(&'static str),
    #[error("the API key holds a quarter of {0}, which is its share")]
    OfKey(&'static str),
}

/// Who holds what this client takes; `None` is the token.
pub(crate) fn holder(client: Option<Origin>) -> Holder {
    client.map_or_else(Holder::operator, |Origin(key)| Holder::key(&key.to_string()))
}

impl ClientPlaces {
    /// `total` places; `name` is what errors call them.
    pub(crate) fn new(limit: &Limit, total: usize, name: &'static str) -> Self {
        Self { places: SharedPlaces::new(limit.of(total)), name }
    }

    /// A place for this key; `None` is the token.
    pub(crate) fn take(&self, client: Option<Origin>) -> Result<Place, Full> {
        let taken = self.places.take(&holder(client));
        taken.map_err(|full| if full.is_of_holder { Full::OfKey(self.name) } else { Full::All(self.name) })
    }

    /// How many are taken.
    pub(crate) fn taken(&self) -> usize {
        self.places.taken()
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
        let places = ClientPlaces::new(&usher_places::limit::WEBSOCKETS, 16, "x");
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
    }
}
