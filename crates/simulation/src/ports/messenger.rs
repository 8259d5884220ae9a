//! The real messenger, with an observer of the messages sent.

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
    fn send(&self, message: &OutgoingMessage) -> Vec<EventId> {
        self.world.lock().asks(message);
        self.pool.send(message)
    }

    fn relays(&self) -> Vec<String> {
        self.pool.relays()
    }
}
