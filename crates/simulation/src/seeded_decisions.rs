//! The seed's decisions.

use std::ops::Range;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

#[derive(Debug)]
pub(crate) struct Decisions(StdRng);

impl Decisions {
    pub(crate) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// Whether it happens, with this probability in percent.
    pub(crate) fn percent(&mut self, chances: u32) -> bool {
        self.0.random_range(0..100) < chances
    }

    /// A number of the range; its start when it is empty.
    pub(crate) fn number(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() { range.start } else { self.0.random_range(range) }
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T], or: T) -> T {
        let place = usize::try_from(self.number(0..of.len() as u64)).unwrap_or_default();
        of.get(place).copied().unwrap_or(or)
    }

    /// A time within the range of milliseconds: mostly near its start, now and then anywhere.
    pub(crate) fn delay(&mut self, millis: Range<u64>) -> Duration {
        let end = if self.percent(80) { millis.start + (millis.end - millis.start) / 20 } else { millis.end };
        Duration::from_millis(self.number(millis.start..end.max(millis.start + 1)))
    }
}
