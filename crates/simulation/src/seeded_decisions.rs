//! The seed's decisions.

use std::ops::Range;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, RngCore as _, SeedableRng as _};

/// Decides by a seed.
#[derive(Debug)]
pub struct Decisions(StdRng);

impl Decisions {
    /// The decisions of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// Whether it happens, with this probability in percent.
    pub fn percent(&mut self, chances: u32) -> bool {
        self.0.random_range(0..100) < chances
    }

    /// A number of the range; its start when it is empty.
    pub fn number(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() { range.start } else { self.0.random_range(range) }
    }

    /// One of them.
    pub fn pick<T: Copy>(&mut self, of: &[T], or: T) -> T {
        let place = usize::try_from(self.number(0..of.len() as u64)).unwrap_or_default();
        of.get(place).copied().unwrap_or(or)
    }

    /// A time within the range of milliseconds: mostly near its start, now and then anywhere.
    pub fn delay(&mut self, millis: Range<u64>) -> Duration {
        let end = if self.percent(80) { millis.start + (millis.end - millis.start) / 20 } else { millis.end };
        Duration::from_millis(self.number(millis.start..end.max(millis.start + 1)))
    }

    /// Bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}
