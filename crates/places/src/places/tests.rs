use std::net::{IpAddr, Ipv6Addr};

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const NOW: Duration = Duration::from_secs(1_000);

const fn limits(total: usize) -> Limits {
    Limits {
        total,
        share: total / 8,
        reserved: 0,
        when_full: WhenFull::FewerDisplace,
        protection: Protection { after_seen: Duration::from_secs(90), longest: Duration::from_secs(300) },
    }
}

fn at(address: &str) -> Holder {
    Holder::at(address.parse().unwrap())
}

fn ipv6(network: u128) -> Holder {
    let address = 0x2001_0db8 << 96 | network << 72;
    Holder::at(IpAddr::V6(Ipv6Addr::from_bits(address)))
}

/// Takes places until `count` were given, all of them open; returns those that had to go for them.
fn flood(places: &mut Places<u64>, first: u64, count: u64, holder: impl Fn(u64) -> Holder) -> Vec<u64> {
    let mut displaced = Vec::new();
    for n in first..first + count {
        displaced.extend(places.take(n, &holder(n), (), NOW).unwrap().into_iter().map(|(key, ())| key));
        places.open(&n, NOW);
    }
    displaced
}

fn take(places: &mut Places<u64>, n: u64, holder: &Holder, now: Duration) -> Result<Vec<u64>, Full> {
    places.take(n, holder, (), now).map(|displaced| displaced.into_iter().map(|(key, ())| key).collect())
}

fn full(is_of_holder: bool, seconds: u64) -> Result<Vec<u64>, Full> {
    Err(Full { is_of_holder, retry_after: Some(SECOND * u32::try_from(seconds).unwrap()) })
}

/// What was measured: sixteen networks of 56 bits, in one of 52, hold all places with open connections.
#[test]
fn flood_from_a_wide_network_locks_nobody_out() {
    let mut places = Places::new(limits(2_000));
    assert!(flood(&mut places, 0, 2_000, |n| ipv6(u128::from(n) % 16)).is_empty());
    for n in 0..500 {
        let user = at(&format!("198.51.{}.7", n % 250));
        let displaced = take(&mut places, 10_000 + n, &user, NOW).unwrap();
        assert!(matches!(displaced[..], [gone] if gone < 2_000), "{displaced:?}");
    }
    // The flood goes on, and takes from itself only.
    for n in 3_000..6_000 {
        let displaced = take(&mut places, n, &ipv6(u128::from(n) % 16), NOW + SECOND * 300);
        assert!(displaced.is_ok_and(|displaced| displaced.iter().all(|gone| *gone < 10_000)));
    }
    assert!((10_000..10_500).all(|n| places.get(&n).is_some()));
}

#[test]
fn neighbours_of_a_flood_are_told_apart_at_each_width() {
    for (user, flooded) in [
        // In the same /40: another /48. In the same /48: another /56.
        (ipv6(0x01_00), &(|n| ipv6(u128::from(n) % 0x100)) as &dyn Fn(u64) -> Holder),
        (ipv6(0x00_ff), &|n| ipv6(u128::from(n) % 8)),
        (at("192.0.2.200"), &|n| at(&format!("192.0.2.{}", n % 8))),
    ] {
        let mut places = Places::new(limits(80));
        flood(&mut places, 0, 80, flooded);
        for n in 0..3 {
            let displaced = take(&mut places, 100 + n, &user, NOW).unwrap();
            assert!(matches!(displaced[..], [gone] if gone < 80), "{user:?} {displaced:?}");
        }
    }
}

#[test]
fn the_oldest_of_the_network_that_holds_most_goes() {
    let mut places = Places::new(limits(40));
    let network = |n: u64| ipv6(u128::from(n) << 16);
    flood(&mut places, 0, 35, |n| network(n / 5));
    flood(&mut places, 35, 3, |_| network(100));
    flood(&mut places, 38, 2, |_| network(101));
    places.close(&7, NOW);
    assert_eq!(
        take(&mut places, 40, &network(102), NOW),
        Ok(vec![7]),
        "whose user has left goes before those that are open"
    );
    assert_eq!(take(&mut places, 41, &network(101), NOW), Ok(vec![0]));
    assert_eq!(take(&mut places, 42, &network(100), NOW), Ok(vec![10]));
}

#[test]
fn where_all_hold_as_many_the_oldest_goes() {
    let mut places = Places::new(limits(16));
    let network = |n: u64| ipv6(u128::from(n * 7 % 100) << 16);
    flood(&mut places, 0, 16, network);
    for n in 16..60 {
        assert_eq!(take(&mut places, n, &network(n), NOW + SECOND), Ok(vec![n - 16]));
        places.open(&n, NOW + SECOND);
    }
}

#[test]
fn share_of_one_network_is_its_own() {
    let mut places = Places::new(limits(80));
    flood(&mut places, 0, 9, |_| at("192.0.2.1"));
    assert_eq!(take(&mut places, 9, &at("192.0.2.1"), NOW), Ok(Vec::new()));
    assert_eq!(take(&mut places, 10, &at("192.0.2.1"), NOW), full(true, 90));
    assert_eq!(take(&mut places, 10, &at("192.0.2.2"), NOW), Ok(Vec::new()));
    let later = NOW + SECOND * 90;
    assert_eq!(take(&mut places, 11, &at("192.0.2.1"), later), Ok(vec![9]), "the one that nobody waits for");
    assert_eq!(take(&mut places, 12, &at("192.0.2.1"), later), full(true, 90));
    places.free(&3);
    assert_eq!(take(&mut places, 12, &at("192.0.2.1"), later), Ok(Vec::new()));
}

#[test]
fn open_connection_keeps_a_place_for_a_bounded_time() {
    let mut places = Places::new(limits(8));
    let crowd = Holder::crowd("loopback");
    flood(&mut places, 0, 8, |_| crowd.clone());
    assert_eq!(take(&mut places, 8, &crowd, NOW), full(false, 300));
    for second in (0..300).step_by(5) {
        places.seen(&3, NOW + SECOND * second);
    }
    let end = NOW + SECOND * 300;
    assert!(places.is_protected(&3, NOW) && !places.is_protected(&3, end));
    for n in 8..16 {
        assert_eq!(take(&mut places, n, &crowd, end), Ok(vec![n - 8]));
    }
    assert_eq!(take(&mut places, 16, &crowd, end), full(false, 90));
}

#[test]
fn operator_has_reserved_places_and_is_displaced_by_nobody() {
    let mut places = Places::new(Limits { reserved: 2, share: 8, ..limits(8) });
    flood(&mut places, 0, 6, |_| at("192.0.2.1"));
    assert_eq!(take(&mut places, 6, &at("192.0.2.1"), NOW), full(false, 300));
    let operator = Holder::operator();
    assert_eq!(take(&mut places, 20, &operator, NOW), Ok(Vec::new()));
    assert_eq!(take(&mut places, 21, &operator, NOW), Ok(Vec::new()));
    for n in 22..28 {
        let displaced = take(&mut places, n, &operator, NOW).unwrap();
        assert!(matches!(displaced[..], [gone] if gone < 6), "{displaced:?}");
    }
    assert_eq!(take(&mut places, 28, &operator, NOW), Err(Full { is_of_holder: false, retry_after: None }));
    assert_eq!(take(&mut places, 28, &at("198.51.100.1"), NOW), Err(Full { is_of_holder: false, retry_after: None }));
    assert_eq!(places.len(), 8);
}

#[test]
fn no_newcomer_is_refused_where_protection_only_says_who_goes_first() {
    let mut places = Places::new(Limits { when_full: WhenFull::AlwaysDisplace, ..limits(16) });
    flood(&mut places, 0, 2, |_| at("192.0.2.1"));
    assert_eq!(take(&mut places, 2, &at("192.0.2.1"), NOW), Ok(vec![0]));
    assert_eq!(take(&mut places, 3, &at("192.0.2.1"), NOW), Ok(vec![2]), "nobody waits for it");
}

#[test]
fn the_oldest_of_all_goes_where_networks_do_not_count() {
    let of = |total, share| Limits { when_full: WhenFull::OldestDisplaced, share, ..limits(total) };
    let mut places = Places::new(of(4, 3));
    let host = |n: u8| Holder::host([192, 0, 2, n].into());
    for n in 0..3 {
        assert_eq!(take(&mut places, n, &host(1), NOW), Ok(Vec::new()));
    }
    assert_eq!(take(&mut places, 3, &host(1), NOW), Ok(vec![0]), "its share");
    assert_eq!(take(&mut places, 4, &host(2), NOW), Ok(Vec::new()));
    places.set_holder(&1, Holder::crowd("proxied"));
    assert_eq!(take(&mut places, 5, &host(2), NOW), Ok(vec![1]), "it keeps its turn");
    places.set_limits(of(2, 2));
    assert_eq!(take(&mut places, 6, &host(3), NOW), Ok(vec![2, 3, 4]));
    places.set_limits(of(0, 2));
    (5..=6).for_each(|n| _ = places.free(&n));
    assert_eq!(take(&mut places, 7, &host(3), NOW), Err(Full { is_of_holder: false, retry_after: None }));
}

#[test]
fn where_nobody_is_displaced_newcomers_are_refused() {
    let mut places = Places::new(Limits { when_full: WhenFull::Refuse, reserved: 1, share: 2, ..limits(5) });
    let (key, other) = (Holder::key("1"), at("2001:db8::1"));
    let mut take = |n, holder: &Holder| take(&mut places, n, holder, NOW).map_err(|full| full.is_of_holder);
    assert_eq!([0, 1, 2].map(|n| take(n, &key)), [Ok(vec![]), Ok(vec![]), Err(true)]);
    assert_eq!([3, 4, 5].map(|n| take(n, &other)), [Ok(vec![]), Ok(vec![]), Err(true)]);
    assert_eq!(take(6, &Holder::key("2")), Err(false), "the last is kept");
    assert_eq!([7, 8].map(|n| take(n, &Holder::operator())), [Ok(vec![]), Err(false)]);
    assert!(places.turns.is_empty() && places.ranking.is_empty());
}

#[test]
fn places_for_which_no_room_was_made_go_when_others_come() {
    let mut places = Places::new(limits(8));
    for n in 0..20 {
        places.add(n, Holder::crowd("before the restart"), (), NOW);
    }
    places.set_holder(&4, at("192.0.2.1"));
    let displaced = take(&mut places, 30, &at("198.51.100.1"), NOW).unwrap();
    assert_eq!(displaced, [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    assert_eq!(places.len(), 8);
}

/// Whatever happens, what is counted is what there is.
#[test]
fn counts_agree_with_the_places_after_any_changes() {
    let mut places = Places::new(limits(60));
    let mut random = 1_u64;
    for step in 0..20_000_u32 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (n, kind, network) = (random >> 33 & 0x7f, random >> 41 & 7, random >> 45 & 0x3ff);
        let now = NOW + Duration::from_millis(250) * step;
        match kind {
            0 => places.seen(&n, now),
            1 => places.open(&n, now),
            2 => places.close(&n, now),
            3 => _ = places.free(&n),
            4 => places.set_holder(&n, ipv6(u128::from(network))),
            _ => _ = places.take(n, &ipv6(u128::from(network)), (), now),
        }
        assert!(places.len() <= 60);
        assert_eq!((places.turns.len(), places.held.values().sum()), (places.len(), places.len()));
    }
    let keys: Vec<_> = places.taken.keys().copied().collect();
    assert!(keys.iter().all(|key| places.free(key).is_some()));
    assert!(places.ranking.is_empty() && places.held.is_empty() && places.turns.is_empty());
}
