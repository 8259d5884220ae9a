//! The service's randomness: the seed's.

use parking_lot::Mutex;
use usher_engine::ports::Randomness;

use crate::seeded_decisions::Decisions;

/// Randomness from a seed. It continues across restarts of the service.
#[derive(Debug)]
pub struct Seeded(Mutex<Decisions>);

impl Seeded {
    /// Of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Decisions::new(seed)))
    }
}

impl Randomness for Seeded {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().fill(bytes);
    }
}
