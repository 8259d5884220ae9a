//! How many scans a reusable handshake takes: its URL is public, anybody can make keys, and each scan is kept.

use std::num::NonZeroUsize;

use lru::LruCache;
use parking_lot::Mutex;

use crate::{StreamId, UnixMillis};

/// Scans taken at once: a crowd that all read one poster.
const BURST: u64 = 3000;

/// Scans per second after that: a busy door. At some 2 KB each a stranger who floods one adds under 1 GB a day.
const PER_SECOND: u64 = 5;

/// Doors whose scans are counted; a door not heard of for longest is forgotten, and its crowd may be a full one again.
const DOORS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// Scans of reusable handshakes, counted in memory.
pub(super) struct Doors(Mutex<LruCache<StreamId, Door>>);

struct Door {
    /// Thousandths of scans that may still come.
    left: u64,
    at: UnixMillis,
}

impl Default for Doors {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(DOORS)))
    }
}

impl Doors {
    /// Whether another scan is taken now.
    pub(super) fn admits(&self, stream: StreamId, now: UnixMillis) -> bool {
        let mut doors = self.0.lock();
        let door = doors.get_or_insert_mut(stream, || Door { left: BURST * 1000, at: now });
        let passed = now.0.saturating_sub(door.at.0);
        door.left = door.left.saturating_add(passed.saturating_mul(PER_SECOND)).min(BURST * 1000);
        door.at = now;
        let admitted = door.left >= 1000;
        if admitted {
            door.left -= 1000;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_crowd_is_let_in_and_a_flood_is_not() {
        let (doors, now) = (Doors::default(), UnixMillis(1_800_000_000_000));
        let [door, other] = [1, 2].map(|n| StreamId::from_parts(now.0, [n; 10]));
        let admitted = |door, now, tries| (0..tries).filter(|_| doors.admits(door, now)).count();
        assert_eq!(admitted(door, now, 10_000), 3000);
        assert_eq!(admitted(other, now, 10), 10, "doors are counted one by one");
        assert_eq!(admitted(door, now.plus(Duration::from_secs(60)), 10_000), 300);
        assert_eq!(admitted(door, now.plus(Duration::from_secs(100_000)), 10_000), 3000);
    }
}
