//! Limits how many resources of one kind clients hold. A key holds at most a quarter of them, and all keys together
//! leave an eighth to the token: one leaked key blocks no other client.

use usher_engine::Origin;
use usher_places::{Holder, Limit, Place, SharedPlaces};

use crate::problem::{ErrorCode, Problem, RETRY_SECONDS};

/// A number of places of one kind.
pub(crate) struct ClientPlaces {
    places: SharedPlaces,
    name: &'static str,
}

/// All places are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Full {
    #[error("{0} is reached")]
    All(&'static str),
    #[error("the API key holds a quarter of {0}, which is its share")]
    OfKey(&'static str),
}

/// The holder of a client's places. `None`: the token.
pub(crate) fn holder(client: Option<Origin>) -> Holder {
    client.map_or_else(Holder::operator, |Origin(key)| Holder::key(&key.to_string()))
}

impl ClientPlaces {
    /// `total` places, called `name` in errors.
    pub(crate) fn new(limit: &Limit, total: usize, name: &'static str) -> Self {
        Self { places: SharedPlaces::new(limit.of(total)), name }
    }

    /// Takes a place for this key. `None`: the token.
    pub(crate) fn take(&self, client: Option<Origin>) -> Result<Place, Full> {
        let taken = self.places.take(&holder(client));
        taken.map_err(|full| if full.is_of_holder { Full::OfKey(self.name) } else { Full::All(self.name) })
    }

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
