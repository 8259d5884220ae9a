//! The real messenger, with an observer of what is sent.

use std::sync::Arc;

use usher_engine::ports::{Messenger, OutgoingMessage};
use usher_protocol::EventId;
use usher_relays::RelayPool;

use crate::world::World;

/// The real relay pool, observed.
pub struct Observed {
    /// The pool.
    pub pool: Arc<RelayPool>,
    /// The world.
    pub world: Arc<World>,
}

impl Messenger for Observed {
    fn send(&self, letter: &OutgoingMessage) -> Vec<EventId> {
        self.world.lock().asks(letter);
        self.pool.send(letter)
    }

    fn relays(&self) -> Vec<String> {
        self.pool.relays()
    }
}
