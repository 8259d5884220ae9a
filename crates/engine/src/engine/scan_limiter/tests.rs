use super::*;

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

struct World {
    limiter: ScanLimiter,
    scans: std::cell::Cell<u64>,
}

fn world() -> World {
    World { limiter: ScanLimiter::default(), scans: std::cell::Cell::new(0) }
}

fn stream(n: u8) -> StreamId {
    StreamId::from_parts(NOW.0, [n; 10])
}

fn key(n: u64) -> PublicKey {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&n.to_be_bytes());
    PublicKey::from_byte_array(bytes)
}

fn over(relay: &str) -> Via {
    Via { relay: Some(relay.into()), copy: false }
}

impl World {
    fn scan(&self, author: u64, via: &Via, now: UnixMillis) -> Scan {
        self.scans.set(self.scans.get() + 1);
        let mut event = [0; 32];
        event[..8].copy_from_slice(&self.scans.get().to_be_bytes());
        self.limiter.admit(stream(1), key(author), EventId::from_byte_array(event), via, now)
    }

    /// How many of these authors are accepted.
    fn crowd(&self, authors: std::ops::Range<u64>, via: &Via, now: UnixMillis) -> usize {
        authors.filter(|author| self.scan(*author, via, now) == Scan::Accepted).count()
    }
}

#[test]
fn one_key_uses_up_one_scan_a_minute_and_nothing_of_anybody_else() {
    let world = world();
    // What the report had: a burst of one key, then 20 a second of it.
    assert_eq!((0..3_100).filter(|_| world.scan(1, &over("a"), NOW) == Scan::Accepted).count(), 1);
    let mut accepted = 0;
    for tick in 0..600_u64 {
        let now = NOW.plus(Duration::from_millis(tick * 50));
        assert_ne!(world.scan(1, &over("a"), now), Scan::Accepted);
        if tick % 60 == 0 {
            accepted += world.crowd(100 + tick..101 + tick, &over("a"), now);
        }
    }
    assert_eq!(accepted, 10, "every honest user");
    assert_eq!(world.scan(1, &over("a"), NOW.plus(PER_AUTHOR)), Scan::Accepted, "a minute later it is another scan");
}

#[test]
fn a_flood_of_keys_over_one_relay_leaves_the_others_open() {
    let world = world();
    assert_eq!(world.crowd(0..100_000, &over("a"), NOW), 3_000);
    assert!(matches!(world.scan(200_000, &over("a"), NOW), Scan::Refused { limit: ScanLimit::Relay, .. }));
    assert_eq!(world.crowd(300_000..300_010, &over("b"), NOW), 10);
    assert_eq!(
        world.crowd(400_000..400_010, &Via { relay: None, copy: false }, NOW),
        10,
        "relays of users are one more"
    );
    // Two relays flooded: the sum is used up, and the third has a reserve of its own.
    world.crowd(500_000..600_000, &over("b"), NOW);
    assert_eq!(world.crowd(600_000..600_100, &over("c"), NOW), 60);
    assert!(matches!(world.scan(700_000, &over("c"), NOW), Scan::Refused { limit: ScanLimit::Total, .. }));
}

#[test]
fn what_is_used_up_comes_back() {
    let world = world();
    assert_eq!(world.crowd(0..10_000, &over("a"), NOW), 3_000);
    assert_eq!(world.crowd(10_000..20_000, &over("a"), NOW.plus(Duration::from_secs(60))), 300);
    assert_eq!(world.crowd(20_000..30_000, &over("a"), NOW.plus(Duration::from_secs(100_000))), 3_000);
}

#[test]
fn who_was_accepted_before_comes_in_during_a_flood_over_every_relay() {
    let world = world();
    let relays = ["a", "b", "c"].map(over);
    assert_eq!(world.crowd(0..100, &relays[0], NOW), 100);
    let later = NOW.plus(Duration::from_secs(120));
    for (n, relay) in (0..).zip(&relays) {
        world.crowd(1_000_000 * (n + 1)..1_000_000 * (n + 1) + 10_000, relay, later);
    }
    assert_eq!(world.crowd(200..300, &relays[0], later), 0, "new ones do not");
    assert_eq!(world.crowd(0..100, &relays[0], later), 100);
    assert_eq!(world.crowd(0..100, &relays[0], later.plus(Duration::from_secs(61))), 100, "and once more");
}

#[test]
fn a_copy_over_another_relay_counts_where_there_is_room_and_once() {
    let world = world();
    world.crowd(0..5_000, &over("a"), NOW);
    let (event, via_b) = (EventId::from_byte_array([9; 32]), Via { copy: true, ..over("b") });
    let scan = |via: &Via| world.limiter.admit(stream(1), key(9_999), event, via, NOW);
    assert!(matches!(scan(&over("a")), Scan::Refused { limit: ScanLimit::Relay, .. }));
    assert_eq!(scan(&via_b), Scan::Accepted);
    assert_eq!(scan(&Via { copy: true, ..over("c") }), Scan::Copy);
}

#[test]
fn handshakes_are_counted_one_by_one() {
    let world = world();
    world.crowd(0..5_000, &over("a"), NOW);
    let scan = world.limiter.admit(stream(2), key(1), EventId::from_byte_array([1; 32]), &over("a"), NOW);
    assert_eq!(scan, Scan::Accepted);
    assert_eq!(world.limiter.refused(stream(1)), 2_000);
    assert_eq!(world.limiter.refused(stream(2)), 0);
    world.limiter.forget(stream(1));
    assert_eq!(world.limiter.refused(stream(1)), 0);
}

#[test]
fn a_clock_that_is_set_back_locks_nobody_out() {
    let world = world();
    let ahead = NOW.plus(Duration::from_secs(3 * 3600));
    assert_eq!(world.crowd(0..3_000, &over("a"), ahead), 3_000);
    assert_eq!(world.crowd(5_000..5_010, &over("a"), NOW), 0);
    assert_eq!(world.crowd(5_000..5_010, &over("a"), NOW.plus(Duration::from_secs(2))), 10);
    assert_eq!(world.scan(1, &over("a"), NOW.plus(Duration::from_secs(10))), Scan::Accepted, "it was not a minute ago");
}

#[test]
fn warnings_are_few_and_tell_how_many() {
    let world = world();
    world.crowd(0..3_000, &over("a"), NOW);
    let mut warnings = Vec::new();
    for tick in 0..1_200_u64 {
        let now = NOW.plus(Duration::from_millis(tick * 100));
        if let Scan::Refused { warn: Some(count), .. } = world.scan(0, &over("a"), now) {
            warnings.push(count);
        }
    }
    // 0 is the key of a user who was accepted, so each minute one is, and the rest refused for its author.
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[1] > 500, "{warnings:?}");
}

#[test]
fn memory_is_bounded() {
    let world = world();
    for n in 0..200_000_u64 {
        let mut id = [0; 10];
        id[..8].copy_from_slice(&n.to_be_bytes());
        let event = EventId::from_byte_array([1; 32]);
        let via = over(&n.to_string());
        world.limiter.admit(StreamId::from_parts(NOW.0, id), key(n), event, &via, NOW);
        world.limiter.admit(stream(1), key(n), event, &via, NOW);
    }
    let state = world.limiter.0.lock();
    assert_eq!((state.handshakes.len(), state.authors.len()), (HANDSHAKES, AUTHORS));
    assert!(state.handshakes.iter().all(|(_, handshake)| handshake.new_users.relays.len() <= RELAYS));
}
