use std::cell::Cell;

use super::authors::{PER_AUTHOR, PER_AUTHOR_ON_PAGES};
use super::waiting::WAITS;
use super::*;
use crate::testing::SeededRandomness;

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

struct World {
    limiter: ScanLimiter,
    /// How many more logins may start.
    room: Cell<usize>,
    scans: Cell<u64>,
    randomness: SeededRandomness,
}

fn world() -> World {
    World {
        limiter: ScanLimiter::default(),
        room: Cell::new(usize::MAX),
        scans: Cell::new(0),
        randomness: SeededRandomness::new(1),
    }
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

/// What one program sends, and what a user's wallet sends.
fn handshake(relay: &str) -> KeyHandshake {
    KeyHandshake { token: "door".to_owned(), client_info: None, preferred_relays: vec![relay.to_owned()] }
}

fn moment(now: UnixMillis) -> Moment {
    Moment { now, monotonic: now.since(NOW) }
}

impl World {
    fn scan_of(&self, author: u64, via: &Via) -> Scan {
        self.scans.set(self.scans.get() + 1);
        let mut event = [0; 32];
        event[..8].copy_from_slice(&self.scans.get().to_be_bytes());
        let event = EventId::from_byte_array(event);
        let target = ScanTarget::Handshake;
        Scan { target, author: key(author), event, sent_at: NOW, handshake: handshake("wss://a"), via: via.clone() }
    }

    fn admit(&self, on: StreamId, scan: Scan, now: UnixMillis) -> Admission {
        let has_room = |starting| starting < self.room.get();
        let admission = self.limiter.admit(on, scan, moment(now), &has_room, &self.randomness);
        self.limiter.took_effect(u64::from(matches!(admission, Admission::Accepted(_))));
        admission
    }

    fn scan(&self, author: u64, via: &Via, now: UnixMillis) -> Admission {
        self.admit(stream(1), self.scan_of(author, via), now)
    }

    fn is_accepted(&self, author: u64, via: &Via, now: UnixMillis) -> bool {
        matches!(self.scan(author, via, now), Admission::Accepted(_))
    }

    /// How many of these authors are accepted at once.
    fn crowd(&self, authors: std::ops::Range<u64>, via: &Via, now: UnixMillis) -> usize {
        authors.filter(|author| self.is_accepted(*author, via, now)).count()
    }

    fn draw(&self, now: UnixMillis) -> Vec<(StreamId, PublicKey)> {
        let drawn = self.limiter.draw(moment(now), &|starting| starting < self.room.get(), &self.randomness);
        self.limiter.took_effect(drawn.len() as u64);
        drawn.into_iter().map(|(stream, scan)| (stream, scan.author)).collect()
    }

    fn look_up(&self, known: impl Fn(&PublicKey) -> bool, now: UnixMillis) {
        for (stream, place) in self.limiter.unchecked(usize::MAX) {
            self.limiter.checked(stream, &place, known(&place.0), now, &self.randomness);
        }
    }
}

#[test]
fn one_key_is_limited_to_a_scan_per_minute_without_affecting_others() {
    let world = world();
    // What the report had: a burst of one key, then 20 a second of it.
    assert_eq!((0..3_100).filter(|_| world.is_accepted(1, &over("a"), NOW)).count(), 1);
    let mut accepted = 0;
    for tick in 0..600_u64 {
        let now = NOW.plus(Duration::from_millis(tick * 50));
        assert!(!world.is_accepted(1, &over("a"), now));
        if tick % 60 == 0 {
            accepted += world.crowd(100 + tick..101 + tick, &over("a"), now);
        }
    }
    assert_eq!(accepted, 10, "every honest user");
    assert!(world.is_accepted(1, &over("a"), NOW.plus(PER_AUTHOR)), "a minute later it is another scan");
}

#[test]
fn flood_over_one_relay_does_not_block_other_relays() {
    let world = world();
    assert_eq!(world.crowd(0..100_000, &over("a"), NOW), 3_000);
    assert_eq!(world.scan(200_000, &over("a"), NOW), Admission::Waits);
    assert_eq!(world.crowd(300_000..300_010, &over("b"), NOW), 10);
    assert_eq!(
        world.crowd(400_000..400_010, &Via { relay: None, copy: false }, NOW),
        10,
        "relays of users are one more"
    );
    // Two relays flooded: the sum is used up, and the third has a reserve of its own.
    world.crowd(500_000..600_000, &over("b"), NOW);
    assert_eq!(world.crowd(600_000..600_100, &over("c"), NOW), 60);
    assert_eq!(world.scan(700_000, &over("c"), NOW), Admission::Waits);
}

#[test]
fn allowance_refills_over_time() {
    let world = world();
    assert_eq!(world.crowd(0..10_000, &over("a"), NOW), 3_000);
    assert_eq!(world.crowd(10_000..20_000, &over("a"), NOW.plus(Duration::from_secs(60))), 300);
    assert_eq!(world.crowd(20_000..30_000, &over("a"), NOW.plus(Duration::from_secs(100_000))), 3_000);
}

#[test]
fn known_users_are_accepted_during_a_flood_over_every_relay() {
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
fn copy_over_another_relay_is_accepted_once() {
    let world = world();
    world.crowd(0..5_000, &over("a"), NOW);
    let event = world.scan_of(9_999, &over("a"));
    let copy = |relay: &str| Scan { via: Via { copy: true, ..over(relay) }, ..event.clone() };
    assert_eq!(world.admit(stream(1), event.clone(), NOW), Admission::Waits);
    assert_eq!(world.admit(stream(1), copy("b"), NOW), Admission::Accepted(Box::new(copy("b"))));
    assert_eq!(world.admit(stream(1), copy("c"), NOW), Admission::Copy);
    assert_eq!(world.limiter.waiting(stream(1)), 2_000, "it waits no longer");
}

#[test]
fn handshakes_are_limited_separately() {
    let world = world();
    world.crowd(0..5_000, &over("a"), NOW);
    assert!(matches!(world.admit(stream(2), world.scan_of(1, &over("a")), NOW), Admission::Accepted(_)));
    world.draw(NOW.plus(WAITS));
    assert_eq!((world.limiter.waiting(stream(1)), world.limiter.refused(stream(1))), (0, 2_000));
    assert_eq!(world.limiter.refused(stream(2)), 0);
    world.limiter.forget(stream(1));
    assert_eq!(world.limiter.refused(stream(1)), 0);
}

#[test]
fn clock_set_back_locks_nobody_out() {
    let world = world();
    let ahead = NOW.plus(Duration::from_secs(3 * 3600));
    assert_eq!(world.crowd(0..3_000, &over("a"), ahead), 3_000);
    assert_eq!(world.crowd(5_000..5_010, &over("a"), NOW), 0);
    assert_eq!(world.crowd(5_000..5_010, &over("a"), NOW.plus(Duration::from_secs(2))), 10);
    assert!(world.is_accepted(1, &over("a"), NOW.plus(Duration::from_secs(10))), "it was not a minute ago");
}

#[test]
fn warnings_are_rate_limited_and_include_counts() {
    let world = world();
    world.crowd(0..3_000, &over("a"), NOW);
    let mut warnings = Vec::new();
    for tick in 0..1_200_u64 {
        world.scan(0, &over("a"), NOW.plus(Duration::from_millis(tick * 100)));
        warnings.extend(world.limiter.take_warning().map(|warning| warning.count));
    }
    // 0 is the key of a user who was accepted, so each minute one is, and the rest refused for its author.
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[1] > 500, "{warnings:?}");
}

/// All limits of new users are used up, over all relays.
fn flooded() -> World {
    let world = world();
    for (n, relay) in (1..).zip(["a", "b", "c"]) {
        world.crowd(n * 1_000_000..n * 1_000_000 + 10_000, &over(relay), NOW);
    }
    assert_eq!(world.limiter.waiting(stream(1)), WAITING as u64);
    world
}

/// The honest users, each at another second of a flood of `per_second` new keys over all relays, who are not in within `wait`
/// seconds; and how many were let in of all in a second.
fn left_out(world: &World, per_second: u64, honest: impl Fn(u64) -> Scan, wait: u64) -> (Vec<u64>, u64) {
    const USERS: u64 = 50;
    let (mut keys, mut accepted, mut all) = (100_000_000, std::collections::HashMap::new(), 0);
    let begin = world.limiter.counts().accepted;
    for tick in 0..(USERS + wait) * 20 {
        let now = NOW.plus(Duration::from_millis((tick + 1) * 50));
        for n in 0..(per_second * (tick + 1) / 20 - per_second * tick / 20) {
            keys += 1;
            world.scan(keys, &over(["a", "b", "c"][n as usize % 3]), now);
        }
        if tick % 20 == 0 && tick / 20 < USERS {
            let user = tick / 20;
            if let Admission::Accepted(scan) = world.admit(stream(1), honest(user), now) {
                accepted.insert(scan.author, tick);
            }
        }
        accepted.extend(world.draw(now).into_iter().map(|(_, author)| (author, tick)));
        all = world.limiter.counts().accepted - begin;
    }
    let in_time = |user: &u64| accepted.get(&honest(*user).author).is_some_and(|tick| *tick <= (user + wait) * 20);
    ((0..USERS).filter(|user| !in_time(user)).collect(), all / (USERS + wait))
}

#[test]
fn new_users_are_drawn_at_random_during_a_flood() {
    // The flood sends as many scans as are admitted. Nearly everybody gets in, although the flood copies their scans exactly.
    let world = flooded();
    let same = |user| world.scan_of(user, &over("a"));
    let (out, _) = left_out(&world, 10, same, 300);
    assert!(out.len() <= 3, "{out:?}");
}

#[test]
fn uniform_flood_gets_at_most_half_of_the_draws() {
    for per_second in [20, 200, 1000] {
        let world = flooded();
        let other = |user| Scan { handshake: handshake("wss://nos.lol"), ..world.scan_of(user, &over("a")) };
        let (out, rate) = left_out(&world, per_second, other, 5);
        assert!(out.len() <= 5, "{per_second} a second: {out:?} of 50");
        assert!(rate <= 30, "what is stored is bounded: {rate} a second");
    }
}

#[test]
fn waiting_scans_have_equal_chances() {
    let world = flooded();
    let same = |user| world.scan_of(user, &over("a"));
    let (out, _) = left_out(&world, 80, same, 150);
    assert!((22..46).contains(&out.len()), "about a third comes in: {} of 50 do not", out.len());
}

#[test]
fn known_users_are_accepted_regardless_of_waiting_scans() {
    let world = flooded();
    let now = NOW.plus(Duration::from_secs(1));
    let known: Vec<_> = (0..100).map(key).collect();
    // Nothing is known of them after a restart.
    let mut accepted = world.crowd(0..100, &over("a"), now);
    assert!(accepted < 10, "{accepted}");
    world.look_up(|author| known.contains(author), now);
    accepted += world.draw(now).into_iter().filter(|(_, author)| known.contains(author)).count();
    assert_eq!(accepted, 100);
    assert!(world.limiter.unchecked(1).is_empty(), "the store is asked once");
    // From then on without the store, once a minute.
    assert!(!world.is_accepted(1, &over("a"), now));
    assert!(world.is_accepted(1, &over("a"), now.plus(PER_AUTHOR)));
}

#[test]
fn flood_of_one_handshake_does_not_affect_others() {
    let world = flooded();
    for user in 0..200 {
        let scan = world.scan_of(user, &over("a"));
        assert!(matches!(world.admit(stream(2), scan, NOW), Admission::Accepted(_)), "{user}");
    }
    // Also when all of them are flooded: each has its turn.
    for n in 2..12 {
        for user in 0..3_100 {
            world.admit(stream(n), world.scan_of(1_000_000 + user, &over("a")), NOW);
        }
    }
    let drawn = world.draw(NOW.plus(Duration::from_secs(1)));
    for n in 1..12 {
        let of = drawn.iter().filter(|(on, _)| *on == stream(n)).count();
        assert!((9..=10).contains(&of), "{n}: {of} of {}", drawn.len());
    }
}

#[test]
fn every_scan_is_accepted_refused_or_waiting() {
    let world = flooded();
    let counts = world.limiter.counts();
    assert_eq!(counts.accepted + counts.refused.iter().sum::<u64>() + counts.waiting, 30_000);
    assert_eq!(counts.refused[ScanLimit::Author as usize], 0);
    // Another scan of a waiting key replaces the first one and does not count again.
    let mut waiting = world.scan_of(9, &over("a"));
    world.admit(stream(1), waiting.clone(), NOW);
    let before = world.limiter.counts();
    waiting.event = EventId::from_byte_array([9; 32]);
    assert_eq!(world.admit(stream(1), waiting, NOW), Admission::Waits);
    assert_eq!(world.limiter.counts(), before);
    world.limiter.forget(stream(1));
    let counts = world.limiter.counts();
    assert_eq!((counts.waiting, counts.accepted + counts.refused.iter().sum::<u64>()), (0, 30_001));
    assert!(!world.limiter.has_waiting());
}

#[test]
fn memory_is_bounded() {
    let world = world();
    let long: Vec<_> = (0..16).map(|n| format!("wss://{n}{}.example", "x".repeat(200))).collect();
    for n in 0..200_000_u64 {
        let mut id = [0; 10];
        id[..8].copy_from_slice(&n.to_be_bytes());
        let scan = world.scan_of(n, &over(&n.to_string()));
        world.admit(StreamId::from_parts(NOW.0, id), scan, NOW);
        let handshake = KeyHandshake { preferred_relays: long.clone(), ..handshake("wss://a") };
        world.admit(stream((n % 20) as u8), Scan { handshake, ..world.scan_of(n, &over("a")) }, NOW);
    }
    let state = world.limiter.state.lock();
    assert_eq!((state.handshakes.len(), state.authors.len()), (HANDSHAKES, AUTHORS));
    let relays = state.handshakes.iter().map(|(_, handshake)| handshake.new_users.relays()).max();
    assert!(relays.is_some_and(|relays| relays <= rates::RELAYS));
    assert_eq!(state.waiting(), WAITING_IN_ALL);
    for pools in state.pools.values() {
        assert!((WAITING_IN_ALL / 21..=WAITING).contains(&pools.len()), "the largest make room: {}", pools.len());
        for scan in pools.new_users.scans() {
            let relays = &scan.handshake.preferred_relays;
            assert!(relays.iter().map(String::len).sum::<usize>() <= 512 && scan.handshake.token.len() < 800);
        }
    }
}

impl World {
    fn login_scan(&self, author: u64, target: ScanTarget) -> Scan {
        Scan { target, ..self.scan_of(author, &over("a")) }
    }

    /// The place of an accepted login is taken.
    fn admit_login(&self, on: StreamId, author: u64, target: ScanTarget, now: UnixMillis) -> Admission {
        let admission = self.admit(on, self.login_scan(author, target), now);
        if matches!(admission, Admission::Accepted(_)) {
            self.room.set(self.room.get() - 1);
        }
        admission
    }

    fn prove(&self, author: u64, event: u8, is_known: bool, now: UnixMillis) -> Result<(), ScanLimit> {
        let proof = (key(author), EventId::from_byte_array([event; 32]));
        let admitted = self.limiter.admit_proof(stream(1), stream(9), proof, is_known, now)?;
        self.limiter.took_effect(u64::from(admitted.charge.is_some()));
        Ok(())
    }

    fn refused(&self, limit: ScanLimit) -> u64 {
        self.limiter.counts().refused[limit as usize]
    }
}

#[test]
fn scans_wait_for_room_and_take_nothing_of_the_limits() {
    let world = world();
    world.room.set(2);
    let login = ScanTarget::Login;
    for author in 0..2 {
        assert!(matches!(world.admit_login(stream(1), author, login, NOW), Admission::Accepted(_)));
    }
    for author in 2..5 {
        assert_eq!(world.admit_login(stream(1), author, login, NOW), Admission::WaitsForRoom);
        // The wallet sends it again: it is no second scan, and none too many.
        assert_eq!(world.admit_login(stream(1), author, login, NOW), Admission::WaitsForRoom);
    }
    assert_eq!((world.limiter.waiting(stream(1)), world.limiter.refused(stream(1))), (3, 0));
    assert!(world.is_accepted(77, &over("a"), NOW), "a handshake starts no login");
    assert!(world.draw(NOW).is_empty());

    world.room.set(2);
    assert_eq!(world.admit_login(stream(1), 9, login, NOW), Admission::WaitsForRoom, "others wait for longer");
    assert_eq!(world.draw(NOW).len(), 2);
    world.room.set(0);
    assert!(world.draw(NOW).is_empty());
    assert_eq!(world.limiter.waiting(stream(1)), 2);
    world.room.set(8);
    assert_eq!(world.draw(NOW).len(), 2);
    assert!(matches!(world.admit_login(stream(1), 10, login, NOW), Admission::Accepted(_)), "nobody waits any more");

    // Too long.
    world.room.set(0);
    world.admit_login(stream(1), 11, login, NOW);
    world.draw(NOW.plus(WAITS));
    assert_eq!((world.refused(ScanLimit::Room), world.limiter.refused(stream(1))), (1, 1));
}

#[test]
fn each_url_has_its_share_of_the_room() {
    let world = world();
    world.room.set(0);
    for author in 0..1_000 {
        world.admit_login(stream(1), author, ScanTarget::Login, NOW);
    }
    // Its keys are known: they have logged in before.
    world.look_up(|_| true, NOW);
    world.admit_login(stream(2), 5_000, ScanTarget::Login, NOW);
    for _ in 0..3 {
        world.room.set(1);
        if world.draw(NOW).iter().any(|(on, _)| *on == stream(2)) {
            return;
        }
    }
    panic!("a flood of one URL takes all of the room");
}

#[test]
fn a_scan_whose_place_was_taken_waits_and_is_no_second_scan() {
    let world = world();
    world.room.set(1);
    let scan = world.login_scan(1, ScanTarget::Login);
    let has_room = |starting| starting < world.room.get();
    let accepted = world.limiter.admit(stream(1), scan.clone(), moment(NOW), &has_room, &world.randomness);
    assert_eq!(accepted, Admission::Accepted(Box::new(scan.clone())));
    world.room.set(0);
    world.limiter.had_no_room(stream(1), scan.clone(), moment(NOW), &world.randomness);
    let counts = world.limiter.counts();
    assert_eq!((counts.accepted, counts.waiting), (0, 1));
    assert_eq!(world.admit(stream(1), scan, NOW), Admission::Copy, "it is not lost, and no other");
    world.room.set(1);
    assert_eq!(world.draw(NOW), [(stream(1), key(1))]);
    assert_eq!(world.limiter.counts().accepted, 1);
    assert_eq!(world.admit_login(stream(1), 1, ScanTarget::Login, NOW), Admission::Refused, "a minute is a minute");
}

#[test]
fn who_has_become_known_while_waiting_waits_once() {
    let world = world();
    world.room.set(0);
    world.admit_login(stream(1), 1, ScanTarget::Login, NOW);
    assert_eq!(world.prove(1, 1, false, NOW), Ok(()));
    world.admit_login(stream(1), 1, ScanTarget::Login, NOW);
    assert_eq!(world.limiter.waiting(stream(1)), 1);
    world.room.set(9);
    assert_eq!(world.draw(NOW), [(stream(1), key(1))]);
}

#[test]
fn known_users_and_new_ones_take_turns_when_places_free_up_one_by_one() {
    let world = world();
    world.room.set(0);
    for author in 0..40 {
        world.admit_login(stream(1), author, ScanTarget::Login, NOW);
    }
    world.look_up(|author| (0..20).any(|known| *author == key(known)), NOW);
    let mut known = 0;
    for n in 0..10 {
        world.room.set(1);
        let drawn = world.draw(NOW.plus(Duration::from_millis(50 * n)));
        assert_eq!(drawn.len(), 1);
        known += u32::from((0..20).any(|known| drawn[0].1 == key(known)));
    }
    assert_eq!(known, 5);
}

/// Events are public: whoever has seen one can send it again over another relay.
#[test]
fn an_old_event_that_is_repeated_neither_counts_nor_takes_the_place_of_a_new_one() {
    let world = world();
    let old = world.login_scan(1, ScanTarget::Login);
    assert!(matches!(world.admit(stream(1), old.clone(), NOW), Admission::Accepted(_)));
    let later = NOW.plus(PER_AUTHOR);
    for copy in [false, true] {
        let again = Scan { via: Via { copy, ..over("b") }, ..old.clone() };
        assert_eq!(world.admit(stream(1), again, later), Admission::Copy);
    }
    world.room.set(0);
    let new = Scan { sent_at: later, ..world.login_scan(1, ScanTarget::Login) };
    assert_eq!(world.admit(stream(1), new.clone(), later), Admission::WaitsForRoom);
    // After a restart nothing is remembered of it: the later one stays.
    let unknown = world.login_scan(1, ScanTarget::Login);
    assert_eq!(world.admit(stream(1), unknown.clone(), later), Admission::WaitsForRoom);
    // Another scan of theirs, on a page, has a place of its own.
    let page = Scan { target: ScanTarget::Page(stream(8)), ..world.login_scan(1, ScanTarget::Login) };
    assert_eq!(world.admit(stream(1), page.clone(), later), Admission::WaitsForRoom);
    world.room.set(2);
    let drawn = world.limiter.draw(moment(later), &|starting| starting < 2, &world.randomness);
    let mut events: Vec<_> = drawn.iter().map(|(_, scan)| scan.event).collect();
    events.sort_unstable();
    assert_eq!(events, [new.event, page.event]);

    // One that was handled before a restart is seen to be so only later: then it does not count.
    let other = world.login_scan(2, ScanTarget::Login);
    assert!(matches!(world.admit(stream(1), other.clone(), later), Admission::Accepted(_)));
    world.limiter.in_vain(stream(1), other.target, (other.author, other.event), later);
    assert!(matches!(world.admit_login(stream(1), 2, ScanTarget::Login, later), Admission::Accepted(_)));
    // It gives nothing back twice.
    world.limiter.in_vain(stream(1), other.target, (other.author, other.event), later);
    assert_eq!(world.admit_login(stream(1), 2, ScanTarget::Login, later), Admission::Refused);
}

#[test]
fn a_scan_whose_page_is_over_is_refused_and_a_proof_that_comes_too_late_takes_nothing() {
    let world = world();
    let page = world.login_scan(1, ScanTarget::Page(stream(8)));
    assert!(matches!(world.admit(stream(1), page.clone(), NOW), Admission::Accepted(_)));
    world.limiter.came_too_late(stream(1), page, NOW);
    assert_eq!((world.limiter.refused(stream(1)), world.refused(ScanLimit::Room)), (1, 1));

    // Many keys prove themselves on one page at the same moment: one of them logs in.
    for author in 100..5_000 {
        let proof = (key(author), EventId::from_byte_array([2; 32]));
        let admitted = world.limiter.admit_proof(stream(1), stream(9), proof, false, NOW).ok().unwrap();
        if author > 100 {
            world.limiter.withdraw_proof(&admitted);
        }
    }
    let proven = (5_000..10_000).filter(|author| world.prove(*author, 2, false, NOW).is_ok()).count();
    assert_eq!(proven, 2_999);
}

#[test]
fn logins_begun_on_pages_count_as_scans_of_the_url() {
    let world = world();
    let page = ScanTarget::Page(stream(8));
    // One key begins anew now and then, not all the time.
    assert!(world.is_accepted(1, &over("a"), NOW));
    for _ in 0..PER_AUTHOR_ON_PAGES {
        assert!(matches!(world.admit_login(stream(1), 1, page, NOW), Admission::Accepted(_)));
    }
    assert_eq!(world.admit_login(stream(1), 1, page, NOW), Admission::Refused);
    assert_eq!(world.prove(1, 1, false, NOW), Err(ScanLimit::Author));
    assert_eq!(world.prove(1, 1, false, NOW.plus(PER_AUTHOR)), Ok(()));
    assert_eq!(world.limiter.counts().accepted, 5);

    // New keys: no more than over a relay, and relays keep theirs.
    let later = NOW.plus(PER_AUTHOR);
    let proven = (100..10_000).filter(|author| world.prove(*author, 2, false, later).is_ok()).count();
    assert_eq!(proven, 3_000);
    assert_eq!(world.prove(20_000, 2, false, later), Err(ScanLimit::Relay));
    assert_eq!(world.prove(100, 2, false, later), Ok(()), "it is the same event");
    assert_eq!(world.prove(20_000, 2, true, later), Ok(()), "known users have limits of their own");
    assert!(world.is_accepted(30_000, &over("a"), later));
    assert_eq!(world.limiter.refused(stream(1)), 1, "who is refused counts when that is final");
    world.limiter.proof_refused(stream(1), ScanLimit::Relay, later);
    assert_eq!((world.limiter.refused(stream(1)), world.refused(ScanLimit::Relay)), (2, 1));
}
