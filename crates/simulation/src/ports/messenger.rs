//! The real messenger, with an observer of the messages sent.

use std::sync::Arc;

use usher_engine::ports::{Messenger, OutgoingMessage};
use usher_protocol::EventId;
use usher_relays::RelayPool;

use crate::world::World;
use crate::world::instances::Seat;

/// The real relay pool, observed.
pub struct Observed {
    /// The pool.
    pub pool: Arc<RelayPool>,
    /// The world.
    pub world: Arc<World>,
    /// Whose it is, of several instances.
    pub seat: Option<Seat>,
}

impl Messenger for Observed {
    fn send(&self, message: &OutgoingMessage) -> Vec<EventId> {
        {
            let mut state = self.world.lock();
            state.asks(message);
            state.call_begins(self.seat, "a message to a wallet");
        }
        self.pool.send(message)
    }

    fn relays(&self) -> Vec<String> {
        self.pool.relays()
    }
}
