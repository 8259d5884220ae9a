//! The logins that this page has begun. Anybody can begin one, and complete it with a key of their own, so the page removes what is
//! left of them: when it has seen the outcome, and the oldest when there are too many. Those that nobody has used yet are bounded by
//! the engine as well.

use std::collections::VecDeque;

use parking_lot::Mutex;
use usher_engine::ports::StoreError;
use usher_engine::{ClientNetwork, Engine, StreamId};

/// Most of them, in all. A restart forgets which they were: then they are removed after their retention.
const MOST: usize = 2_000;

/// Most of one network. Those who come over loopback may be everybody.
const MOST_OF_NETWORK: usize = MOST / 8;

#[derive(Default)]
pub(super) struct BegunLogins(Mutex<VecDeque<(StreamId, ClientNetwork)>>);

impl BegunLogins {
    /// Makes room for another login of this network. `false` when the users of all others are at them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn make_room(&self, engine: &Engine, network: ClientNetwork) -> Result<bool, StoreError> {
        loop {
            let removed = {
                let mut begun = self.0.lock();
                let of_network = begun.iter().filter(|(_, of)| *of == network).count();
                let is_network_full = network != ClientNetwork::Loopback && of_network >= MOST_OF_NETWORK;
                if !is_network_full && begun.len() < MOST {
                    return Ok(true);
                }
                let makes_room = |(login, of): &(StreamId, ClientNetwork)| {
                    (!is_network_full || *of == network) && !engine.logins().is_in_use(*login)
                };
                let oldest = begun.iter().position(makes_room);
                oldest.and_then(|position| begun.remove(position))
            };
            match removed {
                Some((login, _)) => engine.logins().forget(login).await?,
                None => return Ok(false),
            }
        }
    }

    pub(super) fn add(&self, login: StreamId, network: ClientNetwork) {
        self.0.lock().push_back((login, network));
    }

    /// Removes a login whose outcome was seen.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn forget(&self, engine: &Engine, login: StreamId) -> Result<(), StoreError> {
        engine.logins().forget(login).await?;
        self.0.lock().retain(|(begun, _)| *begun != login);
        Ok(())
    }
}
