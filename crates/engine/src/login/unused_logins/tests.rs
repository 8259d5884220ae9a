use super::*;
use crate::kernel::fixtures::{NOW, id, network};
use crate::testing::ManualClock;

const GRACE: Duration = PROTECTION.after_seen;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(NOW))
}

fn with_most(most: usize) -> (UnusedLogins, Arc<ManualClock>) {
    let clock = clock();
    (UnusedLogins::with_most(most, clock.clone()), clock)
}

const fn refused_for(is_of_network: bool, seconds: u64) -> Result<Vec<StreamId>, NoRoom> {
    Err(NoRoom { is_of_network, retry_after: Duration::from_secs(seconds) })
}

/// A page without JavaScript, which loads itself, and one on a phone that shows the wallet meanwhile.
#[test]
fn login_that_is_used_makes_no_room_for_others_of_its_network() {
    let (logins, clock) = with_most(3);
    for n in 1..=3 {
        assert_eq!(logins.begin(id(n), ClientNetwork::Loopback), Ok(Vec::new()));
    }
    let watches = [logins.watch(id(2)), logins.watch(id(2))];
    assert_eq!(logins.begin(id(4), ClientNetwork::Loopback), refused_for(false, 30));
    assert!(logins.is_idle(id(1)) && !logins.is_idle(id(2)), "the page of the first was never opened");
    clock.turn(Duration::from_secs(60));
    logins.seen(id(3));
    assert_eq!(logins.begin(id(4), ClientNetwork::Loopback), refused_for(false, 30));
    clock.turn(Duration::from_secs(29));
    assert_eq!(logins.begin(id(4), ClientNetwork::Loopback), refused_for(false, 2), "soon, but no flood of retries");
    clock.turn(Duration::from_secs(1));
    assert_eq!(logins.begin(id(4), ClientNetwork::Loopback), Ok(vec![id(1)]));
    clock.turn(Duration::from_secs(60));
    assert_eq!(logins.begin(id(5), ClientNetwork::Loopback), Ok(vec![id(3)]));
    logins.remove(id(4));
    assert_eq!(logins.begin(id(6), ClientNetwork::Loopback), Ok(Vec::new()), "somebody has named a key");
    // Nobody holds a place for ever.
    clock.turn(Duration::from_secs(149));
    assert!(!logins.is_idle(id(2)));
    clock.turn(Duration::from_secs(1));
    assert!(logins.is_idle(id(2)));
    assert_eq!(logins.begin(id(7), ClientNetwork::Loopback), Ok(vec![id(5)]), "nobody has seen it");
    logins.seen(id(6));
    logins.seen(id(7));
    assert_eq!(logins.begin(id(8), ClientNetwork::Loopback), Ok(vec![id(2)]));
    drop(watches);
}

#[test]
fn one_address_takes_a_part_of_the_room_and_makes_room_for_itself() {
    let (logins, clock) = with_most(80);
    for n in 1..=10 {
        assert_eq!(logins.begin(id(n), network(1)), Ok(Vec::new()));
    }
    let watch = logins.watch(id(1));
    assert_eq!(logins.begin(id(11), network(1)), refused_for(true, 30));
    for n in 20..80 {
        assert_eq!(logins.begin(id(n), network(u32::try_from(n).unwrap())), Ok(Vec::new()), "others have room");
    }
    clock.turn(GRACE);
    logins.seen(id(2));
    for n in 11..19 {
        assert_eq!(logins.begin(id(n), network(1)), Ok(vec![id(n - 8)]), "its own, and nobody else's");
    }
    assert_eq!(
        logins.begin(id(19), network(1)),
        refused_for(true, 30),
        "one waits, and the others were seen a moment ago"
    );
    logins.remove(id(1));
    assert_eq!(logins.begin(id(19), network(1)), Ok(Vec::new()));
    drop(watch);
    assert!((20..80).all(|n| logins.has(id(n))));
}

/// What was measured: nine addresses, or one IPv6 network of 52 bits, hold all places with open pages.
#[test]
fn flood_of_open_pages_locks_nobody_out_and_ends_only_its_own() {
    let (logins, clock) = with_most(MAX_OF_CLIENTS);
    let ipv6 = |n: u64| ClientNetwork::at(format!("2001:db8:0:{:x}::1", (n % 16) << 8).parse().unwrap());
    let mut watches = Vec::new();
    for n in 0..4_000 {
        if logins.begin(id(n), ipv6(n)).is_ok() {
            watches.push(logins.watch(id(n)));
        }
        if n % 80 == 79 {
            clock.turn(Duration::from_secs(1));
        }
    }
    assert!(watches.len() >= MAX_OF_CLIENTS);
    for n in 0..200 {
        let replaced = logins.begin(id(10_000 + n), network(u32::try_from(n).unwrap())).unwrap();
        assert!(matches!(replaced[..], [replaced] if replaced < id(10_000)), "{replaced:?}");
        logins.begin(id(5_000 + n), ipv6(n)).ok();
    }
    assert!((0..200).all(|n| logins.has(id(10_000 + n))));
}

/// What was measured: 860 logins a second from one address, which is not that of a proxy.
#[test]
fn flood_from_one_address_neither_locks_others_out_nor_ends_their_logins() {
    let (logins, clock) = with_most(MAX_LOGINS);
    let (mut begun, mut refused) = (0, 0);
    for second in 0..600 {
        let honest = 1_000_000 + second;
        assert_eq!(logins.begin(id(honest), network(2)), Ok(Vec::new()), "after {second} s");
        for n in 0..860 {
            match logins.begin(id(second * 860 + n), network(1)) {
                Ok(_) => begun += 1,
                Err(_) => refused += 1,
            }
        }
        clock.turn(Duration::from_secs(1));
    }
    assert!(begun < 60 + 5 * 601 && refused > 500_000, "{begun} begun, {refused} refused");
    assert!((0..600).all(|second| logins.has(id(1_000_000 + second))));
}

#[test]
fn logins_of_before_a_restart_are_of_nobody() {
    let (logins, _) = with_most(8);
    assert_eq!(logins.begin(id(9), network(1)), Ok(Vec::new()));
    (0..10).for_each(|n| logins.add(id(n)));
    assert_eq!(logins.begin(id(20), network(2)).map(|replaced| replaced.len()), Ok(3));
    assert!(logins.has(id(9)) && logins.has(id(20)));
}

#[test]
fn they_leave_room_for_other_operations() {
    for (max_open, most) in [(1, 1), (8, 2), (1_000_000, MAX_LOGINS)] {
        let clock = clock();
        let logins = UnusedLogins::at_reusable(max_open, clock.clone());
        for n in 0..most as u64 {
            assert_eq!(logins.begin(id(n), ClientNetwork::Loopback), Ok(Vec::new()), "{max_open}");
        }
        clock.turn(GRACE);
        assert_eq!(logins.begin(id(1 << 40), ClientNetwork::Loopback), Ok(vec![id(0)]), "{max_open}");
    }
}
