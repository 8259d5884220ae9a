use usher_places::limit;

use super::*;
use crate::kernel::fixtures::{NOW, id, network};
use crate::testing::ManualClock;

fn with_most(most: usize) -> (UnusedLogins, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(NOW));
    let limit = Limit { most, part_of: None, ..limit::UNUSED_LOGINS };
    (UnusedLogins::new(&limit, usize::MAX, clock.clone()), clock)
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
    drop(watches);
}

/// What was measured: 860 logins a second from one address, which is not that of a proxy.
#[test]
fn one_network_begins_a_burst_and_then_some_and_holds_its_share() {
    let (logins, clock) = with_most(1_600);
    let begun = |first: u64, of| (first..first + 860).filter(|n| logins.begin(id(*n), of).is_ok()).count();
    assert_eq!(begun(0, network(1)), 60);
    clock.turn(Duration::from_secs(1));
    assert_eq!((begun(1_000, network(1)), begun(2_000, network(2))), (5, 60));
    let more: usize = (3..60)
        .map(|second| {
            clock.turn(Duration::from_secs(1));
            begun(second * 1_000, network(1))
        })
        .sum();
    assert_eq!(65 + more, 200, "an eighth");
    assert_eq!(logins.begin(id(100_000), network(1)), refused_for(true, 30));
    assert_eq!(logins.begin(id(100_000), network(3)), Ok(Vec::new()));
}

#[test]
fn logins_of_before_a_restart_are_of_nobody() {
    let (logins, _) = with_most(8);
    assert_eq!(logins.begin(id(9), network(1)), Ok(Vec::new()));
    (0..10).for_each(|n| logins.add(id(n)));
    assert_eq!(logins.begin(id(20), network(2)).map(|replaced| replaced.len()), Ok(3));
    assert!(logins.has(id(9)) && logins.has(id(20)));
}
