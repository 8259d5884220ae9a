use super::*;
use crate::UnixMillis;
use crate::testing::ManualClock;

const MINUTE: Duration = Duration::from_secs(60);

fn id(n: u64) -> StreamId {
    StreamId::from_parts(n, [0; 10])
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(UnixMillis(1_800_000_000_000)))
}

fn network(n: u8) -> ClientNetwork {
    ClientNetwork::Network([10, 0, 0, n].into())
}

impl UnusedLogins {
    /// Room is made, and another login begins.
    fn begin(&self, n: u64, network: ClientNetwork) -> Result<Vec<StreamId>, NoRoom> {
        let chosen = self.make_room(network)?;
        self.add(id(n));
        self.begun_by(id(n), network);
        Ok(chosen)
    }

    fn room(&self) -> Result<Vec<StreamId>, NoRoom> {
        self.make_room(ClientNetwork::Loopback)
    }
}

/// As many as there may be, none of which was seen in the last 90 s.
fn full(most: u64) -> (UnusedLogins, Arc<ManualClock>) {
    let (logins, clock) = with_most(usize::try_from(most).unwrap());
    for n in 1..=most {
        assert_eq!(logins.begin(n, ClientNetwork::Loopback), Ok(Vec::new()));
    }
    clock.turn(GRACE);
    (logins, clock)
}

fn with_most(most: usize) -> (UnusedLogins, Arc<ManualClock>) {
    let clock = clock();
    (UnusedLogins::with_most(most, clock.clone()), clock)
}

const fn full_for(seconds: u64) -> Result<Vec<StreamId>, NoRoom> {
    Err(NoRoom { is_of_network: false, retry_after: Duration::from_secs(seconds) })
}

const fn refused_for(seconds: u64) -> Result<Vec<StreamId>, NoRoom> {
    Err(NoRoom { is_of_network: true, retry_after: Duration::from_secs(seconds) })
}

#[test]
fn least_recently_seen_login_makes_room() {
    let (logins, clock) = full(3);
    logins.seen(id(1));
    assert_eq!(logins.room(), Ok(vec![id(2)]));
    logins.add(id(4));
    assert_eq!(logins.room(), Ok(vec![id(3)]));
    logins.add(id(5));
    clock.turn(GRACE);
    assert_eq!(logins.room(), Ok(vec![id(1)]));
}

#[test]
fn login_whose_page_waits_never_makes_room() {
    let (logins, clock) = full(3);
    let (first, again) = (logins.watch(id(1)), logins.watch(id(1)));
    for n in 4..1_000 {
        clock.turn(GRACE);
        let chosen = logins.room().unwrap();
        assert!(chosen.len() == 1 && !chosen.contains(&id(1)), "{chosen:?}");
        logins.add(id(n));
    }
    drop(first);
    clock.turn(GRACE);
    assert!(!logins.room().unwrap().contains(&id(1)), "another page still waits");
    logins.add(id(1_000));
    drop(again);
    clock.turn(GRACE);
    // From now on it is the one that was seen last.
    assert_eq!(logins.room(), Ok(vec![id(999)]));
    assert_eq!(logins.room(), Ok(Vec::new()));
    logins.add(id(1_001));
    assert_eq!(logins.room(), Ok(vec![id(1_000)]));
    logins.add(id(1_002));
    assert_eq!(logins.room(), Ok(vec![id(1)]));
}

#[test]
fn nobody_makes_room_when_all_pages_wait() {
    let (logins, _) = full(2);
    let watches = [logins.watch(id(1)), logins.watch(id(2))];
    assert!(logins.room().is_err());
    logins.remove(id(2));
    assert_eq!(logins.room(), Ok(Vec::new()), "somebody has named a key there");
    drop(watches);
}

/// A page without JavaScript, which loads itself, and one on a phone that shows the wallet meanwhile.
#[test]
fn login_whose_page_was_seen_a_moment_ago_makes_no_room() {
    let (logins, clock) = with_most(3);
    for n in 1..=3 {
        assert_eq!(logins.begin(n, ClientNetwork::Loopback), Ok(Vec::new()));
    }
    let watch = logins.watch(id(2));
    assert_eq!(logins.room(), full_for(30));
    clock.turn(MINUTE);
    logins.seen(id(3));
    drop(watch);
    assert_eq!(logins.room(), full_for(30));
    clock.turn(Duration::from_secs(29));
    assert_eq!(logins.room(), full_for(2), "soon, but no flood of retries");
    clock.turn(Duration::from_secs(1));
    assert_eq!(logins.begin(4, ClientNetwork::Loopback), Ok(vec![id(1)]));
    assert_eq!(logins.room(), full_for(30), "the others were seen 30 s ago");
    clock.turn(MINUTE);
    assert_eq!(logins.begin(5, ClientNetwork::Loopback), Ok(vec![id(3)]));
    assert_eq!(logins.begin(6, ClientNetwork::Loopback), Ok(vec![id(2)]));
}

#[test]
fn one_address_takes_a_part_of_the_room_and_makes_room_for_itself() {
    let (logins, clock) = with_most(80);
    for n in 1..=10 {
        assert_eq!(logins.begin(n, network(1)), Ok(Vec::new()));
    }
    let watch = logins.watch(id(1));
    assert_eq!(logins.begin(11, network(1)), refused_for(30));
    for n in 20..80 {
        assert_eq!(logins.begin(n, network(u8::try_from(n).unwrap())), Ok(Vec::new()), "others have room");
    }
    clock.turn(GRACE);
    logins.seen(id(2));
    assert_eq!(logins.begin(11, network(1)), Ok(vec![id(3)]));
    for n in 12..19 {
        assert_eq!(logins.begin(n, network(1)), Ok(vec![id(n - 8)]), "its own, and nobody else's");
    }
    assert_eq!(logins.begin(19, network(1)), refused_for(30), "one waits, and the others were seen a moment ago");
    // A user has named a key: the login is counted no more.
    logins.remove(id(1));
    assert_eq!(logins.begin(19, network(1)), Ok(Vec::new()));
    drop(watch);
    assert!((20..80).all(|n| logins.has(id(n))));
}

/// What was measured: 860 logins a second from one address, which is not that of a proxy.
#[test]
fn flood_from_one_address_neither_locks_others_out_nor_ends_their_logins() {
    let (logins, clock) = with_most(MAX_LOGINS);
    let (mut begun, mut refused) = (0, 0);
    for second in 0..600 {
        let honest = 1_000_000 + second;
        assert_eq!(logins.begin(honest, network(2)), Ok(Vec::new()), "after {second} s");
        for n in 0..860 {
            match logins.begin(second * 860 + n, network(1)) {
                Ok(_) => begun += 1,
                Err(_) => refused += 1,
            }
        }
        clock.turn(Duration::from_secs(1));
    }
    assert!(begun < 60 + 5 * 601 && refused > 500_000, "{begun} begun, {refused} refused");
    assert!((0..600).all(|second| logins.has(id(1_000_000 + second))));
}

/// The same through a proxy that hides who comes: everybody is one visitor.
#[test]
fn flood_of_nobody_knows_whom_lets_others_in_after_a_while_and_ends_no_login_that_is_used() {
    let (logins, clock) = with_most(MAX_LOGINS);
    let used = 9_000_000;
    logins.begin(used, ClientNetwork::Loopback).unwrap();
    let mut begun = 0;
    for second in 0..300 {
        if second % 5 == 0 {
            logins.seen(id(used));
        }
        begun += (0..860).filter(|n| logins.begin(1 + second * 860 + n, ClientNetwork::Loopback).is_ok()).count();
        clock.turn(Duration::from_secs(1));
    }
    assert!(logins.has(id(used)));
    // The whole room in 90 s, four times.
    assert!((3 * MAX_LOGINS..=4 * MAX_LOGINS).contains(&begun), "{begun}");
}

#[test]
fn they_leave_room_for_other_operations() {
    for (max_open, most) in [(1, 1), (8, 2), (1_000_000, MAX_LOGINS)] {
        let clock = clock();
        let logins = UnusedLogins::at_reusable(max_open, clock.clone());
        for n in 0..most as u64 {
            assert_eq!(logins.begin(n, ClientNetwork::Loopback), Ok(Vec::new()), "{max_open}");
        }
        clock.turn(GRACE);
        assert_eq!(logins.room(), Ok(vec![id(0)]), "{max_open}");
    }
}
