use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::kernel::fixtures::{NOW, StoredRows, id, network};
use crate::testing::ManualClock;

const MOST: usize = 64 * 40;

fn open_payments() -> (OpenPayments, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(NOW));
    let tasks = Tasks::new(TaskTracker::new(), CancellationToken::new());
    let store = RequestedStore::new(Arc::new(StoredRows::default()));
    (OpenPayments::new(MOST * 4, clock.clone(), store, tasks), clock)
}

/// Whether a payment with this number begins; its invoice is made at once.
fn begin(open: &OpenPayments, link: u64, n: u64, network: ClientNetwork) -> bool {
    let begun = open.begin(id(link), id(1_000_000 + n), network);
    let Ok((place, _)) = begun else { return false };
    place.keep();
    open.0.table.lock().making.free(&id(1_000_000 + n));
    true
}

#[test]
fn a_crowd_of_one_network_leaves_room_for_others() {
    let (open, clock) = open_payments();
    let begun = (0..10_000).filter(|n| begin(&open, 1, *n, network(1))).count();
    assert_eq!(begun, 60, "a burst");
    clock.turn(Duration::from_secs(30));
    let begun = (10_000..20_000).filter(|n| begin(&open, 1, *n, network(1))).count();
    assert_eq!(begun, 10, "one in three seconds");
    clock.turn(Duration::from_secs(3600));
    let begun = (20_000..30_000).filter(|n| begin(&open, 1, *n, network(1))).count();
    assert_eq!(begun, MOST / 32 - 70, "and no more than its share in all");
    assert!(begin(&open, 1, 30_000, network(2)));
}

#[test]
fn a_flood_at_one_link_leaves_room_for_others() {
    let (open, _) = open_payments();
    let begun = (0..10_000_u64).filter(|n| begin(&open, 1, *n, network(u32::try_from(*n).unwrap()))).count();
    assert_eq!(begun, MOST / 2);
    let begun = (10_000..20_000_u64).filter(|n| begin(&open, 2, *n, network(u32::try_from(*n).unwrap()))).count();
    assert_eq!(begun, MOST / 2);
    assert!(!begin(&open, 3, 30_000, network(7)), "all are taken");
    open.0.table.lock().free(&id(1_000_000));
    assert!(begin(&open, 3, 30_000, network(7)));
}

#[test]
fn a_wallet_that_does_not_respond_holds_up_few() {
    let (open, _) = open_payments();
    let mut places = Vec::new();
    for n in 0..1_000 {
        places.extend(open.begin(id(1), id(n), ClientNetwork::Loopback).map(|(place, _)| place));
    }
    assert_eq!(places.len(), 64);
    // Those that do not start are free again.
    places.clear();
    let table = open.0.table.lock();
    assert!(table.open.is_empty() && table.of_links.is_empty() && table.making.is_empty());
    drop(table);
    let of_one = (0..50).filter(|n| open.begin(id(1), id(*n), network(1)).map(|(place, _)| place.keep()).is_ok());
    assert_eq!(of_one.count(), 8);
}
